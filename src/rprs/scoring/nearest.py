"""The n nearest sentences of a whole collection for a few query sentences: one pass over the stored vectors.

`scoring.neighbours` widens blocks of vectors and multiplies them with BLAS, which suits queries of many sentences. With
one or a few, this loop is faster: every stored vector is decoded in registers and multiplied at once with up to four
query sentences, so that memory is read once and nothing is written, and a document costs no Python at all. Products on
the grid of `scoring.vectors` are exact in any order, and keys decide between equals, so that the result is the same bit
by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numba
import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from rprs.progress import Advance, no_op
from rprs.scoring.lists import Wide, insert
from rprs.scoring.neighbours import merge
from rprs.scoring.threads import cores
from rprs.scoring.widening import Vectors, widen

__all__ = ["StoredDocuments", "nearest_sentences"]

Ints = NDArray[np.int64]

UNIT = 2**15  # sentences that a thread takes at a time, at least
_BIAS = np.float32(2.0**112)  # float16 bits that are moved into float32 are too small by this factor


@dataclass(frozen=True, slots=True)
class StoredDocuments:
    """Documents of one array of vectors: the rows of each, and the key of its first sentence."""

    vectors: Vectors  # (rows, dimension)
    starts: Ints  # (documents,)
    stops: Ints  # (documents,)
    keys: Ints  # (documents,): that of the next sentence is larger by one


def nearest_sentences(
    query: Vectors,
    stored: Iterable[StoredDocuments],
    n: int,
    *,
    check: Callable[[StoredDocuments], None] | None = None,
    threads: int | None = None,
    unit: int = UNIT,
    advance: Advance = no_op,
) -> tuple[Wide, Ints]:
    """(m, n) similarities and keys of the n nearest sentences of each of m query sentences; all if there are fewer.

    Of equally similar sentences, the one with the smaller key comes first. `check` is called before documents are read
    and may raise an error, which ends the pass. `advance` counts sentences.
    """
    parts = list(stored)
    width = min(n, sum(int((part.stops - part.starts).sum()) for part in parts))
    wide = widen(query)
    if width == 0 or not len(query):
        return np.empty((len(query), 0), dtype=wide.dtype), np.empty((len(query), 0), dtype=np.int64)
    half = query.itemsize == 2
    factors, zero = wide * _BIAS if half else wide, wide.dtype.type(0)
    source, lock = _units(parts, unit), Lock()

    def work(_worker: int) -> tuple[Wide, Ints]:
        best = np.full((len(query), width), -np.inf, dtype=wide.dtype)
        keys = np.full((len(query), width), np.iinfo(np.int64).max, dtype=np.int64)
        while True:
            with lock:
                part = next(source, None)
            if part is None:
                return best, keys
            if check is not None:
                check(part)
            vectors = part.vectors.view(np.int16) if half else part.vectors
            _scan(vectors, part.starts, part.stops, part.keys, factors, zero, best, keys)
            advance(int((part.stops - part.starts).sum()))

    workers = threads or cores()
    with ThreadPoolExecutor(workers, "nearest") as pool:
        try:
            lists = list(pool.map(work, range(workers)))
        finally:
            with lock:
                source.close()  # an error ends the pass for all
    return merge([best for best, _ in lists], [keys for _, keys in lists], width)


def _units(parts: Iterable[StoredDocuments], size: int) -> Generator[StoredDocuments]:
    """The documents in groups of at least `size` sentences, except for the last of each array."""
    for part in parts:
        total = np.cumsum(part.stops - part.starts)
        first = 0
        while first < len(total):
            before = int(total[first - 1]) if first else 0
            stop = int(np.searchsorted(total, before + size)) + 1
            group = slice(first, stop)
            yield StoredDocuments(part.vectors, part.starts[group], part.stops[group], part.keys[group])
            first = stop


# ---------------------------------------------------------------------------- compiled

_EXACT = {"nnan", "nsz", "reassoc", "contract"}  # sums are exact in any order


def _decode(number: Any) -> Any:
    """A stored number as one that can be multiplied: the bits of a float16 give a float32 without its bias."""
    raise NotImplementedError("compiled code only")


@overload(_decode)
def _decode_stored(number):  # type: ignore[no-untyped-def]
    if isinstance(number, numba.types.Integer):
        # The sign fills the upper half; all but one of its bits are cleared after the move.
        return lambda number: np.int32((np.int32(number) << np.int32(13)) & np.int32(-0x70002000)).view(np.float32)
    return lambda number: np.float64(number)


@numba.njit(nogil=True, cache=True, fastmath=_EXACT)
def _scan(vectors, starts, stops, keys, factors, zero, best, where):  # type: ignore[no-untyped-def]
    """Update the lists with the sentences of some documents; the factors of float16 contain the bias."""
    queries, columns = factors.shape
    for document in range(starts.size):
        for place in range(starts[document], stops[document]):
            key = keys[document] + place - starts[document]
            query = 0
            while query + 4 <= queries:  # a decoded number serves four query sentences
                first, second, third, fourth = zero, zero, zero, zero
                for column in range(columns):
                    value = _decode(vectors[place, column])
                    first += value * factors[query, column]
                    second += value * factors[query + 1, column]
                    third += value * factors[query + 2, column]
                    fourth += value * factors[query + 3, column]
                _offer(first, key, best[query], where[query])
                _offer(second, key, best[query + 1], where[query + 1])
                _offer(third, key, best[query + 2], where[query + 2])
                _offer(fourth, key, best[query + 3], where[query + 3])
                query += 4
            while query < queries:
                similarity = zero
                for column in range(columns):
                    similarity += _decode(vectors[place, column]) * factors[query, column]
                _offer(similarity, key, best[query], where[query])
                query += 1


@numba.njit(nogil=True, cache=True, inline="always")
def _offer(similarity, key, best, where):  # type: ignore[no-untyped-def]
    """Insert a sentence into a list if it belongs there."""
    last = best.size - 1
    if similarity > best[last] or (similarity == best[last] and key < where[last]):
        insert(best, where, similarity, key)
