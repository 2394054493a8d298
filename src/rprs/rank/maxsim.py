"""MaxSim and mean-pooled documents: the usual ways to compare documents by their sentence vectors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rprs.document import Candidates, Document, Ranking, Sentences
from rprs.index import Index
from rprs.progress import Advance, no_op
from rprs.rank.scan import rank_by_vectors
from rprs.rank.stages import Mask, order_candidates, require_sentences
from rprs.rank.steps import Steps
from rprs.scoring.maxsim import Direction, maxsim, meanpool
from rprs.spec import Component, Kind, require

__all__ = ["MaxSim", "MeanPool"]


@dataclass(frozen=True)
class MaxSim(Component):
    """The mean, over the query's sentences, of the greatest cosine to a sentence of the document (as ColBERT's tokens).

    `direction="document"` averages over the document's sentences instead; "both" is the mean of the two.
    """

    direction: Direction = "query"
    name: ClassVar[str] = "maxsim"
    kinds: ClassVar[tuple[Kind, ...]] = ("ranker", "reranker")

    def __post_init__(self) -> None:
        require(self, "direction", self.direction in ("query", "document", "both"), "'query' or 'document' or 'both'")

    def rank(self, query: Document, index: Index, depth: int, allowed: Mask) -> Ranking:
        """The best documents of the index that have sentences."""
        return rank_by_vectors(self, query, index, depth, allowed)

    def vector_steps(
        self, query: Sentences, documents: Iterable[Sentences], advance: Advance
    ) -> Steps[NDArray[np.float64]]:
        """The scores of documents, each by itself."""
        yield from ()
        return maxsim(query.vectors, documents, self.direction, advance)

    def rerank(self, query: Sentences, candidates: Candidates, advance: Advance = no_op) -> Ranking:
        """The candidates by their scores."""
        require_sentences(query)
        return order_candidates(candidates, maxsim(query.vectors, candidates.sentences, self.direction, advance))


@dataclass(frozen=True)
class MeanPool(Component):
    """The cosine between the mean sentence vectors of the query and of the document."""

    name: ClassVar[str] = "meanpool"
    kinds: ClassVar[tuple[Kind, ...]] = ("ranker", "reranker")

    def rank(self, query: Document, index: Index, depth: int, allowed: Mask) -> Ranking:
        """The best documents of the index that have sentences."""
        return rank_by_vectors(self, query, index, depth, allowed)

    def vector_steps(
        self, query: Sentences, documents: Iterable[Sentences], advance: Advance
    ) -> Steps[NDArray[np.float64]]:
        """The scores of documents, each by itself."""
        yield from ()
        return meanpool(query.vectors, documents, advance)

    def rerank(self, query: Sentences, candidates: Candidates, advance: Advance = no_op) -> Ranking:
        """The candidates by their scores."""
        require_sentences(query)
        return order_candidates(candidates, meanpool(query.vectors, candidates.sentences, advance))
