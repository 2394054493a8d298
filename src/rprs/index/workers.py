"""Processes that do a part of the work of an index that is opened for changes, where threads would wait for each other.

They run `rprs.index.worker`, started anew instead of forked or spawned, so that they neither inherit threads nor import
the program that uses the library.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Lock
from typing import Any, Generic, TypeVar, cast

from rprs.processes import environment

__all__ = ["Workers"]

Task = TypeVar("Task")
Result = TypeVar("Result")


class Workers(Generic[Task, Result]):
    """Up to `most` processes that apply a function of ours, which can be pickled; they start when they are needed."""

    def __init__(self, function: Callable[[Task], Result], most: int) -> None:
        self.function, self.most = function, most
        self.failed = False  # whether a process has ended unexpectedly
        self._threads: ThreadPoolExecutor | None = None
        self._idle: list[_Process] = []
        self._lock = Lock()

    def submit(self, task: Task) -> Future[Result | None]:
        """The result of a task; None if it is to be done here, because a process has ended unexpectedly."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self.most, "workers")
        return self._threads.submit(self._ask, task)

    def close(self) -> None:
        """End the processes; they start again when they are needed."""
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)
            self._threads = None
        while self._idle:
            self._idle.pop().end()

    def _ask(self, task: Task) -> Result | None:
        if self.failed:
            return None
        with self._lock:
            process = self._idle.pop() if self._idle else None
        try:
            process = process or _Process(self.function)
            result = process.ask(task)
        except (OSError, EOFError, pickle.UnpicklingError):
            self.failed = True
            if process is not None:
                process.end()
            return None
        with self._lock:
            self._idle.append(process)
        return cast("Result", result)


class _Process:
    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "rprs.index.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(),
        )
        self._tasks, self._results = cast("Any", self._process.stdin), cast("Any", self._process.stdout)
        self._send(function)

    def _send(self, value: Any) -> None:
        pickle.dump(value, self._tasks, pickle.HIGHEST_PROTOCOL)
        self._tasks.flush()

    def ask(self, task: Any) -> Any:
        """The result of a task."""
        self._send(task)
        return pickle.load(self._results)  # of our own process

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        for stream in (self._tasks, self._results):
            with suppress(OSError):
                stream.close()
        self._process.wait()
