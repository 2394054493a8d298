"""SDR, MaxSim and mean pooling compared with a plain matrix product of the same shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import process_time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.kernel import DIMENSION, SGEMM, Shape
from benchmarks.table import Goal, Row
from benchmarks.timing import Options, compared, interleaved
from rprs.document import Sentences
from rprs.scoring.aligned import DEFAULT_PLAN, Plan
from rprs.scoring.maxsim import maxsim, meanpool
from rprs.scoring.sdr import sdr
from rprs.scoring.vectors import to_grid
from rprs.scoring.widening import widen

__all__ = ["run"]

PARAGRAPH = 4  # sentences
BURST = 4
SHAPES = (Shape(200, 100, 300, 12), Shape(2_000, 100, 300, 6), Shape(200, 2_000, 30, 6))
GOALS = {"sdr": Goal(1.3), "sdr(normalise=zscore)": Goal(2.6), "maxsim(direction=both)": Goal(1.3), "meanpool": None}


def run(options: Options) -> Iterator[Row]:
    """Our times include widening float16; zscore multiplies twice, mean pooling not at all."""
    for shape in SHAPES[:1] if options.quick else SHAPES:
        rounds = options.rounds(shape.rounds)
        times = interleaved(_tasks(shape, DEFAULT_PLAN), rounds, burst=BURST)
        yield from (compared("aligned", f"{name}, {shape} sentences, time", times, SGEMM, ours=name) for name in GOALS)
        with threadpool_limits(1):
            times = interleaved(_tasks(shape, Plan(threads=1)), rounds, process_time)
        for name, goal in GOALS.items():
            what = f"{name}, {shape} sentences, processor time of one thread"
            yield compared("aligned", what, times, SGEMM, ours=name, goal=goal)


def _tasks(shape: Shape, plan: Plan) -> dict[str, Callable[[], object]]:
    rng = np.random.default_rng(0)

    def document(sentences: int) -> Sentences:
        vectors = to_grid(rng.standard_normal((sentences, DIMENSION), dtype=np.float32))
        numbers = np.arange(sentences)
        return Sentences(np.stack([numbers, numbers + 1], axis=1), (numbers // PARAGRAPH).astype(np.int32), vectors)

    query, pool = document(shape.queries), [document(shape.sentences) for _ in range(shape.documents)]
    wide_query, wide_rows = widen(query.vectors), widen(np.concatenate([each.vectors for each in pool]))
    products = np.empty((len(wide_query), len(wide_rows)), dtype=np.float32)
    return {
        SGEMM: lambda: np.matmul(wide_query, wide_rows.T, out=products),
        "sdr": lambda: sdr(query, pool, plan=plan),
        "sdr(normalise=zscore)": lambda: sdr(query, pool, "zscore", plan=plan),
        "maxsim(direction=both)": lambda: maxsim(query.vectors, pool, "both", plan=plan),
        "meanpool": lambda: meanpool(query.vectors, pool, plan=plan),
    }
