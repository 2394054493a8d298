"""A first stage that compares sentence vectors: every document of the index is scored.

Documents are read in the order in which they are stored and none is kept, so memory depends on the query alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rprs.document import EMPTY_RANKING, Document, Ranking, Sentences
from rprs.index import Index
from rprs.index.segment import Segment
from rprs.progress import stopper
from rprs.rank.stages import Mask

__all__ = ["Score", "rank_by_vectors"]

Score = Callable[[Sentences, Iterable[Sentences]], NDArray[np.float64]]


def rank_by_vectors(query: Document, index: Index, depth: int, allowed: Mask, score: Score) -> Ranking:
    """The best of the allowed documents that have sentences; ties by ascending id."""
    query_sentences = index.query_sentences(query)
    eligible = allowed & (index.sentence_counts > 0)
    if not len(query_sentences) or not eligible.any():
        return EMPTY_RANKING
    ordinals = [np.flatnonzero((numbers >= 0) & eligible[numbers]) for numbers in index.numbers]
    order = np.concatenate([numbers[some] for numbers, some in zip(index.numbers, ordinals, strict=True)])
    scores = np.full(len(index), -np.inf)
    scores[order] = score(query_sentences, _StoredDocuments(index.segments, ordinals, stopper.get()))
    best = np.argsort(-scores, kind="stable")[: min(depth, len(order))]
    return Ranking(tuple(index.ids[number] for number in best), scores[best])


@dataclass(frozen=True, slots=True)
class _StoredDocuments:
    """Documents by segment and ordinal, read from disk each time they are iterated.

    `check` runs before each document and raises once the search has been cancelled.
    """

    segments: Sequence[Segment]
    ordinals: Sequence[NDArray[np.int64]]
    check: Callable[[], None]

    def __iter__(self) -> Iterator[Sentences]:
        for segment, ordinals in zip(self.segments, self.ordinals, strict=True):
            for ordinal in ordinals.tolist():
                self.check()
                yield segment.sentences(ordinal)
