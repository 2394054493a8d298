"""The best partners by vectors, against a literal search for the first maximum."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from rprs.alignment import ideas
from rprs.alignment.ideas import _best_partners, _groups


@pytest.mark.parametrize("rows", [1, 3, 100])  # sentences that are compared at a time
@pytest.mark.parametrize("seed", range(5))
def test_sentences_have_their_first_best_partner(rows: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ideas, "ROWS", rows)
    random = np.random.default_rng(seed)
    # few different values, so that several partners are equally similar
    query, documents = (random.integers(0, 3, (size, 2)).astype(np.float32) / 4 for size in (7, 9))
    bars, other_bar, ends = np.array([0.25, 0.5, 0.375]), 0.375, np.array([0, 5, 6, 9])
    found = _best_partners(query, documents, ends, bars, other_bar)
    for partners, bar, (first, stop) in zip(found, bars, pairwise(ends.tolist()), strict=True):
        similarity = query @ documents[first:stop].T
        expected = [
            (row, int(similarity[row].argmax()), float(similarity[row].max()))
            for row in range(7)
            if similarity[row].max() >= bar
        ]
        assert partners.queries == len(expected)
        expected += [
            (int(similarity[:, column].argmax()), column, float(similarity[:, column].max()))
            for column in range(stop - first)
            if similarity[:, column].max() >= other_bar
        ]
        assert list(zip(*(each.tolist() for each in partners[1:]), strict=True)) == expected


def test_documents_are_compared_together_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ideas, "COLUMNS", 10)
    assert list(_groups([0, 2, 3, 5, 7], [4, 6, 1, 30, 2])) == [[0, 2], [3], [5], [7]]
    assert list(_groups([], [])) == []
