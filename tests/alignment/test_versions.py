"""The compiled comparison of sequences of words, against rapidfuzz."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Indel

from rprs.alignment.versions import BITS, find_versions, similarities

SENTENCES = st.lists(st.integers(0, 9), min_size=1, max_size=BITS + 6)


@given(SENTENCES, SENTENCES)
def test_similarities_are_those_of_rapidfuzz(ours: list[int], theirs: list[int]) -> None:
    bounds = np.array([0, len(ours)]), np.array([0, len(theirs)])
    (found,) = similarities(np.array([[0, 1, 0, 1]]), *bounds, np.array(ours), np.array(theirs)).tolist()
    if min(len(ours), len(theirs)) > BITS:
        assert isnan(found)
    else:
        assert found == Indel.normalized_similarity(ours, theirs)


def test_each_version_is_compared_by_itself() -> None:
    words, bounds = np.array([0, 1, 2, 3, 0, 1]), np.array([0, 2, 4, 6])
    versions = np.array([[0, 1, 2, 3], [0, 1, 1, 2], [0, 2, 0, 2], [1, 2, 0, 2]])
    assert similarities(versions, bounds, bounds, words, words).tolist() == [1, 0, 1, pytest.approx(4 / 6)]


def test_a_sentence_that_may_be_a_part_is_compared_with_its_neighbours() -> None:
    query, document = np.array([0, 20]), np.array([0, 9, 18, 60])
    candidates = np.array([[0, 0, 9]])  # nine of the twenty words of the query are the document's first sentence
    assert find_versions(candidates, query, document).tolist() == [[0, 1, 0, 1], [0, 1, 0, 2]]


def test_sentences_with_too_few_words_in_common_have_no_versions() -> None:
    assert find_versions(np.array([[0, 0, 3]]), np.array([0, 20]), np.array([0, 9])).tolist() == []
