"""The number of threads to use, and BLAS limited to one thread while ours are running."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

__all__ = ["cores", "one_blas_thread"]

_lock = Lock()
_users = 0
_limits: list[Any] = []


def cores() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread while ours run, also when several searches overlap."""
    global _users
    with _lock:
        if _users == 0:
            _limits.append(_blas().limit(limits=1))
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limits.pop().restore_original_limits()


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
