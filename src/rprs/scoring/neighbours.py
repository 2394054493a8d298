"""R_n: for every query sentence, its n most similar sentences among the candidates' (paper, section 3).

The pool is processed in blocks that fit into the cache: widen a block of vectors to float32, multiply it with the
query's vectors (BLAS), and update the running list of the n best of every query sentence (Numba). Memory therefore
depends on the query and the block, not on the pool. Vectors on the grid of `scoring.vectors` have exact products, and
the order (similarity, then position in the pool) is total, so neither blocks nor threads change the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

import numba
import numpy as np
from numpy.typing import NDArray

from rprs.document import Neighbours
from rprs.progress import Advance, no_op
from rprs.scoring.threads import cores, one_blas_thread

__all__ = ["POOL_ROWS", "QUERY_ROWS", "Vectors", "blocks", "merge", "neighbours", "widen"]

Vectors = NDArray[np.float16]

QUERY_ROWS = 1024  # a block of products is QUERY_ROWS × POOL_ROWS float32: 2 MB
POOL_ROWS = 512
STRIDE = 32  # similarities whose maximum is compared first: most often none of them enters the list


def neighbours(
    query: Vectors,
    pool: Sequence[Vectors],
    n: int,
    *,
    threads: int | None = None,
    block: int = POOL_ROWS,
    advance: Advance = no_op,
) -> Neighbours:
    """The n nearest sentences of the pool for each of m query sentences (m, dimension); all where the pool has fewer.

    `pool` holds one array of vectors per candidate document, in first-stage order: among equally similar sentences, the
    one of the better ranked document comes first, then the earlier one. `advance` counts processed pool rows.
    """
    offsets = np.concatenate([[0], np.cumsum([len(rows) for rows in pool], dtype=np.int64)]).astype(np.int64)
    size = int(offsets[-1])
    width = min(n, size)
    if width == 0 or len(query) == 0:
        empty = np.empty((len(query), width))
        return Neighbours(empty.astype(np.float32), empty.astype(np.int64), offsets)
    wide = widen(query)
    workers = max(1, min(threads or cores(), -(-size // block)))
    bounds = [size * worker // workers for worker in range(workers + 1)]

    def work(start: int, stop: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        best = np.full((len(query), width), -np.inf, dtype=np.float32)
        where = np.full((len(query), width), size, dtype=np.int64)
        products = np.empty((min(QUERY_ROWS, len(query)), block), dtype=np.float32)
        for first, rows in blocks(pool, offsets, start, stop, block):
            for top in range(0, len(query), QUERY_ROWS):
                part = slice(top, min(top + QUERY_ROWS, len(query)))
                out = products[: part.stop - top, : len(rows)]
                np.matmul(wide[part], rows.T, out=out)
                _keep_best(out, first, best[part], where[part])
            advance(len(rows))
        return best, where

    with one_blas_thread():
        others = [_threads().submit(work, *ends) for ends in pairwise(bounds[1:])]
        parts = [work(*bounds[:2]), *(other.result() for other in others)]
    similarity, sentence = merge([best for best, _ in parts], [where for _, where in parts], width)
    return Neighbours(similarity, sentence, offsets)


@cache
def _threads() -> ThreadPoolExecutor:
    """Shared by all calls: starting threads takes a noticeable part of a short search."""
    return ThreadPoolExecutor(cores(), "neighbours")


def merge(
    similarities: Sequence[NDArray[np.float32]], sentences: Sequence[NDArray[np.int64]], n: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Merge partial lists (m, n') over disjoint parts of a pool, in the pool's order, into lists (m, n) of the best."""
    if len(similarities) == 1:
        return similarities[0][:, :n], sentences[0][:, :n]
    similarity, sentence = np.hstack(similarities), np.hstack(sentences)
    order = np.argsort(-similarity, axis=1, kind="stable")[:, :n]
    return np.take_along_axis(similarity, order, 1), np.take_along_axis(sentence, order, 1)


def blocks(
    pool: Sequence[Vectors], offsets: NDArray[np.int64], start: int, stop: int, block: int
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """The pool's rows from start to stop as float32, at most `block` at a time, with the number of the first row."""
    buffer = np.empty((min(block, stop - start), pool[0].shape[1]), dtype=np.float32)
    first, filled = start, 0
    document = int(np.searchsorted(offsets, start, side="right")) - 1
    position = start
    while position < stop:
        rows = pool[document][position - offsets[document] :]
        count = min(len(rows), len(buffer) - filled, stop - position)
        if count:
            _widen(rows[:count].view(np.uint16), buffer[filled : filled + count])
            position, filled = position + count, filled + count
        if position == offsets[document + 1]:
            document += 1
        if filled == len(buffer) or position == stop:
            yield first, buffer[:filled]
            first, filled = position, 0


def widen(vectors: Vectors) -> NDArray[np.float32]:
    """float16 → float32, ten times faster than `astype`."""
    wide = np.empty(vectors.shape, dtype=np.float32)
    _widen(np.ascontiguousarray(vectors).view(np.uint16), wide)
    return wide


@numba.njit(nogil=True, cache=True)
def _widen(half, wide):  # type: ignore[no-untyped-def]
    """Move sign, exponent and fraction to their places in float32, then correct the exponent's bias by 2^112."""
    for row in range(half.shape[0]):
        for column in range(half.shape[1]):
            bits = np.uint32(half[row, column])
            sign = (bits & np.uint32(0x8000)) << np.uint32(16)
            moved = np.uint32(sign | ((bits & np.uint32(0x7FFF)) << np.uint32(13)))
            wide[row, column] = moved.view(np.float32) * np.float32(2.0**112)


@numba.njit(nogil=True, cache=True, fastmath={"nnan", "nsz"})
def _keep_best(products, first, best, where):  # type: ignore[no-untyped-def]
    """Insert a block of similarities (query rows × pool rows) into the running lists, each in descending order.

    Pool rows come in ascending order and only a greater similarity displaces, so that the earlier of two equals stays.
    """
    last = best.shape[1] - 1
    columns = products.shape[1]
    for row in range(products.shape[0]):
        worst = best[row, last]
        for start in range(0, columns, STRIDE):
            stop = min(start + STRIDE, columns)
            if stop - start == STRIDE:
                greatest = worst
                for column in range(STRIDE):  # of constant length, so that it compiles to vector instructions
                    greatest = max(products[row, start + column], greatest)
                if greatest <= worst:
                    continue
            for column in range(start, stop):
                similarity = products[row, column]
                if similarity > worst:
                    _insert(best[row], where[row], similarity, first + column)
                    worst = best[row, last]


@numba.njit(nogil=True, cache=True)
def _insert(best, where, similarity, position):  # type: ignore[no-untyped-def]
    """Insert a similarity after all that are at least as great, and drop the last of the list."""
    place = best.size - 1
    while place > 0 and best[place - 1] < similarity:
        best[place] = best[place - 1]
        where[place] = where[place - 1]
        place -= 1
    best[place] = similarity
    where[place] = position
