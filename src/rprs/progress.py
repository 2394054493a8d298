"""How long work tells that it goes on: a callable that opens a task and yields a function to advance it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Protocol

__all__ = ["Advance", "Progress", "silent", "stopper"]

Advance = Callable[[int], None]


def _go_on() -> None:
    """Nobody wants it to stop."""


# What raises an error once the work of this context is not wanted any more. An `advance` asks it already; this is for
# what takes long without one. A thread of one's own does not have it: take it before starting one.
stopper: ContextVar[Callable[[], None]] = ContextVar("stopper", default=_go_on)


class Progress(Protocol):
    """`with progress("encoding", total=1000, unit="sentences") as advance: advance(32)`"""

    def __call__(self, what: str, total: int | None = None, unit: str = "") -> AbstractContextManager[Advance]:
        """Open a task of `total` steps, or of an unknown number."""
        ...


@contextmanager
def silent(what: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
    """Progress that nobody sees: the default of the library."""
    yield lambda _amount: None
