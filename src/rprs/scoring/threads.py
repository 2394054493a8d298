"""The number of threads to use, and BLAS limited to one thread while ours are running."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

from rprs.forks import ForkLock, PerProcess

__all__ = ["cores", "equal_shares", "limit_cores", "one_blas_thread", "spread"]

Item = TypeVar("Item")
Result = TypeVar("Result")


class _Users:
    """How many computations need BLAS limited to one thread, and the limit while there are any."""

    def __init__(self) -> None:
        self.lock, self.count = ForkLock(), 0
        self.limits: list[Any] = []

    def enter(self) -> None:
        """Set the limit for the first."""
        with self.lock:
            if self.count == 0:
                self.limits.append(_blas().limit(limits=1))
            self.count += 1

    def leave(self) -> None:
        """Restore the number of threads after the last."""
        with self.lock:
            self.count -= 1
            if self.count == 0:
                self.limits.pop().restore_original_limits()


_users = _Users()
_most: ContextVar[int | None] = ContextVar("most cores", default=None)


def cores() -> int:
    """The number of processors to use: those that this process may use, or fewer within `limit_cores`."""
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(own, _most.get() or own)


@contextmanager
def limit_cores(number: int) -> Iterator[None]:
    """Within this block, use at most so many processors, because other processes use the rest."""
    token = _most.set(number)
    try:
        yield
    finally:
        _most.reset(token)


def spread(function: Callable[[Item], Result], items: Sequence[Item], *, one_thread: bool = False) -> list[Result]:
    """`[function(item) for item in items]` on all cores, or in this thread; a function must release Python's lock."""
    number = 1 if one_thread else max(1, min(cores(), len(items)))
    shares = [items[first::number] for first in range(number)]

    def work(share: Sequence[Item]) -> list[Result]:
        return [function(item) for item in share]

    others = [_threads().submit(work, share) for share in shares[1:]]
    found = [work(shares[0]), *(other.result() for other in others)]
    return [found[place % number][place // number] for place in range(len(items))]


def equal_shares(sizes: Sequence[int], number: int) -> list[list[int]]:
    """The places of some items in up to `number` shares of about the same size; at least one share."""
    shares: list[list[int]] = [[] for _ in range(max(1, min(number, len(sizes))))]
    filled = [0] * len(shares)
    for place in sorted(range(len(sizes)), key=lambda place: -sizes[place]):
        least = filled.index(min(filled))
        shares[least].append(place)
        filled[least] += sizes[place]
    return shares


# Shared by all searches of a process: starting threads takes a noticeable part of a short search.
_threads = PerProcess(lambda: ThreadPoolExecutor(cores(), "spread"))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread while ours run, also when several searches overlap."""
    _users.enter()
    try:
        yield
    finally:
        _users.leave()


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
