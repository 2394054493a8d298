"""Lists that are compared in 8 bits first equal those of all similarities, to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rprs.document import Sentences
from rprs.forks import PerProcess
from rprs.scoring import coarse, whole
from rprs.scoring import neighbours as kernel
from rprs.scoring.coarse import CoarseLists, lists_for
from rprs.scoring.lists import NearestLists
from rprs.scoring.neighbours import neighbours
from rprs.scoring.vectors import to_grid
from rprs.scoring.whole import whole_neighbours
from rprs.scoring.widening import widen
from tests.support.products import InNumPy, in_bytes
from tests.support.vectors import integers

Rows = NDArray[np.floating[Any]]

__all__ = ["in_bytes"]  # a fixture


class Saturating(InNumPy):
    """Sums of two products stop at 16 bits, as on older processors."""

    def multiply(self, codes: Any, signed: Any) -> Any:
        exact = codes.astype(np.int32)[:, :, None] * signed.astype(np.int32)[None]
        pairs = exact[:, 0::2] + exact[:, 1::2]
        return np.clip(pairs, -(2**15), 2**15 - 1).sum(axis=1) - coarse.ZERO * signed.astype(np.int32).sum(axis=0)


def both(compute: Callable[[], Any]) -> tuple[Any, Any]:
    """What a function returns with one kind of lists and with the other."""
    results = []
    for kind in (NearestLists, CoarseLists):
        with pytest.MonkeyPatch.context() as patch:
            for module in (kernel, whole):
                patch.setattr(module, "lists_for", lambda _query, _pool, kind=kind: kind)
            results.append(compute())
    return results[0], results[1]


def assert_equal(pair: tuple[Any, Any]) -> None:
    assert np.array_equal(pair[0].similarity, pair[1].similarity)
    assert np.array_equal(pair[0].sentence, pair[1].sentence)


def normal(rows: int, seed: int, dimension: int = 384) -> Rows:
    return to_grid(np.random.default_rng(seed).standard_normal((rows, dimension)))


@pytest.mark.usefixtures("in_bytes")
def test_equals_integer_arithmetic() -> None:
    query, pool = normal(70, 0), normal(3000, 1)
    pool[1500] = pool[3] = query[0]  # duplicates tie
    for row in range(100, 120):  # nearly as similar
        pool[row] = query[1]
        pool[row, row] += 2.0**-11 * (row % 3)
    pool[200] = 0
    exact = integers(query) @ integers(pool).T
    best = np.argsort(-exact, axis=1, kind="stable")[:, :7]
    first, second = both(lambda: neighbours(query, np.split(pool, [1000, 1000, 1700]), 7))
    assert_equal((first, second))
    assert np.array_equal(second.sentence, best)
    assert np.array_equal(second.similarity * 2.0**22, np.take_along_axis(exact, best, 1))


@pytest.mark.usefixtures("in_bytes")
@settings(max_examples=80, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 90), min_size=1, max_size=6),
    queries=st.integers(1, 150),
    dimension=st.integers(1, 20),
    values=st.integers(1, 2000),
    n=st.integers(1, 12),
    block=st.integers(1, 200),
    threads=st.integers(1, 3),
)
def test_blocks_threads_and_ties_change_nothing(
    sizes: list[int], queries: int, dimension: int, values: int, n: int, block: int, threads: int
) -> None:
    """Few distinct values give many ties, many give vectors of one large entry; some vectors are zero."""
    rng = np.random.default_rng(sum(sizes))
    pool = np.split(to_grid(rng.integers(-values, values + 1, (sum(sizes), dimension))), np.cumsum(sizes)[:-1])
    query = to_grid(rng.integers(-values, values + 1, (queries, dimension)))
    priority = rng.permutation(len(pool)).astype(np.int64)
    for order in (None, priority):
        assert_equal(both(partial(neighbours, query, pool, n, priority=order, threads=threads, block=block)))


@pytest.mark.usefixtures("in_bytes")
def test_more_query_sentences_than_a_block_has() -> None:
    query, pool = normal(2_500, 2, 32), normal(700, 3, 32)
    assert_equal(both(lambda: neighbours(query, [pool], 5)))


@pytest.mark.usefixtures("in_bytes")
def test_a_whole_collection_in_another_order() -> None:
    query, sizes = normal(40, 4), np.array([30, 0, 500, 7])
    pool = np.split(normal(int(sizes.sum()), 5), np.cumsum(sizes)[:-1])
    places = np.array([3, 0, 2])
    spans = [np.zeros((len(rows), 2), dtype=np.int64) for rows in pool]
    documents = [Sentences(spans[place], np.zeros(len(pool[place]), dtype=np.int32), pool[place]) for place in places]
    assert_equal(both(lambda: whole_neighbours(query, documents, places, sizes, 6)))


@given(st.integers(0, 2**32 - 1), st.integers(1, 400), st.sampled_from([0, 3, 6]))
def test_no_similarity_exceeds_its_bound(seed: int, dimension: int, power: int) -> None:
    """Also where a few entries are much larger than the others, which rounding then takes away."""
    rng = np.random.default_rng(seed)
    rows, query = (widen(to_grid(rng.standard_normal((20, dimension)) ** (1 + power))) for _ in range(2))
    rounded, asked = coarse.Rounded(20, dimension), coarse.Rounded(20, dimension)
    rounded.fill(rows)
    asked.fill(query)
    products = (rounded.codes.astype(np.int64) - coarse.ZERO) @ (asked.codes.astype(np.int64) - coarse.ZERO).T
    most = products * (rounded.steps[:, None].astype(np.float64) * asked.steps)
    most += asked.errors * rounded.lengths[:, None] + (asked.lengths + asked.errors) * rounded.errors[:, None]
    exact = rows.astype(np.float64) @ query.astype(np.float64).T
    assert (exact <= most).all()


# ---------------------------------------------------------------------------- which lists are used


def machine(patch: pytest.MonkeyPatch, kind: type[coarse._Machine], *, fast: bool = True) -> None:
    patch.setattr(coarse, "_has_products_of_bytes", lambda: fast)
    patch.setattr(coarse, "_machine", PerProcess(kind))


def test_the_runtime_is_loaded_when_enough_was_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    class Counted(InNumPy):
        def __init__(self) -> None:
            super().__init__()
            self._session = None

    machine(monkeypatch, Counted)
    monkeypatch.setattr(coarse, "WORTH_LOADING", 3 * 384 * 40 * 100)
    query = widen(normal(40, 0))
    kinds = [lists_for(query, 100) for _ in range(4)]
    assert kinds == [NearestLists, NearestLists, CoarseLists, CoarseLists]
    assert lists_for(query[: coarse.LEAST_QUERIES - 1], 10**9) is NearestLists
    assert lists_for(query.astype(np.float64), 10**9) is NearestLists  # vectors that are stored as float32


def test_other_processors_compare_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, coarse._Machine, fast=False)
    assert lists_for(widen(normal(40, 0)), 10**9) is NearestLists


def test_products_that_saturate_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    class Loaded(Saturating):
        def __init__(self) -> None:
            super().__init__()
            self._session = None

    assert InNumPy()._is_right()
    assert not Saturating()._is_right()
    machine(monkeypatch, Loaded)
    assert lists_for(widen(normal(40, 0)), 10**9) is NearestLists
