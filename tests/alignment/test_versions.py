"""Which sentences are compared as versions of each other."""

from __future__ import annotations

import numpy as np

from rprs.alignment.versions import find_versions


def test_a_sentence_that_may_be_a_part_is_compared_with_its_neighbours() -> None:
    query, document = np.array([0, 20]), np.array([0, 9, 18, 60])
    candidates = np.array([[0, 0, 9]])  # nine of the twenty words of the query are the document's first sentence
    assert find_versions(candidates, query, document).tolist() == [[0, 1, 0, 1], [0, 1, 0, 2]]


def test_sentences_with_too_few_words_in_common_have_no_versions() -> None:
    assert find_versions(np.array([[0, 0, 3]]), np.array([0, 20]), np.array([0, 9])).tolist() == []
