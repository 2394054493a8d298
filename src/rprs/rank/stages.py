"""What first stages and re-rankers are, what a re-ranker receives, and the order that all re-rankers return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rprs.document import Candidates, Document, Neighbours, Ranking, Sentences, Truncation
from rprs.errors import EmptyQuery
from rprs.index import Index
from rprs.progress import Advance
from rprs.scoring.order import best_first
from rprs.spec import Kind

__all__ = [
    "NOT_TRUNCATED",
    "Mask",
    "Ranker",
    "Reranker",
    "Stage",
    "TwoStepRanker",
    "TwoStepReranker",
    "in_pool_order",
    "load_candidates",
    "order_candidates",
    "require_sentences",
]

Mask = NDArray[np.bool_]  # (documents of the index,): which of them may be ranked
NOT_TRUNCATED = Truncation()


@runtime_checkable
class Ranker(Protocol):
    """A first stage: ranks the documents of an index."""

    def rank(self, query: Document, index: Index, depth: int, allowed: Mask) -> Ranking:
        """The best `depth` of the allowed documents, best first; ties by ascending id."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Reorders the candidates of a query."""

    def rerank(self, query: Sentences, candidates: Candidates, advance: Advance = ...) -> Ranking:
        """All candidates, best first; ties in first-stage order. `advance` counts sentences of candidates."""
        ...


@runtime_checkable
class TwoStepRanker(Protocol):
    """A first stage whose costly first step is the same for all values of some parameters.

    It scores every document of an index. Tuning prepares once and scores at every point of a grid.
    """

    grid: ClassVar[Mapping[str, tuple[Any, ...]]]  # those parameters, with the values to try by default

    def prepare(self, query: Document, index: Index) -> Any:
        """Everything about the query and the index that does not depend on the parameters of `grid`."""
        ...

    def score(self, prepared: Any, index: Index) -> NDArray[np.float64]:
        """(documents,): the scores at the present values of these parameters; 0 for a document that is not ranked."""
        ...

    def rank(self, query: Document, index: Index, depth: int, allowed: Mask) -> Ranking:
        """As of every first stage."""
        ...


@runtime_checkable
class TwoStepReranker(Protocol):
    """A re-ranker whose costly first step is the same for all values of some parameters.

    `rerank` is one step after the other. Tuning prepares once and scores at every point of a grid.
    """

    grid: ClassVar[Mapping[str, tuple[Any, ...]]]  # those parameters, with the values to try by default

    def prepare(self, query: Sentences, candidates: Candidates, advance: Advance = ...) -> Any:
        """Everything about the candidates that does not depend on the parameters of `grid`."""
        ...

    def score(self, prepared: Any, candidates: Candidates) -> Ranking:
        """The ranking at the present values of these parameters."""
        ...


class Stage(Protocol):
    """A component that can be a part of another one: a first stage in a first stage, a re-ranker in a re-ranker."""

    kinds: ClassVar[tuple[Kind, ...]] = ("ranker", "reranker")


def load_candidates(index: Index, query: Document, ranking: Ranking, mean_sentences: float | None = None) -> Candidates:
    """A ranking with the sentences of its documents and access to their texts.

    Where the index holds a part of the collection only, `mean_sentences` is that of the whole collection.
    """
    sentences = index.sentences_of(ranking.ids)
    mean = index.mean_sentences if mean_sentences is None else mean_sentences
    counts = np.array([len(each) for each in sentences], dtype=np.int64)
    return Candidates(ranking, sentences, mean, query, index.document, index.knows_language(query), counts=counts)


def require_sentences(query: Sentences) -> None:
    """Raise `EmptyQuery` for a query without sentences."""
    if not len(query):
        raise EmptyQuery("The query has no sentences: there is nothing to compare")


def in_pool_order(values: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.float64]:
    """Values in the order of a ranking, moved to that of the candidates; `order` has the candidate at each rank."""
    moved = np.empty(len(values))
    moved[order] = values
    return moved


def order_candidates(
    candidates: Candidates,
    scores: NDArray[np.float64],
    *,
    parts: Mapping[str, NDArray[np.float64]] | None = None,
    neighbours: Neighbours | None = None,
    notes: Sequence[str] = (),
    truncation: Truncation = NOT_TRUNCATED,
) -> Ranking:
    """The candidates by their scores, which are given in first-stage order.

    Documents without sentences come last: their scores are lowered to the smallest of the others.
    """
    empty = candidates.sentence_counts == 0
    scores = np.asarray(scores, dtype=np.float64).copy()
    if empty.any() and not empty.all():
        scores[empty] = np.minimum(scores[empty], scores[~empty].min())
    order = best_first(scores, empty)
    return Ranking(
        ids=tuple(candidates.ranking.ids[place] for place in order),
        scores=scores[order],
        parts={name: values[order] for name, values in (parts or {}).items()},
        neighbours=neighbours,
        notes=tuple(notes),
        truncation=truncation,
    )
