"""What a forked process must not share with its parent: threads, locks that others hold, and database connections.

After `fork` a child has one thread, so a pool of threads without threads or a lock that another thread held would make
it wait forever. A resource that registers here is prepared before every fork and resumed in both processes after it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Lock, RLock
from typing import Generic, Protocol, TypeVar
from weakref import WeakSet

__all__ = ["ForkAware", "ForkLock", "PerProcess", "forget", "register"]

Value = TypeVar("Value")


class ForkAware(Protocol):
    """A resource that a forked process cannot simply inherit."""

    def before_fork(self) -> None:
        """Wait until other threads leave the resource alone, and give up what must not be inherited."""
        ...

    def after_fork(self, child: bool) -> None:
        """Continue, in the parent or in the child."""
        ...


_resources: WeakSet[ForkAware] = WeakSet()
_prepared: list[ForkAware] = []


def register(resource: ForkAware) -> None:
    """Call the methods of a resource around every fork, as long as it lives."""
    _resources.add(resource)


def forget(resource: ForkAware) -> None:
    """Leave a resource alone from now on."""
    _resources.discard(resource)


class ForkLock:
    """A reentrant lock that no other thread holds at the moment of a fork, so that the child finds it free."""

    def __init__(self) -> None:
        self._lock = RLock()
        register(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def before_fork(self) -> None:
        """Wait for the other threads."""
        self._lock.acquire()

    def after_fork(self, child: bool) -> None:
        """Let them continue; in the child there are none."""
        self._lock.release()


class PerProcess(Generic[Value]):
    """A value that every process makes for itself, when it first needs it: `pool = PerProcess(make_pool); pool()`."""

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make, self._lock = make, Lock()
        self._values: list[Value] = []
        self._inherited: list[Value] = []  # kept: to delete what belongs to the parent could wait for its threads
        register(self)

    def __call__(self) -> Value:
        """The value of this process."""
        with self._lock:
            if not self._values:
                self._values.append(self._make())
            return self._values[0]

    def before_fork(self) -> None:
        """Nothing to prepare: the child makes another value."""

    def after_fork(self, child: bool) -> None:
        """Start anew in the child."""
        if child:
            self._inherited, self._values, self._lock = [*self._inherited, *self._values], [], Lock()


def _before() -> None:
    for resource in list(_resources):
        _prepared.append(resource)
        resource.before_fork()


def _after(child: bool) -> None:
    while _prepared:
        _prepared.pop().after_fork(child)


os.register_at_fork(before=_before, after_in_parent=lambda: _after(False), after_in_child=lambda: _after(True))
