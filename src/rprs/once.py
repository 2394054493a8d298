"""Properties that are computed once; several threads may compute those of different objects at the same time.

Python 3.11's own `cached_property` holds one lock for all objects of a class while it computes, so that threads wait
for each other; Python 3.12 removed the lock. Two threads that ask the same object may both compute the value.
"""

from __future__ import annotations

import sys

__all__ = ["cached_property"]

if sys.version_info >= (3, 12):
    from functools import cached_property
else:
    from collections.abc import Callable
    from typing import Any, Generic, Self, TypeVar, overload

    Value = TypeVar("Value")

    class cached_property(Generic[Value]):  # noqa: N801  # the name of what it replaces
        """A property whose value replaces it in the object after the first use."""

        def __init__(self, compute: Callable[[Any], Value]) -> None:
            self.compute = compute
            self.__doc__ = compute.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        @overload
        def __get__(self, instance: None, owner: type | None = None) -> Self: ...

        @overload
        def __get__(self, instance: object, owner: type | None = None) -> Value: ...

        def __get__(self, instance: object | None, owner: type | None = None) -> Self | Value:
            if instance is None:
                return self
            value = self.compute(instance)
            instance.__dict__[self.name] = value
            return value
