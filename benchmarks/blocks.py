"""The cost of a posting in segments of different sizes: scores are added up in blocks that stay in the cache.

Without blocks, a posting of a large segment costs several times as much as one of a small segment. Postings are drawn
as arrays, as if documents had 20 words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import process_time

import numpy as np
from numpy.typing import NDArray

from benchmarks.drawn import SHARES, draw, first_distinct
from benchmarks.table import Goal, Row
from benchmarks.timing import Options, interleaved
from rprs.scoring import bm25, cosine

__all__ = ["rows"]

SIZES = (64_000, 1_000_000, 4_000_000)  # documents of a segment
QUICK = (64_000, 500_000)
WORDS = 20  # of a document
TERMS = 1_000  # of the query
ROUNDS = 8
GOAL = Goal(2.0)


@dataclass(frozen=True, slots=True)
class Segment:
    """The postings of a query's terms in a segment."""

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    documents: NDArray[np.int32]
    counts: NDArray[np.uint16]
    size: int  # documents of the segment

    @classmethod
    def of_size(cls, size: int) -> Segment:
        """The same each time; gaps between documents are drawn, which takes as long as there are postings."""
        random = np.random.default_rng(0)
        shares = -np.expm1(WORDS * np.log1p(-SHARES[first_distinct(draw(random, 20 * TERMS), TERMS)]))
        gaps = (random.geometric(share, int(1.1 * size * share) + 50) for share in shares.tolist())
        places = [(np.cumsum(each) - 1).astype(np.int32) for each in gaps]
        terms = [each[: np.searchsorted(each, size)] for each in places]
        stops = np.cumsum([len(term) for term in terms])
        counts = random.geometric(0.9, stops[-1]).astype(np.uint16)
        return cls(stops - [len(term) for term in terms], stops, np.concatenate(terms), counts, size)

    @property
    def terms(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the postings of each term start and stop."""
        return self.starts, self.stops

    @property
    def postings(self) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
        """The documents of all postings, and their counts."""
        return self.documents, self.counts


def rows(options: Options) -> Iterator[Row]:
    """Nanoseconds of a posting in each segment, compared with the smallest one."""
    segments = [Segment.of_size(size) for size in (QUICK if options.quick else SIZES)]
    for name, task in (("BM25", _bm25), ("cosine", _cosine)):
        tasks = {f"{each.size:,} documents": task(each) for each in segments}
        times = interleaved(tasks, options.rounds(ROUNDS), process_time)
        peer, *_ = tasks
        costs = [1e9 * float(times[each].min()) / len(own.documents) for each, own in zip(tasks, segments, strict=True)]
        for size, cost in zip(tasks, costs, strict=True):
            what = f"{name}, processor time of a posting: a segment of {size}, {WORDS} words each"
            yield Row("bm25", what, f"{cost:.2f} ns", peer, f"{costs[0]:.2f} ns", cost / costs[0], goal=GOAL)


def _bm25(drawn: Segment) -> Callable[[], None]:
    random = np.random.default_rng(1)
    weights, saturated = random.random(len(drawn.starts)), random.random(drawn.size) + 0.5
    scores = np.zeros(drawn.size)
    return lambda: bm25.accumulate(*drawn.terms, weights, *drawn.postings, saturated, scores)


def _cosine(drawn: Segment) -> Callable[[], None]:
    weights, scores = np.random.default_rng(1).random(len(drawn.starts)), np.zeros(drawn.size)
    return lambda: cosine.accumulate(*drawn.terms, weights, *drawn.postings, cosine.LOGARITHMS, scores)
