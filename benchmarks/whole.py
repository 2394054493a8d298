"""R_n over a whole collection compared with the bare matrix products over the same blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from time import process_time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.kernel import DIMENSION, N, Shape
from benchmarks.table import Goal, Row
from benchmarks.timing import Options, compared, interleaved
from rprs.document import Sentences
from rprs.scoring.lists import POOL_ROWS, QUERY_ROWS
from rprs.scoring.vectors import to_grid
from rprs.scoring.whole import WHOLE_PLAN, whole_neighbours
from rprs.scoring.widening import widen

__all__ = ["run"]

PRODUCTS = f"NumPy matmul alone, in blocks of {POOL_ROWS} sentences"
SHAPES = (Shape(200, 2_000, 30, 8), Shape(200, 1_000, 200, 4), Shape(2_000, 2_000, 30, 4))
GOAL = Goal(1.3)


def run(options: Options) -> Iterator[Row]:
    """Our times include widening float16 and shuffled documents, as after many updates of an index."""
    for shape in SHAPES[:1] if options.quick else SHAPES:
        with threadpool_limits(1):
            times = interleaved(_tasks(shape), options.rounds(shape.rounds), process_time)
        what = f"top {N} of a collection, {shape} sentences, processor time of one thread"
        yield compared("whole", what, times, PRODUCTS, goal=GOAL)


def _tasks(shape: Shape) -> dict[str, Callable[[], object]]:
    rng = np.random.default_rng(0)

    def document(sentences: int) -> Sentences:
        numbers = np.arange(sentences)
        vectors = to_grid(rng.standard_normal((sentences, DIMENSION), dtype=np.float32))
        return Sentences(np.stack([numbers, numbers + 1], axis=1), np.zeros(sentences, dtype=np.int32), vectors)

    query, documents = document(shape.queries), [document(shape.sentences) for _ in range(shape.documents)]
    places = rng.permutation(shape.documents)
    lengths = np.full(shape.documents, shape.sentences, dtype=np.int64)
    wide_query, wide_rows = widen(query.vectors), widen(np.concatenate([each.vectors for each in documents]))
    products = np.empty((min(QUERY_ROWS, len(wide_query)), POOL_ROWS), dtype=np.float32)

    def multiply() -> None:
        for start in range(0, len(wide_rows), POOL_ROWS):
            rows = wide_rows[start : start + POOL_ROWS]
            for top in range(0, len(wide_query), QUERY_ROWS):
                part = wide_query[top : top + QUERY_ROWS]
                np.matmul(part, rows.T, out=products[: len(part), : len(rows)])

    plan = replace(WHOLE_PLAN, threads=1)
    return {
        "ours": lambda: whole_neighbours(query.vectors, documents, places, lengths, N, plan=plan),
        PRODUCTS: multiply,
    }
