"""The same text has the same score, wherever it stands among the candidates and however it is typed.

A re-ranker compares the sentences of all candidates with each other. Of equally similar sentences, one comes first, so
that two documents with the same text could get different scores. Texts are the same if their words are, as in evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rprs.document import Ranking
from rprs.index import Index

__all__ = ["equal_scores"]


def equal_scores(ranking: Ranking, index: Index) -> Ranking:
    """The ranking with the best score of documents with the same text for all of them; unchanged if there are none."""
    hashes: Sequence[int | str] | None = index.word_hashes(ranking.ids)
    if hashes is None:  # in an index of an older version, only the very same characters are the same text
        hashes = index.content_hashes(ranking.ids)
    first: dict[int | str, int] = {}  # where each text comes first, which is its best score
    places = np.array([first.setdefault(text, place) for place, text in enumerate(hashes)], dtype=np.int64)
    if len(first) == len(ranking):
        return ranking
    order = np.lexsort((np.arange(len(places)), places))  # copies move up behind the best of them
    places = places[order]
    return replace(
        ranking,
        ids=tuple(ranking.ids[place] for place in order.tolist()),
        scores=ranking.scores[places],
        parts={name: values[places] for name, values in ranking.parts.items()},
    )
