"""Search in processes beside the server (`rprs serve --workers N`), since threads of one process share Python's lock.

The server keeps everything that has a state: connections, limits, names of jobs, writes, uploads and metrics. A worker
(`rprs.serve.worker`) has the indexes open, whose files are mapped and so shared, and does one task at a time: it
receives a request whose files are read, and returns the body of the response. It follows changes of the indexes as the
server does. Progress and cancellation cross the same socket.

A worker that ends is replaced. While there is none, as in the first seconds, tasks are done by the server itself.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Pipe
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from rprs.errors import Busy, RprsError
from rprs.processes import environment
from rprs.rank import System
from rprs.serve.collections import Collections, selected_collection
from rprs.serve.jobs import Job, Update
from rprs.serve.limits import Limits
from rprs.serve.requests import Submission, read_files
from rprs.serve.tasks import Task, Tasks

__all__ = ["Request", "Settings", "Workers"]

POLL = 0.05  # seconds until a cancellation is passed on
PAUSE = 5.0  # seconds before a worker is replaced, so that one that cannot start does not keep a processor busy


@dataclass(frozen=True, slots=True)
class Settings:
    """What a worker needs to know."""

    paths: tuple[Path, ...]  # of the indexes
    system: System
    limits: Limits
    cores: int  # that a task may use


@dataclass(frozen=True, slots=True)
class Request:
    """A task for a worker."""

    task: str
    job: str
    collection: str | None
    paths: tuple[Path, ...]  # of the indexes now: the server may have created some
    submission: Submission[Any]
    events: bool  # whether the client wants progress and parts of the result


class Workers:
    """Up to `number` processes that search; `close` ends them."""

    def __init__(self, number: int, service: Collections, settings: Settings, log: Callable[[str], None]) -> None:
        self._service, self._settings, self._log = service, settings, log
        self._idle: list[_Worker] = []
        self._all: list[_Worker] = []
        self._lock, self._closing = Lock(), Event()
        self._threads = [Thread(target=self._supervise, name="worker", daemon=True) for _ in range(number)]
        for thread in self._threads:
            thread.start()

    @property
    def ready(self) -> int:
        """The number of workers that have opened the indexes."""
        with self._lock:
            return sum(worker.ready for worker in self._all)

    def instead(self, tasks: Tasks) -> Tasks:
        """The same tasks, done by workers."""
        return {name: self._remote(name, task) for name, task in tasks.items()}

    def close(self) -> None:
        """End all workers, whatever they are doing."""
        self._closing.set()
        with self._lock:
            workers = list(self._all)
        for worker in workers:
            worker.kill()
        for thread in self._threads:
            thread.join()

    def _remote(self, name: str, here: Task) -> Task:
        def task(job: Job, submission: Submission[Any]) -> Any:
            read = read_files(job, submission, self._settings.limits)
            with self._lock:
                worker = self._idle.pop() if self._idle else None
            if worker is None:
                return here(job, read)
            try:
                paths, events = tuple(self._service.paths), job.send is not None
                return worker.run(Request(name, job.id, selected_collection(), paths, read, events), job, self._log)
            finally:
                with self._lock:
                    if worker.ready:
                        self._idle.append(worker)

        return task

    def _supervise(self) -> None:
        """Keep one worker alive."""
        while not self._closing.is_set():
            worker = _Worker(self._settings)
            with self._lock:
                self._all.append(worker)
            if self._closing.is_set():
                worker.kill()
            if worker.wait_until_ready():
                with self._lock:
                    self._idle.append(worker)
            worker.wait()
            with self._lock:
                self._all.remove(worker)
                self._idle = [each for each in self._idle if each is not worker]
            if not self._closing.is_set():
                self._log("A process that searches has ended unexpectedly: another one is started")
                self._closing.wait(PAUSE)


class _Worker:
    """One process, with the socket to it."""

    def __init__(self, settings: Settings) -> None:
        self._socket, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "rprs.serve.worker", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # a library may print text of a document
                stderr=subprocess.DEVNULL,
                env=environment(),
                pass_fds=(theirs.fileno(),),
            )
        self.ready = False
        self._number = 0  # of the task
        with suppress(OSError):  # the process has ended, which `wait_until_ready` notices
            self._socket.send(settings)

    def wait_until_ready(self) -> bool:
        """Whether the worker has opened the indexes, and not ended before."""
        try:
            self._socket.recv()
        except (EOFError, OSError):
            return False
        self.ready = True
        return True

    def run(self, request: Request, job: Job, log: Callable[[str], None]) -> Any:
        """The result of a task, or its error."""
        self._number += 1
        stopping = False
        try:
            self._socket.send((self._number, request))
            while True:
                while not self._socket.poll(POLL):
                    if job.stop.is_set() and not stopping:
                        stopping = True
                        self._socket.send((self._number, None))
                kind, value = self._socket.recv()
                if kind == "progress":
                    job.listener(Update(*value))
                elif kind == "send" and job.send is not None:
                    job.send(*value)
                elif kind == "result":
                    return value
                elif kind == "error":
                    raise _error(*value)
                elif kind == "failure":
                    log(f"In a process that searches: {value}")
                    raise RuntimeError("The task failed")
        except (EOFError, OSError) as error:
            self.ready = False
            job.check()
            raise Busy("The process that worked on this request has ended: try again in a few seconds") from error

    def wait(self) -> None:
        """Wait until the process has ended."""
        self._process.wait()
        self.ready = False

    def kill(self) -> None:
        """End the process."""
        self.ready = False
        self._process.kill()


def _error(kind: type[RprsError], line: str) -> RprsError:
    """An error of a worker; some kinds have other arguments than the line."""
    return kind.__new__(kind, line)
