"""Postings in blocks of documents."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs.scoring import bm25, cosine, postings
from rprs.scoring.postings import cut

LISTS = st.lists(st.sets(st.integers(0, 29), max_size=30), max_size=6)


@given(LISTS, st.integers(1, 30))
def test_blocks_divide_the_postings_of_every_term(lists: list[set[int]], size: int) -> None:
    terms = [sorted(each) for each in lists]
    documents = np.array([document for term in terms for document in term], dtype=np.int32)
    stops = np.cumsum([len(term) for term in terms], dtype=np.int64)
    ends = stops - np.array([len(term) for term in terms], dtype=np.int64)
    starts, following = ends.copy(), np.full(len(terms), -1)
    for first in range(0, 30, size):
        limit = first + size
        cut(documents, stops, limit if limit < 30 else -1, starts, ends, following)
        found = [documents[start:stop].tolist() for start, stop in zip(starts, ends, strict=True)]
        assert found == [[document for document in term if first <= document < limit] for term in terms]


@pytest.mark.parametrize("documents", [1, postings.BLOCK, 2 * postings.BLOCK, 2 * postings.BLOCK + 5])
def test_scores_are_those_of_one_pass_to_the_last_bit(documents: int) -> None:
    random = np.random.default_rng(documents)
    terms = [np.flatnonzero(random.random(documents) < share) for share in (0.5, 0.001, 0.0, 1.0, 0.02, 0.3)]
    places = np.concatenate(terms).astype(np.int32)
    stops = np.cumsum([len(term) for term in terms])
    starts = stops - [len(term) for term in terms]
    counts = random.integers(1, 9, len(places)).astype(np.uint16)
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
