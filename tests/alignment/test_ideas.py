"""The best partners by vectors, against a literal search for the first maximum."""

from __future__ import annotations

import numpy as np
import pytest

from rprs.alignment import ideas
from rprs.alignment.ideas import _best_partners


@pytest.mark.parametrize("rows", [1, 3, 100])  # sentences that are compared at a time
@pytest.mark.parametrize("seed", range(5))
def test_open_sentences_have_their_first_best_partner(rows: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ideas, "ROWS", rows)
    random = np.random.default_rng(seed)
    # few different values, so that several partners are equally similar
    query, document = (random.integers(0, 3, (size, 2)).astype(np.float32) / 4 for size in (7, 5))
    opened, bars = (random.random(7) < 0.7, random.random(5) < 0.7), (0.25, 0.375)
    similarity = query @ document.T
    expected = [
        (row, int(similarity[row].argmax()), float(similarity[row].max()))
        for row in range(7)
        if opened[0][row] and similarity[row].max() >= bars[0]
    ]
    expected += [
        (int(similarity[:, column].argmax()), column, float(similarity[:, column].max()))
        for column in range(5)
        if opened[1][column] and similarity[:, column].max() >= bars[1]
    ]
    found = [each.tolist() for each in _best_partners(query, document, opened, bars)]
    assert list(zip(*found, strict=True)) == expected
