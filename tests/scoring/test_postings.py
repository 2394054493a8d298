"""Postings in blocks of documents."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs.scoring import bm25, cosine, postings
from rprs.scoring.postings import add_live


@pytest.mark.parametrize("stored", [np.uint16, np.uint32])
@pytest.mark.parametrize("documents", [1, bm25.CHUNK + 1, postings.BLOCK, 2 * postings.BLOCK, 4 * postings.BLOCK + 5])
def test_scores_are_those_of_one_pass_to_the_last_bit(documents: int, stored: type[np.unsignedinteger[Any]]) -> None:
    random = np.random.default_rng(documents)
    terms = [np.flatnonzero(random.random(documents) < share) for share in (0.5, 0.001, 0.0, 1.0, 0.02, 0.3)]
    terms += [np.array([documents - 1]), np.array([0]), np.flatnonzero(np.arange(documents) >= documents // 2)]
    places = np.concatenate(terms).astype(np.int32)
    stops = np.cumsum([len(term) for term in terms])
    starts = stops - [len(term) for term in terms]
    counts = random.integers(1, 9, len(places)).astype(stored)
    weights, saturated = random.random(len(terms)), random.random(documents) + 0.5
    by_bm25, by_cosine = np.zeros((2, documents))
    for term, weight, start, stop in zip(terms, weights, starts, stops, strict=True):
        tf = counts[start:stop].astype(np.float64)
        by_bm25[term] += weight * tf / (tf + saturated[term])
        by_cosine[term] += weight * cosine.LOGARITHMS[counts[start:stop]]
    scores = np.zeros(documents)
    bm25.accumulate(starts, stops, weights, places, counts, saturated, scores)
    assert np.array_equal(scores, by_bm25)
    scores[:] = 0
    cosine.accumulate(starts, stops, weights, places, counts, cosine.LOGARITHMS, scores)
    assert np.array_equal(scores, by_cosine)


def test_documents_of_a_damaged_file_that_do_not_exist_are_ignored() -> None:
    size = 2 * postings.BLOCK
    documents = np.array([5, -1, size + 9, 3, 2**31 - 1, size - 1], dtype=np.int32)
    starts, stops = np.array([0]), np.array([len(documents)])
    counts, scores = np.ones(len(documents), dtype=np.uint16), np.zeros(size)
    bm25.accumulate(starts, stops, np.ones(1), documents, counts, np.ones(size), scores)
    assert np.flatnonzero(scores).tolist() == [3, 5, size - 1]
    assert scores.sum() == 1.5


@given(st.lists(st.booleans(), max_size=20), st.randoms())
def test_scores_of_live_documents_are_added_by_their_numbers(live: list[bool], random: Random) -> None:
    numbers = np.full(len(live), -1, dtype=np.int64)
    numbers[np.array(live, dtype=bool)] = random.sample(range(20), sum(live))
    local, scores = np.array([random.random() for _ in live]), np.arange(20.0)
    expected = scores.copy()
    expected[numbers[numbers >= 0]] += local[numbers >= 0]
    add_live(scores, numbers, local)
    assert np.array_equal(scores, expected)
