"""How long work tells that it goes on: a callable that opens a task and yields a function to advance it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

__all__ = ["Advance", "Progress", "silent"]

Advance = Callable[[int], None]


class Progress(Protocol):
    """`with progress("encoding", total=1000, unit="sentences") as advance: advance(32)`"""

    def __call__(self, what: str, total: int | None = None, unit: str = "") -> AbstractContextManager[Advance]:
        """Open a task of `total` steps, or of an unknown number."""
        ...


@contextmanager
def silent(what: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
    """Progress that nobody sees: the default of the library."""
    yield lambda _amount: None
