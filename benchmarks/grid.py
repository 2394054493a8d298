"""All 1,760 points of the paper's grid compared with a single point, both from the same neighbours.

The neighbours are generated with the skew of real ones: some sentences of the pool are near to many query sentences,
some documents to much of the query, and each query sentence prefers some documents. Their histograms have as many
entries as those of legal opinions and papers of this length.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import process_time

import numpy as np

from benchmarks.table import Goal, Row
from benchmarks.timing import Options, compared, interleaved
from rprs.document import Neighbours
from rprs.scoring import grid
from rprs.scoring.rprs import order, rprs

__all__ = ["run"]

N = tuple(range(1, 11))
K1, B = np.repeat(np.arange(16) * 2 / 10, 11), np.tile(np.arange(11) / 10, 16)
DOCUMENTS = 100
SENTENCES = 300  # median per document
SIZES = (200, 500, 2_000)  # sentences of the query
ROUNDS = 24
BURST = 20
ONE = "one point, scoring.rprs"
RANKED = "one point, with its order"
GOAL = Goal(3.0)


def run(options: Options) -> Iterator[Row]:
    """Scores have a goal; orders, which measures also need, are listed for their cost. One thread each."""
    for size in SIZES[:2] if options.quick else SIZES:
        pool = _neighbours(size)
        mean = float(np.diff(pool.offsets).mean())
        _check(pool, mean)

        def scored(pool: Neighbours = pool, mean: float = mean) -> object:
            return grid.scores(pool, N, K1, B, mean)

        def ranked(pool: Neighbours = pool, mean: float = mean) -> object:
            return grid.orders(grid.scores(pool, N, K1, B, mean), pool.offsets)

        def one(pool: Neighbours = pool, mean: float = mean) -> object:
            return rprs(pool, n=5, k1=1.4, b=0.5, avgdl=mean)

        def one_ranked(pool: Neighbours = pool, mean: float = mean) -> object:
            return order(rprs(pool, n=5, k1=1.4, b=0.5, avgdl=mean), pool)

        tasks = {"ours": scored, "ranked": ranked, ONE: one, RANKED: one_ranked}
        times = interleaved(tasks, options.rounds(ROUNDS), process_time, burst=BURST)
        what = f"{len(N) * len(K1):,} points, {size:,} query sentences, {DOCUMENTS} candidates"
        yield compared("grid", f"{what}: scores, processor time", times, ONE, goal=GOAL)
        yield compared("grid", f"{what}: scores and orders, processor time", times, RANKED, ours="ranked")


def _neighbours(size: int) -> Neighbours:
    rng = np.random.default_rng(0)
    lengths = np.maximum(1, rng.lognormal(np.log(SENTENCES), 0.6, DOCUMENTS).astype(np.int64))
    owner = np.repeat(np.arange(DOCUMENTS), lengths)
    popular = rng.normal(0, 0.3, DOCUMENTS)[owner] + rng.normal(0, 1.6, len(owner))
    rows = [
        np.argpartition(popular + rng.normal(0, 1.3, DOCUMENTS)[owner] + rng.gumbel(size=len(owner)), -N[-1])[-N[-1] :]
        for _ in range(size)
    ]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Neighbours(np.zeros((size, N[-1]), dtype=np.float32), np.array(rows, dtype=np.int64), offsets)


def _check(pool: Neighbours, mean: float) -> None:
    everything = grid.scores(pool, N, K1, B, mean)
    orders = grid.orders(everything, pool.offsets)
    for level, point in ((0, 0), (4, 82), (9, 175)):
        one = rprs(pool, n=N[level], k1=K1[point], b=B[point], avgdl=mean)
        same = np.array_equal(everything[level, :, point], one.score)
        if not same or not np.array_equal(orders[level, point], order(one, pool)):
            raise RuntimeError(
                "the grid gives different scores from a single point: the comparison would be meaningless"
            )
