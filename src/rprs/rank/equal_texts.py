"""The same text has the same score, wherever it stands among the candidates.

A re-ranker compares the sentences of all candidates with each other. Of equally similar sentences, one comes first, so
that two documents with the same text could get different scores.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rprs.document import Ranking
from rprs.index import Index

__all__ = ["equal_scores"]


def equal_scores(ranking: Ranking, index: Index) -> Ranking:
    """The ranking with the best score of documents with the same text for all of them; unchanged if there are none."""
    hashes = index.content_hashes(ranking.ids)
    first: dict[str, int] = {}  # where each text comes first, which is its best score
    places = np.array([first.setdefault(content, place) for place, content in enumerate(hashes)], dtype=np.int64)
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
