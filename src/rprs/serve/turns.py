"""Work of the event loop that takes turns, so that none of it waits behind hundreds of others.

The loop runs everything that is due before it looks at the sockets again. The heads of hundreds of requests that arrive
at the same time would take it a quarter of a second, in which it could not say that the server is alive. So they are
handled for a few milliseconds at a time, and the loop looks at the sockets in between.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter

__all__ = ["Turns"]

TURN = 0.005  # seconds


class Turns:
    """What is waiting for its turn, in the order in which it came."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._scheduled = False

    def add(self, work: Callable[[], None]) -> None:
        """Do it soon; call this in the event loop."""
        self._waiting.append(work)
        self._schedule()

    def _schedule(self) -> None:
        if self._waiting and not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._run)

    def _run(self) -> None:
        self._scheduled = False
        end = perf_counter() + TURN
        try:
            while self._waiting:
                self._waiting.popleft()()
                if perf_counter() >= end:
                    return
        finally:  # an error in one of them does not keep the others from their turns
            self._schedule()
