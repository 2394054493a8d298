"""R_n: for every query sentence, its n most similar sentences among the candidates' (paper, section 3).

The pool is processed in blocks that fit into the cache: widen a block of vectors (float16 to float32, float32 to
float64), multiply it with the query's vectors (BLAS), and update the running list of the n best of every query sentence
(Numba). Many query sentences are compared in blocks, too. Memory therefore depends on the blocks and on the n nearest
of each query sentence, not on the pool. Vectors on the grid of `scoring.vectors`
have exact products, and every sentence has a key of its own that decides between equals, so that neither blocks nor
threads nor the order in which the sentences are processed change the result.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rprs.document import Neighbours
from rprs.forks import PerProcess
from rprs.progress import Advance, divided, no_op
from rprs.scoring.coarse import lists_for
from rprs.scoring.lists import POOL_ROWS, NearestLists, Wide
from rprs.scoring.threads import cores, one_blas_thread
from rprs.scoring.vectors import precision_of
from rprs.scoring.widening import Vectors, copy_widened, widen

__all__ = [
    "Ties",
    "blocks",
    "merge",
    "neighbours",
    "sentences_of_keys",
    "tie_keys",
    "tie_priority",
]

Ints = NDArray[np.int64]
Ties = Literal["first", "id", "worst"]

LEAST_ROWS = 256  # that a thread takes at a time
QUERY_BLOCK = 2**14  # query sentences compared with the pool at a time: their wide vectors take 25 MB


def neighbours(
    query: Vectors,
    pool: Sequence[Vectors],
    n: int,
    *,
    priority: Ints | None = None,
    threads: int | None = None,
    block: int = POOL_ROWS,
    advance: Advance = no_op,
) -> Neighbours:
    """The n nearest sentences of the pool for each of m query sentences (m, dimension); all where the pool has fewer.

    `pool` holds one array of vectors per candidate document, in first-stage order: among equally similar sentences, the
    one of the better ranked document comes first, then the earlier one. With a `priority`, the smallest comes first
    instead (see `tie_priority`). `advance` counts processed pool rows.
    """
    offsets = np.concatenate([[0], np.cumsum([len(rows) for rows in pool], dtype=np.int64)]).astype(np.int64)
    size = int(offsets[-1])
    width = min(n, size)
    if width == 0 or len(query) == 0:
        empty = np.empty((len(query), width))
        return Neighbours(empty.astype(precision_of(query).wide), empty.astype(np.int64), offsets)
    workers = max(1, min(threads or cores(), -(-size // block)))
    starts = range(0, len(query), QUERY_BLOCK)
    advance_part = divided(advance, len(starts))

    def work(wide: Wide, shares: deque[tuple[int, int]]) -> NearestLists:
        lists = kind(wide, width, block)
        for first, rows in blocks(pool, offsets, _taken(shares), block):
            lists.update(rows, tie_keys(np.arange(first, first + len(rows)), offsets, priority))
            advance_part(len(rows))
        return lists

    nearest = Neighbours(
        np.empty((len(query), width), dtype=precision_of(query).wide),
        np.empty((len(query), width), dtype=np.int64),
        offsets,
    )
    with one_blas_thread():
        for top in starts:  # a single one, unless the query has very many sentences
            wide, shares = widen(query[top : top + QUERY_BLOCK]), deque(_shares(size, workers, block))
            kind = lists_for(wide, size)
            others = [_threads().submit(work, wide, shares) for _ in range(workers - 1)]
            try:
                parts = [work(wide, shares), *(other.result() for other in others)]
            finally:
                shares.clear()  # after an error, the other threads stop, too
            similarity, keys = merge([part.similarity for part in parts], [part.keys for part in parts], width)
            nearest.similarity[top : top + QUERY_BLOCK] = similarity
            nearest.sentence[top : top + QUERY_BLOCK] = sentences_of_keys(keys, offsets)
    return nearest


def _shares(size: int, workers: int, block: int) -> Iterator[tuple[int, int]]:
    """Where the shares of a pool start and stop that threads take in turn; the last ones are small.

    So threads end at nearly the same time, also if one of them begins later or is interrupted.
    """
    start = 0
    while start < size:
        share = min(block, max(LEAST_ROWS, (size - start) // (2 * workers))) if workers > 1 else size
        yield start, min(start + share, size)
        start += share


def _taken(shares: deque[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The shares that no other thread has taken, one after the other."""
    while True:
        try:
            yield shares.popleft()
        except IndexError:
            return


# Shared by all calls of a process: starting threads takes a noticeable part of a short search.
_threads = PerProcess(lambda: ThreadPoolExecutor(cores(), "neighbours"))


# ---------------------------------------------------------------------------- equally similar sentences


def tie_priority(ids: Sequence[str], ties: Ties) -> Ints | None:
    """(k,): which of k candidates comes first among equally similar sentences, the smallest first; None: as ranked.

    `ids` is in first-stage order. "first" prefers the candidate that the first stage ranked higher, "id" the smaller
    id, and "worst" the candidate that it ranked lower: the reverse of "first".
    """
    if ties == "first":
        return None
    if ties == "worst":
        return -np.arange(len(ids), dtype=np.int64)
    priority = np.empty(len(ids), dtype=np.int64)
    priority[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    return priority


def tie_keys(sentence: Ints, offsets: Ints, priority: Ints | None) -> Ints:
    """A key for each sentence of a pool, by its number: of two equally similar ones, the smaller key comes first."""
    if priority is None:
        return sentence
    document = np.searchsorted(offsets, sentence, side="right") - 1
    return np.asarray(priority[document] * (offsets[-1] + 1) + sentence, dtype=np.int64)


def sentences_of_keys(keys: Ints, offsets: Ints) -> Ints:
    """The numbers of the sentences that have these keys."""
    return np.asarray(keys % (offsets[-1] + 1), dtype=np.int64)


def merge(similarities: Sequence[Wide], keys: Sequence[Ints], n: int) -> tuple[Wide, Ints]:
    """Merge partial lists (m, n') over disjoint parts of a pool, with the keys of sentences, into lists (m, n)."""
    if len(similarities) == 1:
        return similarities[0][:, :n], keys[0][:, :n]
    similarity, key = np.hstack(similarities), np.hstack(keys)
    order = np.lexsort((key, -similarity), axis=1)[:, :n]
    return np.take_along_axis(similarity, order, 1), np.take_along_axis(key, order, 1)


def blocks(
    pool: Sequence[Vectors], offsets: Ints, shares: Iterable[tuple[int, int]], block: int
) -> Iterator[tuple[int, Wide]]:
    """The pool's rows in each share (start, stop), widened, at most `block` at a time, with the number of the first."""
    buffer = np.empty((min(block, int(offsets[-1])), pool[0].shape[1]), dtype=precision_of(pool[0]).wide)
    size, bounds = len(buffer), offsets.tolist()  # Python's integers: NumPy's take a noticeable part of the time
    for start, stop in shares:
        first, filled = start, 0
        document = bisect_right(bounds, start) - 1
        position = start
        while position < stop:
            row = position - bounds[document]
            count = min(bounds[document + 1] - position, size - filled, stop - position)
            if count:
                copy_widened(pool[document][row : row + count], buffer[filled : filled + count])
                position, filled = position + count, filled + count
            if position == bounds[document + 1]:
                document += 1
            if filled == size or position == stop:
                yield first, buffer[:filled]
                first, filled = position, 0
