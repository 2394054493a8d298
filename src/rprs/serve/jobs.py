"""Requests that take time: limits on how many run and wait, progress, and cancellation."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from threading import Event
from time import monotonic
from typing import TypeVar

from rprs.errors import Busy, Cancelled, RprsError, TooLong, UsageError
from rprs.progress import Advance, stopper
from rprs.scoring.threads import cores, limit_cores

__all__ = ["Job", "Jobs", "Limiter", "Update"]

Result = TypeVar("Result")

STAGES = {
    "sentences of the query": "sentences",
    "first stage": "candidates",
    "comparing all sentences": "candidates",
    "re-ranking": "ranking",
}
UPDATE_INTERVAL = 0.05  # seconds between two updates of a stage
POLL = 0.1  # seconds until a cancellation is noticed
REMEMBERED = 256  # jobs that have ended, and names cancelled before their job began
_NAME = re.compile(r"[0-9a-f]{32,64}")


@dataclass(frozen=True, slots=True)
class Update:
    """The progress of a job."""

    stage: str
    done: int
    total: int | None
    unit: str


def _no_listener(_update: Update) -> None:
    """Ignore updates."""


class Job:
    """One running request. It is cancelled through its progress: every `advance` checks whether to go on."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.stop = Event()
        self.listener: Callable[[Update], None] = _no_listener
        # Sends a part of the result as an event of its own; None if the client waits for all of it.
        self.send: Callable[[str, bytes], None] | None = None
        self._reason: RprsError = Cancelled("The request was cancelled")

    def end(self, reason: RprsError | None = None) -> None:
        """Stop the work at its next step."""
        if reason is not None and not self.stop.is_set():
            self._reason = reason
        self.stop.set()

    def check(self) -> None:
        """Raise the reason if the job has been stopped."""
        if self.stop.is_set():
            raise self._reason

    @contextmanager
    def progress(self, what: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
        """A `Progress` that sends updates to the listener and raises when the job is stopped."""
        self.check()
        stage, done, last_update = STAGES.get(what, what), 0, 0.0

        def advance(amount: int) -> None:
            nonlocal done, last_update
            self.check()
            done += amount
            if monotonic() - last_update >= UPDATE_INTERVAL:
                last_update = monotonic()
                self.listener(Update(stage, done, total, unit))

        self.listener(Update(stage, 0, total, unit))
        yield advance
        self.listener(Update(stage, done, total, unit))
        self.check()


class Jobs:
    """The running jobs, which can be cancelled by name."""

    def __init__(self) -> None:
        self._open: dict[str, Job] = {}
        self._ended: deque[str] = deque(maxlen=REMEMBERED)
        self._cancelled: deque[str] = deque(maxlen=REMEMBERED)

    def check(self, name: str | None) -> None:
        """Raise if a client cannot give a job this name."""
        if name is not None and not _NAME.fullmatch(name):
            raise UsageError(
                "The name of a job (X-Job) must be 32 to 64 hexadecimal digits, in lower case, drawn at random"
            )
        if name in self._open:
            raise UsageError("A job with this name (X-Job) is already running: choose another")

    @contextmanager
    def open(self, name: str | None) -> Iterator[Job]:
        """A job under the client's name, or under a new one, until the end of the block."""
        self.check(name)
        id = name or secrets.token_hex(16)
        job = self._open[id] = Job(id)
        if id in self._cancelled:
            job.end()
        try:
            yield job
        finally:
            del self._open[id]
            self._ended.append(id)
            job.end()

    def cancel(self, id: str) -> bool:
        """Stop a job, or prevent it from starting; false if no job can have this name.

        Requests of one client may overtake each other: the cancellation may arrive before the request that it cancels.
        """
        job = self._open.get(id)
        if job is not None:
            job.end()
        elif _NAME.fullmatch(id) and id not in self._ended:
            self._cancelled.append(id)
        return job is not None or _NAME.fullmatch(id) is not None


class Limiter:
    """Runs `at_once` jobs in threads, each for at most `seconds`, and queues `waiting` more; further ones are Busy."""

    def __init__(self, at_once: int, waiting: int, seconds: float) -> None:
        self.at_once, self.waiting, self.seconds = at_once, waiting, seconds
        self.working = self.queued = self.refused = self.stopped = 0
        self._slots = asyncio.Semaphore(at_once)
        self._threads = ThreadPoolExecutor(at_once, "request")

    def check(self) -> None:
        """Raise `Busy` if the queue is full."""
        if self.working + self.queued >= self.at_once + self.waiting:
            self.refused += 1
            raise Busy("The server is busy: try again in a few seconds")

    @property
    def ahead(self) -> int:
        """How many jobs must end before a new one starts."""
        return max(0, self.working + self.queued - self.at_once + 1)

    async def run(self, job: Job, work: Callable[[Job], Result], seconds: float | None = None) -> Result:
        """Run the work in a thread when a slot is free; returns when the job is stopped, even if the thread goes on.

        `seconds` replaces the limit of the server, for work that is expected to take long.
        """
        self.check()
        try:
            return await self._run(job, work, seconds or self.seconds)
        except BaseException:  # a client that closes its event stream cancels this task
            self.stopped += job.stop.is_set()
            raise

    async def _run(self, job: Job, work: Callable[[Job], Result], seconds: float) -> Result:
        await self._wait_for_slot(job)
        self.working += 1
        loop = asyncio.get_running_loop()
        context = copy_context()  # the thread works for the collection of this request
        # Requests that run at once share the processors: threads of each would only wait for Python's lock.
        share = max(1, cores() // self.working) if seconds <= self.seconds else cores()
        task = loop.run_in_executor(self._threads, context.run, self._in_thread, job, work, share)
        task.add_done_callback(self._finished)
        deadline = loop.time() + seconds
        while not (await asyncio.wait({task}, timeout=POLL))[0]:
            if loop.time() > deadline:
                job.end(TooLong(f"The request took longer than the {seconds:g} seconds that this server allows"))
            job.check()
        return task.result()

    def _in_thread(self, job: Job, work: Callable[[Job], Result], share: int) -> Result:
        job.check()
        previous = stopper.set(job.check)
        try:
            with limit_cores(share):
                return work(job)
        finally:
            stopper.reset(previous)

    def _finished(self, task: asyncio.Future[Result]) -> None:
        self.working -= 1
        self._slots.release()
        if not task.cancelled():
            task.exception()  # marks it as retrieved: `run` has raised it if anybody was still waiting

    async def _wait_for_slot(self, job: Job) -> None:
        """Wait for a slot; a job that is stopped while it waits gives it back."""
        slot = asyncio.ensure_future(self._slots.acquire())
        self.queued += 1
        try:
            while not (await asyncio.wait({slot}, timeout=POLL))[0]:
                job.check()
        except BaseException:
            if not slot.cancel():
                self._slots.release()
            raise
        finally:
            self.queued -= 1

    def close(self) -> None:
        """Shut the threads down."""
        self._threads.shutdown(wait=False, cancel_futures=True)
