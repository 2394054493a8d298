"""The best partners of sentences by vectors, against a literal search for the first maximum."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rprs.scoring import coarse, partners
from rprs.scoring.partners import NONE, Best, Stored, best_partners
from rprs.scoring.vectors import to_grid
from rprs.scoring.widening import widen
from tests.support.products import in_bytes

__all__ = ["in_bytes"]  # a fixture


def compared(by: Callable[..., None], query: Any, documents: Any, ends: Any, bars: Any, other_bar: float) -> list[Any]:
    """With vectors of other sentences between those of the documents, as they are stored."""
    stored, rows = np.repeat(documents, 2, axis=0), 2 * np.arange(len(documents))
    stored[1::2] = -stored[1::2]
    found = Best.of((len(bars), len(query)), query.dtype), Best.of((len(documents),), query.dtype)
    by(query, Stored(stored.astype(np.float16), rows, ends), bars, other_bar, *found)
    return [array.tolist() for best in found for array in best]


def expected(query: Any, documents: Any, ends: Any, bars: Any, other_bar: float) -> list[Any]:
    """The first maximum of each row and column, if it reaches the bar."""
    similarity = (query.astype(np.float64) @ documents.astype(np.float64).T).tolist()

    def best(values: list[float], bar: float) -> tuple[float, int]:
        return (max(values), values.index(max(values))) if values and max(values) >= bar else (NONE, 0)

    rows = [
        [best(row[first:stop], bar) for row in similarity]
        for bar, (first, stop) in zip(bars, pairwise(ends.tolist()), strict=True)
    ]
    columns = [best(list(column), other_bar) for column in zip(*similarity, strict=True)]
    return [
        *([[pair[place] for pair in each] for each in rows] for place in (0, 1)),
        *([pair[place] for pair in columns] for place in (0, 1)),
    ]


@pytest.mark.usefixtures("in_bytes")
@pytest.mark.parametrize("rows", [1, 3, 100])  # sentences that are compared at a time
@pytest.mark.parametrize("by", [partners._compare, partners._compare_in_bytes])
@pytest.mark.parametrize("seed", range(5))
def test_sentences_have_their_first_best_partner(
    rows: int, by: Callable[..., None], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ROWS", "POOL_ROWS", "QUERY_ROWS"):
        monkeypatch.setattr(partners, name, rows)
    random = np.random.default_rng(seed)
    # few different values, so that several partners are equally similar
    query, documents = (random.integers(0, 3, (size, 2)).astype(np.float32) / 4 for size in (7, 9))
    places = np.array([0, 5, 6, 9]), np.array([0.25, 0.5, 0.375]), 0.375
    assert compared(by, query, documents, *places) == expected(query, documents, *places)


@pytest.mark.usefixtures("in_bytes")
@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 90), min_size=1, max_size=5),
    queries=st.integers(1, 150),
    dimension=st.integers(1, 20),
    values=st.integers(1, 2000),
    bar=st.floats(-0.5, 1.1),
)
def test_both_ways_find_the_same(sizes: list[int], queries: int, dimension: int, values: int, bar: float) -> None:
    """Few distinct values give many ties, many give vectors of one large entry; some vectors are zero."""
    rng = np.random.default_rng(sum(sizes))
    query, documents = (
        widen(to_grid(rng.integers(-values, values + 1, (size, dimension)))) for size in (queries, sum(sizes))
    )
    places = np.cumsum([0, *sizes]), bar + rng.random(len(sizes)) / 4, bar
    wanted = expected(query, documents, *places)
    assert compared(partners._compare, query, documents, *places) == wanted
    assert compared(partners._compare_in_bytes, query, documents, *places) == wanted


@pytest.mark.parametrize("worth", [False, True])
def test_the_faster_way_is_chosen(worth: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    monkeypatch.setattr(coarse, "worth_using", lambda query, pool: worth)
    monkeypatch.setattr(partners, "_compare", lambda *_: called.append("all"))
    monkeypatch.setattr(partners, "_compare_in_bytes", lambda *_: called.append("in bytes"))
    vectors = np.eye(3, dtype=np.float32)
    best_partners(vectors, Stored(vectors, np.arange(3), np.array([0, 3])), np.array([0.5]), 0.5)
    assert called == ["in bytes" if worth else "all"]
