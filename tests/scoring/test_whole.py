"""R_n over a whole collection: bit-identical to the same pool in memory, whatever the order of the documents."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rprs.document import Neighbours, Sentences
from rprs.scoring.aligned import Plan
from rprs.scoring.neighbours import Ties, neighbours, tie_priority
from rprs.scoring.vectors import VECTOR_TYPES, VectorType, to_grid
from rprs.scoring.whole import WHOLE_PLAN, restrict, whole_neighbours
from tests.support.vectors import integers


def sentences(vectors: NDArray[np.floating[Any]]) -> Sentences:
    starts = np.arange(len(vectors), dtype=np.int64)
    return Sentences(np.stack([starts, starts + 1], axis=1), np.zeros(len(vectors), dtype=np.int32), vectors)


def scanned(
    query: NDArray[np.floating[Any]],
    pool: list[NDArray[np.floating[Any]]],
    order: list[int],
    n: int,
    priority: Any = None,
    plan: Plan = WHOLE_PLAN,
) -> Neighbours:
    """The neighbours of a pool that is read in another order, without its empty documents."""
    places = np.array([place for place in order if len(pool[place])], dtype=np.int64)
    lengths = np.array([len(rows) for rows in pool], dtype=np.int64)
    documents = [sentences(pool[place]) for place in places]
    return whole_neighbours(query, documents, places, lengths, n, priority=priority, plan=plan)


@settings(max_examples=150, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 60), min_size=1, max_size=9),
    queries=st.integers(1, 40),
    n=st.integers(1, 12),
    plan=st.builds(Plan, threads=st.integers(1, 4), block=st.integers(1, 90), chunk=st.integers(1, 200)),
    ties=st.sampled_from(get_args(Ties)),
    random=st.randoms(use_true_random=False),
    vectors=st.sampled_from(VECTOR_TYPES),
)
def test_equals_the_pool_in_memory(
    sizes: list[int], queries: int, n: int, plan: Plan, ties: Ties, random: Any, vectors: VectorType
) -> None:
    """With few distinct vectors, most lists end in a tie."""
    rng = np.random.default_rng(random.randrange(2**32))
    pool = [to_grid(rng.integers(-1, 2, (size, 4)), vectors) for size in sizes]
    query = to_grid(rng.integers(-1, 2, (queries, 4)), vectors)
    order = list(range(len(pool)))
    random.shuffle(order)
    priority = tie_priority([f"{random.randrange(100)}-{place}" for place in range(len(pool))], ties)
    expected = neighbours(query, pool, n, priority=priority)
    actual = scanned(query, pool, order, n, priority, plan)
    assert np.array_equal(actual.sentence, expected.sentence)
    assert np.array_equal(actual.similarity, expected.similarity)
    assert np.array_equal(actual.offsets, expected.offsets)


def test_by_hand() -> None:
    """Three documents, read backwards; the query sentence occurs in the second and in the third."""
    a, b = (np.array([row], dtype=np.float64).astype(np.float16) for row in ((1, 0), (0, 1)))
    pool = [b, np.vstack([b, a]), a]  # sentences 0 | 1, 2 | 3
    nearest = scanned(a, pool, [2, 1, 0], 3)
    assert nearest.sentence.tolist() == [[2, 3, 0]]
    assert nearest.similarity.tolist() == [[1, 1, 0]]
    assert scanned(a, pool, [0, 1, 2], 3, priority=np.array([2, 1, 0])).sentence.tolist() == [[3, 2, 1]]
    some, places = restrict(nearest)
    assert places.tolist() == [0, 1, 2]
    few, places = restrict(scanned(a, pool, [2, 1, 0], 2))
    assert (few.sentence.tolist(), few.offsets.tolist(), places.tolist()) == ([[1, 2]], [0, 2, 3], [1, 2])
    assert some.offsets.tolist() == [0, 1, 3, 4]


@pytest.mark.parametrize(("queries", "sizes", "n"), [(0, [3], 2), (2, [], 2), (2, [0, 0], 2), (2, [1, 0], 5)])
def test_little_to_compare(queries: int, sizes: list[int], n: int) -> None:
    rng = np.random.default_rng(0)
    pool = [to_grid(rng.standard_normal((size, 4))) for size in sizes]
    query = to_grid(rng.standard_normal((queries, 4)))
    nearest = scanned(query, pool, list(range(len(pool))), n)
    assert nearest.sentence.shape == (queries, min(n, sum(sizes)))
    few, places = restrict(nearest)
    assert len(few.offsets) == len(places) + 1 == (2 if sum(sizes) and queries else 1)


def test_progress_counts_every_sentence_once() -> None:
    rng, advances = np.random.default_rng(0), list[int]()
    pool = [to_grid(rng.standard_normal((size, 8))) for size in (300, 200, 700)]
    lengths = np.array([300, 200, 700])
    query = pool[0][:3]
    documents = [sentences(rows) for rows in pool]
    whole_neighbours(query, documents, np.arange(3), lengths, 2, plan=Plan(2, chunk=100), advance=advances.append)
    assert sum(advances) == 1200


def test_memory_does_not_grow_with_the_documents() -> None:
    """They come from a generator: whatever is kept of them would show."""
    rng = np.random.default_rng(0)
    query, stock = (to_grid(rng.standard_normal((rows, 64))) for rows in (300, 200))

    def peak(count: int) -> int:
        fresh: Iterator[Sentences] = (sentences(stock.copy()) for _ in range(count))
        lengths = np.full(count, len(stock), dtype=np.int64)
        tracemalloc.start()
        try:
            whole_neighbours(query, fresh, np.arange(count), lengths, 5, plan=Plan(2, chunk=WHOLE_PLAN.chunk))
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(10)
    assert peak(400) < peak(100) + len(stock) * 64 * 2 * 10  # 10 of the 300 more
    assert peak(400) < 12_000_000  # 80,000 sentences are 20 MB as float32, and their products 96 MB


@pytest.mark.parametrize("vectors", VECTOR_TYPES)
def test_equals_integers(vectors: VectorType) -> None:
    """Integer arithmetic has no rounding."""
    rng = np.random.default_rng(3)
    query, rows = (to_grid(rng.standard_normal((count, 384)), vectors) for count in (40, 3000))
    exact = integers(query) @ integers(rows).T
    best = np.argsort(-exact, axis=1, kind="stable")[:, :7]
    nearest = scanned(query, np.split(rows, [1000, 1500]), [1, 2, 0], 7)
    assert np.array_equal(nearest.sentence, best)
