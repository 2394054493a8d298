"""What a re-ranker is, what it gets, and the order that all of them give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rprs.document import Candidates, Document, Neighbours, Ranking, Sentences, Truncation
from rprs.errors import EmptyQuery
from rprs.index import Index

__all__ = ["WHOLE", "Advance", "Reranker", "Staged", "check_query", "gather", "nothing", "ranked"]

Advance = Callable[[int], None]  # told how many sentences of the candidates are done
WHOLE = Truncation()  # nothing was cut


def nothing(_rows: int) -> None:
    """Advance nobody: the default of `rerank`."""


class Reranker(Protocol):
    """Orders the candidates of a query."""

    def rerank(self, query: Sentences, candidates: Candidates, advance: Advance = ...) -> Ranking:
        """All candidates, best first; of equals, the one that the first stage ranked higher."""
        ...


@runtime_checkable
class Staged(Protocol):
    """A re-ranker in two steps, the first of which is costly and the same for all values of some parameters.

    `rerank` is one after the other. Tuning looks once and weighs for every point of a grid.
    """

    grid: ClassVar[Mapping[str, tuple[Any, ...]]]  # these parameters, with the values to try where none are given

    def look(self, query: Sentences, candidates: Candidates, advance: Advance = ...) -> Any:
        """What there is to know of the candidates."""
        ...

    def weigh(self, seen: Any, candidates: Candidates) -> Ranking:
        """The ranking that follows from it."""
        ...


def gather(index: Index, query: Document, ranking: Ranking, mean_sentences: float | None = None) -> Candidates:
    """A ranking with the sentences of its documents, and with the way to their texts.

    Where the index does not hold the whole collection, `mean_sentences` must come from the one that does.
    """
    sentences = [index.sentences(id) for id in ranking.ids]
    mean = index.mean_sentences if mean_sentences is None else mean_sentences
    return Candidates(ranking, sentences, mean, query, index.document)


def check_query(query: Sentences) -> None:
    """A query without sentences has no answer."""
    if not len(query):
        raise EmptyQuery("The query has no sentences: there is nothing to compare")


def ranked(
    candidates: Candidates,
    scores: NDArray[np.float64],
    *,
    parts: Mapping[str, NDArray[np.float64]] | None = None,
    neighbours: Neighbours | None = None,
    notes: Sequence[str] = (),
    truncation: Truncation = WHOLE,
) -> Ranking:
    """The candidates by their scores, given in first-stage order; of equals, the one that was ranked higher there.

    Documents without sentences come last: such a score is lowered to the least of the others.
    """
    hollow = np.array([not len(sentences) for sentences in candidates.sentences], dtype=bool)
    scores = np.asarray(scores, dtype=np.float64).copy()
    if hollow.any() and not hollow.all():
        scores[hollow] = np.minimum(scores[hollow], scores[~hollow].min())
    order = np.lexsort((np.arange(len(scores)), hollow, -scores))
    return Ranking(
        ids=tuple(candidates.ranking.ids[place] for place in order),
        scores=scores[order],
        parts={name: values[order] for name, values in (parts or {}).items()},
        neighbours=neighbours,
        notes=tuple(notes),
        truncation=truncation,
    )
