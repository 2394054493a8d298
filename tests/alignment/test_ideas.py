"""Documents whose sentences are compared with a query together."""

from __future__ import annotations

import pytest

from rprs.alignment import ideas
from rprs.alignment.ideas import _groups


def test_documents_are_compared_together_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ideas, "COLUMNS", 10)
    assert list(_groups([0, 2, 3, 5, 7], [4, 6, 1, 30, 2])) == [[0, 2], [3], [5], [7]]
    assert list(_groups([], [])) == []
