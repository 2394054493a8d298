"""First stages that compare sentence vectors: every sentence of every allowed document is read.

Documents are read in the order in which they are stored and none is kept, so memory depends on the query and, with a
few numbers each, on the number of documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rprs.document import EMPTY_RANKING, Document, Neighbours, Ranking, Sentences
from rprs.index import Index
from rprs.index.segment import Segment
from rprs.progress import Advance, scan_progress, stopper
from rprs.rank.stages import Mask
from rprs.rank.steps import Steps, alone
from rprs.scoring.neighbours import Ties, tie_priority
from rprs.scoring.whole import whole_neighbours

__all__ = ["VectorRanker", "neighbours_in_index", "rank_by_vectors", "vector_steps"]


class VectorRanker(Protocol):
    """A first stage that scores every document by its sentence vectors."""

    def vector_steps(
        self, query: Sentences, documents: Iterable[Sentences], advance: Advance
    ) -> Steps[NDArray[np.float64]]:
        """The scores of documents that have sentences, in their order; they may be read more than once."""
        ...


def rank_by_vectors(ranker: VectorRanker, query: Document, index: Index, depth: int, allowed: Mask) -> Ranking:
    """The best of the allowed documents that have sentences; ties by ascending id."""
    return alone(vector_steps(ranker, index.query_sentences(query), index, depth, allowed))


def vector_steps(ranker: VectorRanker, query: Sentences, index: Index, depth: int, allowed: Mask) -> Steps[Ranking]:
    """The same for the sentences of a query, in steps."""
    stored = _StoredDocuments.of(index, allowed)
    if not len(query):
        return EMPTY_RANKING
    scores = np.full(len(index), -np.inf)
    with _progress(index, stored) as advance:
        scores[stored.numbers] = yield from ranker.vector_steps(query, stored, advance)
    best = np.argsort(-scores, kind="stable")[: min(depth, len(stored.numbers))]
    return Ranking(tuple(index.ids[number] for number in best), scores[best])


def neighbours_in_index(query: Sentences, index: Index, allowed: Mask, n: int, ties: Ties) -> Neighbours:
    """R_n over the sentences of all allowed documents, which are the pool in the order of their ids."""
    stored = _StoredDocuments.of(index, allowed)
    pool = np.flatnonzero(allowed)
    with _progress(index, stored) as advance:
        return whole_neighbours(
            query.vectors,
            stored,
            np.searchsorted(pool, stored.numbers),
            index.sentence_counts[pool],
            n,
            priority=tie_priority([index.ids[number] for number in pool], ties) if ties == "worst" else None,
            advance=advance,
        )


@contextmanager
def _progress(index: Index, stored: _StoredDocuments) -> Iterator[Advance]:
    """A progress task that counts sentences."""
    total = int(index.sentence_counts[stored.numbers].sum())
    with scan_progress.get()("comparing all sentences", total, "sentences") as advance:
        yield advance


@dataclass(frozen=True, slots=True)
class _StoredDocuments:
    """Documents by segment and ordinal, read from disk each time they are iterated.

    `check` runs before each document and raises once the search has been cancelled.
    """

    segments: Sequence[Segment]
    ordinals: Sequence[NDArray[np.int64]]
    numbers: NDArray[np.int64]  # (documents,): their numbers in the index, in the order of iteration
    check: Callable[[], None]

    @classmethod
    def of(cls, index: Index, allowed: Mask) -> _StoredDocuments:
        """The allowed documents of an index that have sentences."""
        eligible = allowed & (index.sentence_counts > 0)
        if not eligible.any():
            return cls((), (), np.empty(0, dtype=np.int64), stopper.get())
        ordinals = [np.flatnonzero((numbers >= 0) & eligible[numbers]) for numbers in index.numbers]
        numbers = [numbers[some] for numbers, some in zip(index.numbers, ordinals, strict=True)]
        return cls(index.segments, ordinals, np.concatenate(numbers), stopper.get())

    def __iter__(self) -> Iterator[Sentences]:
        for segment, ordinals in zip(self.segments, self.ordinals, strict=True):
            for ordinal in ordinals.tolist():
                self.check()
                yield segment.sentences(ordinal)
