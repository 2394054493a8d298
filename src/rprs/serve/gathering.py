"""The pieces of a request's body, gathered before they are passed on.

Each piece wakes the application, which takes a tenth of a millisecond: hundreds of clients that send a byte at a time
would keep the event loop busy. So pieces wait until they are enough, or the rest of the body. Who sends less is slow
and is cut as such (`limits.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import uniform

from rprs.serve.limits import MIN_ARRIVAL

__all__ = ["Gathering", "Timer"]

LAST_CHUNK = b"0\r\n\r\n"
UNKNOWN_END = (1.0, 3.0)  # seconds, drawn at random, until less of a body without a length is passed on


def _ignore(_data: bytes) -> None:
    """Nobody is there to receive it."""


class Timer:
    """One pending call, which can be cancelled or replaced."""

    def __init__(self) -> None:
        self._handle: asyncio.TimerHandle | None = None

    @property
    def pending(self) -> bool:
        """Whether it was started and not stopped."""
        return self._handle is not None

    def start(self, seconds: float, callback: Callable[..., None], *arguments: object) -> None:
        """Call in so many seconds; what was pending is cancelled."""
        self.stop()
        self._handle = asyncio.get_running_loop().call_later(seconds, callback, *arguments)

    def stop(self) -> None:
        """Cancel what is pending."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


class Gathering:
    """What has arrived on a connection and was not passed on yet; outside of bodies, that is nothing."""

    def __init__(self, pass_on: Callable[[bytes], None]) -> None:
        self._pass_on = pass_on
        self._pieces = bytearray()
        self._gathers = False
        self._missing: int | None = None  # bytes that the application has not read; None if the length is unknown
        self._timer = Timer()

    @property
    def gathers(self) -> bool:
        """Whether a body is arriving that the application has not read to its end."""
        return self._gathers

    def begin(self, length: int | None) -> None:
        """The head of a request announces a body, with a length or without."""
        self._gathers, self._missing = True, length

    def read(self, size: int) -> None:
        """The application has read so many bytes of the body."""
        if self._missing is not None:
            self._missing -= size

    def end(self) -> None:
        """Nobody waits for more of the body."""
        self._gathers = False
        self.flush()

    def add(self, data: bytes) -> None:
        """Data has arrived."""
        if not self._gathers or (len(data) >= MIN_ARRIVAL and not self._pieces):
            self._pass_on(data)
            return
        self._pieces += data
        complete = self._pieces.endswith(LAST_CHUNK) if self._missing is None else len(self._pieces) >= self._missing
        if complete or len(self._pieces) >= MIN_ARRIVAL:
            self.flush()
        elif self._missing is None and not self._timer.pending:
            self._timer.start(uniform(*UNKNOWN_END), self.flush)

    def flush(self) -> None:
        """Pass on what is there."""
        self._timer.stop()
        if self._pieces:
            data = bytes(self._pieces)
            self._pieces.clear()
            self._pass_on(data)

    def drop(self) -> None:
        """The connection is lost.

        Without the reference to it, Python frees it at once: the garbage of hundreds takes a tenth of a second.
        """
        self._timer.stop()
        self._pieces.clear()
        self._pass_on = _ignore
