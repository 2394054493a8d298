"""Requests that take time: so many at once, so many waiting, and none that nobody wants any more."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from time import monotonic
from typing import TypeVar

from rprs.errors import Busy, Cancelled, RprsError, TooLong, UsageError
from rprs.progress import Advance, stopper

__all__ = ["Gate", "Job", "Jobs", "Update"]

Answer = TypeVar("Answer")

STAGES = {"sentences of the query": "sentences", "first stage": "candidates", "re-ranking": "ranking"}
PAUSE = 0.05  # seconds between two updates of a stage
POLL = 0.1  # seconds until a stop is seen
REMEMBERED = 256  # jobs that have ended
_NAME = re.compile(r"[0-9a-f]{8,64}")


@dataclass(frozen=True, slots=True)
class Update:
    """How far a job has come."""

    stage: str
    done: int
    total: int | None
    unit: str


def _nobody(_update: Update) -> None:
    """Hear nothing."""


class Job:
    """One request at work. Its progress is where it is stopped: whatever advances asks whether it still should."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.stop = Event()
        self.listener: Callable[[Update], None] = _nobody
        self._reason: RprsError = Cancelled("The request was cancelled")

    def end(self, reason: RprsError | None = None) -> None:
        """Stop the work at its next step."""
        if reason is not None and not self.stop.is_set():
            self._reason = reason
        self.stop.set()

    def check(self) -> None:
        """Go no further if nobody wants it."""
        if self.stop.is_set():
            raise self._reason

    @contextmanager
    def progress(self, what: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
        """A `Progress`: tells the listener, and stops."""
        self.check()
        stage, done, told = STAGES.get(what, what), 0, 0.0

        def advance(amount: int) -> None:
            nonlocal done, told
            self.check()
            done += amount
            if monotonic() - told >= PAUSE:
                told = monotonic()
                self.listener(Update(stage, done, total, unit))

        self.listener(Update(stage, 0, total, unit))
        yield advance
        self.listener(Update(stage, done, total, unit))
        self.check()


class Jobs:
    """The jobs that can be cancelled by name."""

    def __init__(self) -> None:
        self._open: dict[str, Job] = {}
        self._ended: deque[str] = deque(maxlen=REMEMBERED)

    def check(self, name: str | None) -> None:
        """Whether a client may give a job this name."""
        if name is not None and not _NAME.fullmatch(name):
            raise UsageError("The name of a job (X-Job) must be 8 to 64 hexadecimal digits, in lower case")
        if name in self._open:
            raise UsageError("There is a job of that name (X-Job) already: choose another")

    @contextmanager
    def opened(self, name: str | None) -> Iterator[Job]:
        """A job under the name that the client chose, or a new one, until it is done."""
        self.check(name)
        id = name or secrets.token_hex(16)
        job = self._open[id] = Job(id)
        try:
            yield job
        finally:
            del self._open[id]
            self._ended.append(id)
            job.end()

    def cancel(self, id: str) -> bool:
        """Stop a job; whether there is one, or was until lately: who leaves and cancels may be seen to leave first."""
        job = self._open.get(id)
        if job is not None:
            job.end()
        return job is not None or id in self._ended


class Gate:
    """Lets `at_once` jobs work and `waiting` wait; the next is told to come back. A job may take `seconds`."""

    def __init__(self, at_once: int, waiting: int, seconds: float) -> None:
        self.at_once, self.waiting, self.seconds = at_once, waiting, seconds
        self.working = self.queued = self.refused = self.stopped = 0
        self._free = asyncio.Semaphore(at_once)
        self._threads = ThreadPoolExecutor(at_once, "request")

    def check(self) -> None:
        """Whether there is room for one more."""
        if self.working + self.queued >= self.at_once + self.waiting:
            self.refused += 1
            raise Busy("The server is busy: try again in a few seconds")

    @property
    def ahead(self) -> int:
        """How many have to end before it is the turn of one who comes now."""
        return max(0, self.working + self.queued - self.at_once + 1)

    async def run(self, job: Job, work: Callable[[Job], Answer]) -> Answer:
        """Do the work in a thread when its turn comes; over when the job is stopped, even if the thread lingers."""
        self.check()
        try:
            return await self._worked(job, work)
        except BaseException:  # a client that leaves its stream is a cancelled task
            self.stopped += job.stop.is_set()
            raise

    async def _worked(self, job: Job, work: Callable[[Job], Answer]) -> Answer:
        await self._turn(job)
        self.working += 1
        loop = asyncio.get_running_loop()
        task = loop.run_in_executor(self._threads, self._watched, job, work)
        task.add_done_callback(self._done)
        over = loop.time() + self.seconds
        while not (await asyncio.wait({task}, timeout=POLL))[0]:
            if loop.time() > over:
                job.end(TooLong(f"The request took longer than the {self.seconds:g} seconds that this server allows"))
            job.check()
        return task.result()

    def _watched(self, job: Job, work: Callable[[Job], Answer]) -> Answer:
        job.check()
        wanted = stopper.set(job.check)
        try:
            return work(job)
        finally:
            stopper.reset(wanted)

    def _done(self, task: asyncio.Future[Answer]) -> None:
        self.working -= 1
        self._free.release()
        if not task.cancelled():
            task.exception()  # it was told to whoever still waited

    async def _turn(self, job: Job) -> None:
        """Wait in line; one who leaves it gives the place back."""
        place = asyncio.ensure_future(self._free.acquire())
        self.queued += 1
        try:
            while not (await asyncio.wait({place}, timeout=POLL))[0]:
                job.check()
        except BaseException:
            if not place.cancel():
                self._free.release()
            raise
        finally:
            self.queued -= 1

    def close(self) -> None:
        """Let the threads go."""
        self._threads.shutdown(wait=False, cancel_futures=True)
