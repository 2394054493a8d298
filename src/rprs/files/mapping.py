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

__all__ = ["map_file", "release"]

_READ, _SHARED, _NOT_NEEDED = 1, 1, 4  # PROT_READ, MAP_SHARED and MADV_DONTNEED, the same on all systems
_mapped: dict[int, int] = {}  # the size of each file that is mapped, by its address


def map_file(path: Path) -> NDArray[np.uint8]:
    """The bytes of a file, read when they are used; no descriptor stays open. An empty file is an empty array."""
    with errors_of(path):
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        try:
            size = os.fstat(descriptor).st_size
            if size == 0:
                return np.empty(0, dtype=np.uint8)
            mapping = _map(descriptor, size)
        finally:
            os.close(descriptor)
    content = np.frombuffer(mapping, dtype=np.uint8)
    content.flags.writeable = False
    _mapped[content.ctypes.data] = size
    weakref.finalize(mapping, _mapped.pop, content.ctypes.data, None).atexit = False
    return content


def release(array: NDArray[Any]) -> None:
    """Give back the memory of an array that is part of a mapped file; what is used again is read again.

    The memory of files counts as that of the process, although the system would take it back if others needed it.
    """
    first, last = array.ctypes.data, array.ctypes.data + array.nbytes
    if any(start <= first and last <= start + size for start, size in list(_mapped.items())):
        first = -(-first // mmap.PAGESIZE) * mmap.PAGESIZE
        if last > first:
            _library().madvise(first, last - first, _NOT_NEEDED)


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
    library.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return library
