"""The exact top-n kernel compared with a plain matrix product of the same shape, NumPy with argpartition, and faiss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from time import process_time
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.table import Goal, Row, seconds
from benchmarks.timing import Options, compared, interleaved, peer_module
from rprs.scoring import neighbours as kernel
from rprs.scoring.coarse import WORTH_LOADING, lists_for
from rprs.scoring.lists import NearestLists
from rprs.scoring.neighbours import neighbours
from rprs.scoring.vectors import to_grid
from rprs.scoring.widening import widen

__all__ = ["run"]

N = 5
DIMENSION = 384
GOAL = Goal(1.15)
BURST = 4
SGEMM, PARTITION, FAISS = "NumPy matmul alone", "NumPy matmul + argpartition", "faiss.knn"
FLOAT32 = "ours, in float32 alone"  # as on processors without instructions for products of 8 bits

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Shape:
    """The numbers of query sentences, of candidates, and of sentences per candidate."""

    queries: int
    documents: int
    sentences: int
    rounds: int

    def __str__(self) -> str:
        return f"{self.queries:,} × {self.documents * self.sentences:,}"


SHAPES = (Shape(200, 1, 10_000, 16), Shape(200, 100, 300, 12), Shape(2_000, 100, 300, 6), Shape(200, 200, 1_000, 6))


def run(options: Options) -> Iterator[Row]:
    """Our times include widening float16; the peers receive float32."""
    for shape in SHAPES[:2] if options.quick else SHAPES:
        yield from _rows(shape, options.rounds(shape.rounds))
        yield from _one_core(shape, options.rounds(shape.rounds))


def _rows(shape: Shape, rounds: int) -> Iterator[Row]:
    tasks = _tasks(shape)
    times = interleaved(tasks, rounds, burst=BURST)
    what = f"top {N}, {shape} sentences, time"
    yield compared("kernel", what, times, SGEMM, goal=GOAL)
    yield compared("kernel", f"{what}, in float32 alone", times, SGEMM, ours=FLOAT32, goal=GOAL)
    yield compared("kernel", what, times, PARTITION)
    if FAISS in tasks:
        yield compared("kernel", what, times, FAISS)
    else:
        yield Row("kernel", what, seconds(float(times["ours"].min())), FAISS, missing="pip install faiss-cpu")


def _one_core(shape: Shape, rounds: int) -> Iterator[Row]:
    """Processor time of one thread, which hardly depends on other processes on the machine."""
    tasks = _tasks(shape, threads=1)
    with threadpool_limits(1):
        times = interleaved({name: tasks[name] for name in ("ours", FLOAT32, SGEMM)}, rounds, process_time)
    what = f"top {N}, {shape} sentences, processor time of one thread"
    yield compared("kernel", what, times, SGEMM, goal=GOAL)
    yield compared("kernel", f"{what}, in float32 alone", times, SGEMM, ours=FLOAT32, goal=GOAL)


def _tasks(shape: Shape, threads: int | None = None) -> dict[str, Callable[[], object]]:
    rng = np.random.default_rng(0)
    query, rows = (
        to_grid(rng.standard_normal((count, DIMENSION), dtype=np.float32))
        for count in (shape.queries, shape.documents * shape.sentences)
    )
    pool = np.split(rows, shape.documents)
    wide_query, wide_rows = widen(query), widen(rows)
    products = np.empty((len(query), len(rows)), dtype=np.float32)

    def partition() -> Floats:
        np.matmul(wide_query, wide_rows.T, out=products)
        best = np.argpartition(products, len(rows) - N, axis=1)[:, -N:]
        similarity = np.take_along_axis(products, best, 1)
        return np.take_along_axis(similarity, np.argsort(-similarity, axis=1), 1)

    def in_float32() -> object:
        with patch.object(kernel, "lists_for", return_value=NearestLists):
            return neighbours(query, pool, N, threads=threads)

    lists_for(wide_query, WORTH_LOADING)  # as in a process that has been searching for a second
    tasks: dict[str, Callable[[], object]] = {
        "ours": lambda: neighbours(query, pool, N, threads=threads),
        FLOAT32: in_float32,
        SGEMM: lambda: np.matmul(wide_query, wide_rows.T, out=products),
        PARTITION: partition,
    }
    expected = neighbours(query, pool, N).similarity
    _check(PARTITION, expected, partition())
    faiss = peer_module("faiss")
    if faiss is not None:
        knn = partial(faiss.knn, wide_query, wide_rows, N, metric=faiss.METRIC_INNER_PRODUCT)
        tasks[FAISS] = knn
        _check(FAISS, expected, knn()[0])
    return tasks


def _check(peer: str, expected: Floats, found: Floats) -> None:
    if not np.allclose(expected, found, atol=1e-5):
        raise RuntimeError(f"{peer} finds different neighbours from ours: the comparison would be meaningless")
