"""A process that searches for a server: `python -m rprs.serve.worker SOCKET`, started by `rprs.serve.workers`.

It receives the settings, then one task after the other, and sends their progress and results. It ends with the server.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from dataclasses import astuple
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from typing import Any

from rprs.errors import RprsError
from rprs.progress import stopper
from rprs.scoring.threads import limit_cores
from rprs.serve.collections import Collections, select_collection
from rprs.serve.jobs import Job
from rprs.serve.log import frames
from rprs.serve.tasks import Tasks, make_tasks
from rprs.serve.workers import Request, Settings

__all__ = ["main"]


class _Worker:
    """The tasks of this process, and the one that is running."""

    def __init__(self, socket: Connection[Any, Any]) -> None:
        self._socket = socket
        self._running: tuple[int, Job] = 0, Job("")
        self._queue: SimpleQueue[tuple[Request, Job]] = SimpleQueue()

    def run(self, settings: Settings) -> None:
        """Open the indexes, and work until the server ends."""
        collections = Collections(settings.paths, settings.system)
        tasks = make_tasks(collections, settings.limits)
        gc.collect()
        gc.freeze()  # as in the server
        Thread(target=self._receive, name="receiver", daemon=True).start()
        self._socket.send("ready")
        while True:
            request, job = self._queue.get()
            try:
                collections.follow(request.paths)
                self._socket.send(("result", self._result(request, job, tasks)))
            except RprsError as error:
                self._socket.send(("error", (type(error), str(error))))
            except Exception as error:  # the server logs its place, without its message
                self._socket.send(("failure", frames(error)))

    def _receive(self) -> None:
        """Take tasks and cancellations from the server; without a server, there is nobody to work for."""
        try:
            while True:
                number, request = self._socket.recv()
                if request is not None:
                    self._running = number, Job(request.job)
                    self._queue.put((request, self._running[1]))
                elif self._running[0] == number:
                    self._running[1].end()
        except (EOFError, OSError):
            os._exit(0)

    def _result(self, request: Request, job: Job, tasks: Tasks) -> Any:
        if request.events:
            job.listener = lambda update: self._socket.send(("progress", astuple(update)))
            job.send = lambda name, data: self._socket.send(("send", (name, data)))
        previous = stopper.set(job.check)
        try:
            with select_collection(request.collection):
                return tasks[request.task](job, request.submission)
        finally:
            stopper.reset(previous)


def main() -> None:
    """Work until the server ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server decides
    socket: Connection[Any, Any] = Connection(int(sys.argv[1]))
    settings: Settings = socket.recv()  # of the server that started this process
    with limit_cores(settings.cores):
        _Worker(socket).run(settings)


if __name__ == "__main__":
    main()
