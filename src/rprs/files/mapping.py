"""Map a file into memory without keeping it open.

Python's mmap keeps a copy of the descriptor until 3.13, where it can be told not to, so that an index of many segments
would exhaust the limit of a process. Before 3.13 the system call is made directly.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import weakref
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.files.atomic import errors_of

__all__ = ["map_file"]

_READ, _SHARED = 1, 1  # PROT_READ and MAP_SHARED, the same on all systems


def map_file(path: Path) -> NDArray[np.uint8]:
    """The bytes of a file, read when they are used; no descriptor stays open. An empty file is an empty array."""
    with errors_of(path):
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        try:
            size = os.fstat(descriptor).st_size
            if size == 0:
                return np.empty(0, dtype=np.uint8)
            content = np.frombuffer(_map(descriptor, size), dtype=np.uint8)
        finally:
            os.close(descriptor)
    content.flags.writeable = False
    return content


def _map(descriptor: int, size: int) -> Any:
    if sys.version_info >= (3, 13):
        return mmap.mmap(descriptor, size, access=mmap.ACCESS_READ, trackfd=False)
    return _map_directly(descriptor, size)


def _map_directly(descriptor: int, size: int) -> Any:
    library = _library()
    address = library.mmap(None, size, _READ, _SHARED, descriptor, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    buffer = (ctypes.c_ubyte * size).from_address(address)
    release = weakref.finalize(buffer, library.munmap, address, size)
    release.atexit = False  # the system does it, when no thread uses the memory any more
    return buffer


@cache
def _library() -> Any:
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = (
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_ssize_t,  # off_t
    )
    library.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    return library
