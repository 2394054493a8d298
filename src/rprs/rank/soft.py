"""RPRS without parameters: expected counts instead of the n nearest sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rprs.document import Candidates, Ranking, Sentences
from rprs.progress import Advance, no_op
from rprs.rank.stages import order_candidates, require_sentences
from rprs.scoring.soft import soft
from rprs.spec import Component, Kind

__all__ = ["SoftRPRS"]


@dataclass(frozen=True)
class SoftRPRS(Component):
    """RPRS without n, k1 and b: expected counts of neighbours drawn at random, compared with those by chance.

    Query sentences are weighted by the information that they provide about the candidates: one that all candidates
    match equally well has no weight. Equally similar sentences count equally, so there are no ties to decide.
    """

    name: ClassVar[str] = "soft"
    kinds: ClassVar[tuple[Kind, ...]] = ("reranker",)

    def rerank(self, query: Sentences, candidates: Candidates, advance: Advance = no_op) -> Ranking:
        """The candidates by QP · DP, with both proportions."""
        require_sentences(query)
        scored = soft(query.vectors, candidates.sentences, advance)
        return order_candidates(candidates, scored.score, parts={"qp": scored.qp, "dp": scored.dp})
