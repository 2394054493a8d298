"""The n nearest sentences of a whole collection for a few query sentences: one pass over the stored vectors.

`scoring.neighbours` widens blocks of vectors and multiplies them with BLAS, which suits queries of many sentences. With
one or a few, this loop is faster: every stored vector is decoded in registers and multiplied at once, so that memory is
read once and nothing is written, and a document costs no Python at all. Products on the grid of `scoring.vectors` are
exact in any order, and keys decide between equals, so that the result is the same bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled
from rprs.progress import Advance, no_op
from rprs.scoring.neighbours import Vectors, Wide, insert, merge, widen
from rprs.scoring.threads import cores

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
    factors = wide * _BIAS if half else wide
    source, lock = _units(parts, unit), Lock()

    def work(_worker: int) -> tuple[Wide, Ints]:
        best = np.full((len(query), width), -np.inf, dtype=wide.dtype)
        keys = np.full((len(query), width), np.iinfo(np.int64).max, dtype=np.int64)
        row = np.empty(query.shape[1], dtype=wide.dtype)
        while True:
            with lock:
                part = next(source, None)
            if part is None:
                return best, keys
            if check is not None:
                check(part)
            columns = (part.starts, part.stops, part.keys)
            if half:
                _scan_half(part.vectors.view(np.uint16), *columns, factors, row, best, keys)
            else:
                _scan_single(part.vectors, *columns, factors, row, best, keys)
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


@compiled(fastmath=_EXACT)
def _scan_half(half, starts, stops, keys, factors, row, best, where):  # type: ignore[no-untyped-def]
    """Update the lists with the sentences of some documents, stored as float16; `factors` contain the bias."""
    for document in range(starts.size):
        for place in range(starts[document], stops[document]):
            for column in range(row.size):
                bits = np.uint32(half[place, column])
                sign = (bits & np.uint32(0x8000)) << np.uint32(16)
                moved = np.uint32(sign | ((bits & np.uint32(0x7FFF)) << np.uint32(13)))
                row[column] = moved.view(np.float32)
            _compare(row, factors, keys[document] + place - starts[document], best, where)


@compiled(fastmath=_EXACT)
def _scan_single(vectors, starts, stops, keys, factors, row, best, where):  # type: ignore[no-untyped-def]
    """The same for float32, whose products are exact as float64."""
    for document in range(starts.size):
        for place in range(starts[document], stops[document]):
            for column in range(row.size):
                row[column] = vectors[place, column]
            _compare(row, factors, keys[document] + place - starts[document], best, where)


@compiled(fastmath=_EXACT, inline="always")
def _compare(row, factors, key, best, where):  # type: ignore[no-untyped-def]
    """Compare one sentence with all query sentences."""
    last = best.shape[1] - 1
    for query in range(factors.shape[0]):
        similarity = row[0] * factors[query, 0]
        for column in range(1, row.size):
            similarity += row[column] * factors[query, column]
        if similarity > best[query, last] or (similarity == best[query, last] and key < where[query, last]):
            insert(best[query], where[query], similarity, key)
