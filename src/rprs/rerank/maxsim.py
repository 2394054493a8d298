"""MaxSim and mean-pooled documents: what is done with sentence vectors everywhere today."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rprs.document import Candidates, Ranking, Sentences
from rprs.rerank.reranker import Advance, check_query, nothing, ranked
from rprs.scoring.maxsim import Direction, maxsim, meanpool
from rprs.spec import Component, Kind, require

__all__ = ["MaxSim", "MeanPool"]


@dataclass(frozen=True)
class MaxSim(Component):
    """The mean of every sentence's greatest cosine: of the query's to the candidate's, as ColBERT has it for tokens.

    `direction="document"` asks from the candidate's sentences to the query's; "both" is the mean of the two.
    """

    direction: Direction = "query"
    name: ClassVar[str] = "maxsim"
    kind: ClassVar[Kind] = "reranker"

    def __post_init__(self) -> None:
        require(self, "direction", self.direction in ("query", "document", "both"), "'query' or 'document' or 'both'")

    def rerank(self, query: Sentences, candidates: Candidates, advance: Advance = nothing) -> Ranking:
        """The candidates by their scores."""
        check_query(query)
        return ranked(candidates, maxsim(query.vectors, candidates.sentences, self.direction, advance))


@dataclass(frozen=True)
class MeanPool(Component):
    """The cosine of the means of the query's and of the candidate's sentence vectors."""

    name: ClassVar[str] = "meanpool"
    kind: ClassVar[Kind] = "reranker"

    def rerank(self, query: Sentences, candidates: Candidates, advance: Advance = nothing) -> Ranking:
        """The candidates by their scores."""
        check_query(query)
        return ranked(candidates, meanpool(query.vectors, candidates.sentences, advance))
