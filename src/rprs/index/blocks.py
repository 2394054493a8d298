"""Checksums of blocks: what a search reads is checked when it is first used, and nothing else is read for it.

The sum of a block is a sum of its 64-bit words, each times an odd factor of its own, modulo 2^64. A single changed word
always changes it, and so does a block in another place. It is as fast as memory, unlike the SHA-256 of a whole file,
which `rprs verify` and everything that rewrites a file compare.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba.np.numpy_support import carray
from numpy.typing import NDArray

from rprs.compiled import compiled, compiled_callback
from rprs.errors import IndexCorrupt, UsageError

__all__ = ["BLOCK", "Blocks", "block_sums", "checks_wanted"]

BLOCK = 2**12  # bytes
WORDS = BLOCK // 8
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_TWICE = np.uint64(0x3C6EF372FE94F82A)  # modulo 2^64


def checks_wanted(check: bool | None) -> bool:
    """Whether blocks are checked: as the caller says, or unless the variable RPRS_CHECK is `off`."""
    if check is not None:
        return check
    value = os.environ.get("RPRS_CHECK", "on")
    if value not in ("on", "off"):
        raise UsageError(f"RPRS_CHECK must be on or off. Got {value!r} instead.")
    return value == "on"


def block_sums(content: NDArray[np.uint8]) -> bytes:
    """The sums of the blocks of a file."""
    sums = np.empty(-(-len(content) // BLOCK), dtype=np.uint64)
    _fill(*_words(content), sums)
    return sums.astype("<u8").tobytes()


class Blocks:
    """The blocks of a mapped file: each is compared with its sum before its first use."""

    def __init__(
        self,
        content: NDArray[np.uint8],
        start: int,
        sums: bytes,
        damage: Callable[[], IndexCorrupt],
        *,
        whole: bool = True,
    ) -> None:
        """`start` is where the array begins, after the header, which is checked if `whole`; `damage` is the error."""
        self._start, self._damage, self._size = start, damage, len(content)
        self._words, self._tail = _words(content)
        self._sums = np.frombuffer(sums, dtype="<u8")
        self._seen = bytearray(len(self._sums))
        self._arguments = self._pointers()
        if len(self._sums) != -(-len(content) // BLOCK):
            raise damage()
        if whole:
            self._check(0, start)

    @property
    def complete(self) -> bool:
        """Whether every block was checked."""
        return self._seen.find(0) < 0

    def check(self, start: int, stop: int) -> None:
        """Check the bytes of the array from start to stop."""
        self._check(self._start + start, self._start + stop)

    def check_all(self) -> None:
        """Check the whole file."""
        self._check(0, self._size)

    def check_ranges(self, starts: NDArray[Any], stops: NDArray[Any]) -> None:
        """Check several ranges of bytes of the array."""
        if self.complete:
            return
        first, last = (np.asarray(ends + self._start, dtype=np.int64) for ends in (starts, stops))
        if _kernels()[1](*self._arguments, first.ctypes.data, last.ctypes.data, len(first)) >= 0:
            raise self._damage()

    def _check(self, start: int, stop: int) -> None:
        if self._seen.find(0, start // BLOCK, -(-stop // BLOCK)) < 0:  # nearly always
            return
        if _kernels()[0](*self._arguments, start, stop) >= 0:
            raise self._damage()

    def _pointers(self) -> tuple[int, ...]:
        """What the kernels need, as numbers: passing a read-only array to Numba takes longer than checking a block."""
        seen = np.frombuffer(self._seen, dtype=np.uint8)
        sizes = (len(self._words), int(self._tail)), (self._sums.ctypes.data, len(self._sums), seen.ctypes.data)
        return (self._words.ctypes.data, *sizes[0], *sizes[1])

    def damaged(self) -> list[tuple[int, int]]:
        """The ranges of bytes of the array that differ."""
        actual = np.empty(len(self._sums), dtype=np.uint64)
        _fill(self._words, self._tail, actual)
        bad = np.flatnonzero(actual != self._sums).tolist()
        return [(max(0, block * BLOCK - self._start), (block + 1) * BLOCK - self._start) for block in bad]


def _words(content: NDArray[np.uint8]) -> tuple[NDArray[np.uint64], np.uint64]:
    """The 64-bit words of a file, and its last bytes as one more."""
    full = len(content) // 8 * 8
    tail = np.uint64(int.from_bytes(content[full:].tobytes(), "little"))
    return content[:full].view("<u8"), tail


# Numba infers the types of what follows, and compiles it once for each combination.
@compiled
def _sum(words, tail, block):  # type: ignore[no-untyped-def]
    first, last = block * WORDS, min((block + 1) * WORDS, words.size)
    total, factor = np.uint64(block + 1), _FACTOR
    for place in range(first, last):
        total += words[place] * factor
        factor += _TWICE
    if last == words.size and last - first < WORDS:
        total += tail * factor
    return total


@compiled
def _fill(words, tail, sums):  # type: ignore[no-untyped-def]
    for block in range(sums.size):
        sums[block] = _sum(words, tail, block)


@compiled
def _bad(words, tail, sums, seen, start, stop):  # type: ignore[no-untyped-def]
    """The first block with bytes from start to stop whose sum differs, or -1."""
    if stop <= start:
        return -1
    for block in range(max(start // BLOCK, 0), min((stop - 1) // BLOCK + 1, sums.size)):
        if not seen[block]:
            if _sum(words, tail, block) != sums[block]:
                return block
            seen[block] = 1
    return -1


def _bad_range(words, count, tail, sums, blocks, seen, start, stop):  # type: ignore[no-untyped-def]
    file = carray(words, count, np.uint64), tail, carray(sums, blocks, np.uint64)
    return _bad(file[0], file[1], file[2], carray(seen, blocks, np.uint8), start, stop)


def _bad_ranges(words, count, tail, sums, blocks, seen, starts, stops, size):  # type: ignore[no-untyped-def]
    file = carray(words, count, np.uint64), tail, carray(sums, blocks, np.uint64)
    flags = carray(seen, blocks, np.uint8)
    first, last = carray(starts, size, np.int64), carray(stops, size, np.int64)
    for place in range(size):
        block = _bad(file[0], file[1], file[2], flags, first[place], last[place])
        if block >= 0:
            return block
    return -1


@cache
def _kernels() -> tuple[Any, Any]:
    """The checks of one range and of several, as functions of numbers and addresses."""
    file = "voidptr, int64, uint64, voidptr, int64, voidptr"
    one = compiled_callback(_bad_range, f"int64({file}, int64, int64)")
    several = compiled_callback(_bad_ranges, f"int64({file}, voidptr, voidptr, int64)")
    return one, several
