"""Passages by brute force: every document is aligned as a whole, and every sentence is compared, one by one."""

from __future__ import annotations

import re

import numpy as np

from rprs.alignment.boilerplate import is_formal
from rprs.document import Document
from rprs.index import Index

__all__ = ["longest_common_run", "nearest"]

_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def longest_common_run(passage: str, text: str) -> int:
    """The length of the longest sequence of words that both texts have, by the table of all pairs of words."""
    ours, theirs = words(passage), words(text)
    longest, row = 0, [0] * (len(theirs) + 1)
    for word in ours:
        row = [0, *(row[place] + 1 if word == other else 0 for place, other in enumerate(theirs))]
        longest = max(longest, *row)
    return longest


def nearest(sentence: str, index: Index) -> list[tuple[float, str, int]]:
    """All sentences of an index with ideas, as (similarity, id, place), the most similar first."""
    query = index.encode(Document("passage", sentence)).vectors.astype(np.float64)
    assert len(query) == 1
    rows = [
        (float(vector.astype(np.float64) @ query[0]), id, place)
        for id in index
        for place, vector in enumerate(index.sentences(id).vectors)
    ]
    kept = []
    for similarity, id, place in sorted(rows, key=lambda row: (-row[0], row[1], row[2])):
        text = index.sentences(id).texts(index.document(id).text)[place]
        if len(words(text)) >= 4 and not is_formal(text):
            kept.append((similarity, id, place))
    return kept
