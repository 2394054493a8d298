"""The top-n kernel: exact, whatever the blocks and threads, in flat memory."""

from __future__ import annotations

import subprocess
import sys
from threading import current_thread, main_thread
from time import sleep
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rprs.scoring.neighbours import merge, neighbours
from rprs.scoring.vectors import PRECISIONS, VECTOR_TYPES, VectorType, precision_of, to_grid
from rprs.scoring.widening import widen
from tests.support.vectors import integers


def unit(rows: int, dimension: int = 48, seed: int = 0, vectors: VectorType = "float16") -> NDArray[np.floating[Any]]:
    return to_grid(np.random.default_rng(seed).standard_normal((rows, dimension)), vectors)


def cut(vectors: NDArray[np.floating[Any]], sizes: list[int]) -> list[NDArray[np.floating[Any]]]:
    return np.split(vectors, np.cumsum(sizes)[:-1])


@pytest.mark.parametrize("vectors", VECTOR_TYPES)
def test_equals_integer_arithmetic(vectors: VectorType) -> None:
    """Integer arithmetic has no rounding: the similarities must equal it bit for bit."""
    query, pool = unit(70, 384, vectors=vectors), unit(3000, 384, 1, vectors)
    pool[1500] = pool[3] = query[0]  # duplicates tie
    exact = integers(query) @ integers(pool).T
    best = np.argsort(-exact, axis=1, kind="stable")[:, :7]
    nearest = neighbours(query, cut(pool, [1000, 500, 1500]), 7)
    assert np.array_equal(nearest.sentence, best)
    in_units = nearest.similarity.astype(np.float64) * precision_of(query).per_unit
    assert np.array_equal(in_units, np.take_along_axis(exact, best, 1))
    assert nearest.sentence[0, :2].tolist() == [3, 1500]


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 90), min_size=1, max_size=8),
    queries=st.integers(1, 300),
    n=st.integers(1, 12),
    block=st.integers(1, 200),
    threads=st.integers(1, 5),
    vectors=st.sampled_from(VECTOR_TYPES),
)
def test_blocks_and_threads_change_nothing(
    sizes: list[int], queries: int, n: int, block: int, threads: int, vectors: VectorType
) -> None:
    rng = np.random.default_rng(sum(sizes))
    coarse = rng.integers(-1, 2, (sum(sizes), 8))  # few distinct vectors: many ties
    pool = cut(to_grid(coarse, vectors), sizes)
    query = to_grid(rng.integers(-1, 2, (queries, 8)), vectors)
    one = neighbours(query, pool, n, threads=1, block=10_000)
    other = neighbours(query, pool, n, threads=threads, block=block)
    assert np.array_equal(one.sentence, other.sentence)
    assert np.array_equal(one.similarity, other.similarity)


@pytest.mark.parametrize("vectors", VECTOR_TYPES)
def test_partial_lists_merge_exactly(vectors: VectorType) -> None:
    query, pool = unit(20, vectors=vectors), unit(400, seed=2, vectors=vectors)
    whole = neighbours(query, [pool], 10)
    left, right = neighbours(query, [pool[:130]], 10), neighbours(query, [pool[130:]], 10)
    similarity, sentence = merge([left.similarity, right.similarity], [left.sentence, right.sentence + 130], 10)
    assert np.array_equal(sentence, whole.sentence)
    assert np.array_equal(similarity, whole.similarity)


def test_all_of_a_small_pool() -> None:
    nearest = neighbours(unit(3), [unit(2, seed=1), unit(0), unit(1, seed=2)], 10)
    assert nearest.sentence.shape == (3, 3)
    assert sorted(nearest.sentence[0].tolist()) == [0, 1, 2]
    assert set(nearest.document.ravel().tolist()) == {0, 2}


@pytest.mark.parametrize("pool", [[], [unit(0)]])
def test_an_empty_pool(pool: list[Any]) -> None:
    assert neighbours(unit(3), pool, 5).sentence.shape == (3, 0)


def test_progress_counts_every_row_once() -> None:
    advances: list[int] = []
    neighbours(unit(3), cut(unit(1000), [400, 600]), 2, block=64, advance=advances.append)
    assert sum(advances) == 1000


def test_all_threads_stop_after_an_error() -> None:
    query, pool = unit(200), [unit(200)] * 400
    rows: list[int] = []

    def advance(count: int) -> None:
        rows.append(count)
        if current_thread() is main_thread():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        neighbours(query, pool, 5, threads=3, block=64, advance=advance)
    before = -1
    while before != len(rows):  # until the other threads have ended
        before = len(rows)
        sleep(0.2)
    assert sum(rows) < 200 * 400 / 2
    assert len(neighbours(query, pool, 5).sentence) == 200


def test_widening_is_exact_for_every_finite_half() -> None:
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    finite = every[np.isfinite(every)].reshape(2, -1)
    assert np.array_equal(widen(finite), finite.astype(np.float32))


class TestGrid:
    @pytest.mark.parametrize(("vectors", "error"), [("float16", 2e-3), ("float32", 4e-6)])
    def test_moves_a_cosine_by_little(self, vectors: VectorType, error: float) -> None:
        rng = np.random.default_rng(5)
        raw = rng.standard_normal((400, 384))
        exact = raw / np.linalg.norm(raw, axis=1, keepdims=True)
        rounded = to_grid(raw, vectors).astype(np.float64)
        assert np.abs(rounded @ rounded.T - exact @ exact.T).max() < error
        assert np.abs(np.linalg.norm(rounded, axis=1) - 1).max() < error

    @pytest.mark.parametrize("vectors", VECTOR_TYPES)
    def test_zero_stays_zero(self, vectors: VectorType) -> None:
        assert not to_grid(np.zeros((2, 5)), vectors).any()

    @given(st.integers(1, 1024), st.integers(0, 2**32 - 1), st.sampled_from(VECTOR_TYPES))
    def test_the_type_holds_the_grid(self, dimension: int, seed: int, vectors: VectorType) -> None:
        rows, grid = np.random.default_rng(seed).standard_normal((2, dimension)), PRECISIONS[vectors].grid
        rounded = np.rint(rows / np.linalg.norm(rows, axis=1, keepdims=True) / grid)
        assert np.abs(integers(to_grid(rows, vectors)) - rounded).max() <= 1  # where the norms differ in the last bit


FLAT = """
import resource, sys, numpy as np
from rprs.scoring.neighbours import neighbours
from rprs.scoring.vectors import to_grid
documents, rows, queries = map(int, sys.argv[1:])
base = to_grid(np.random.default_rng(0).standard_normal((rows, 64)))
query = base[:queries].copy()
neighbours(query[:10], [base], 5)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
neighbours(query, [base] * documents, 5)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def grown(documents: int, rows: int, queries: int) -> int:
    """Kilobytes by which a search raises the peak, in a process of its own."""
    arguments = map(str, (documents, rows, queries))
    return int(subprocess.run([sys.executable, "-c", FLAT, *arguments], check=True, capture_output=True).stdout)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_pool() -> None:
    """100 candidates of 8,000 sentences would take 205 MB as float32, and their similarities 1.6 GB."""
    assert grown(100, 8000, 500) < grown(10, 8000, 500) + 8_000
    assert grown(100, 8000, 500) < 60_000


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_query_of_400000_words() -> None:
    """16,000 sentences of 25 words against 100 candidates of the same length: 1.6 million sentences."""
    assert grown(100, 16_000, 16_000) < 60_000
