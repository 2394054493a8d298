"""SDR at inference: paragraphs aligned by their sentences, documents by their paragraphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rprs.document import Candidates, Ranking, Sentences
from rprs.rerank.reranker import Advance, check_query, nothing, ranked
from rprs.scoring.sdr import Normalise, sdr
from rprs.spec import Component, Kind, require

__all__ = ["SDR"]


@dataclass(frozen=True)
class SDR(Component):
    """The mean over the query's paragraphs of their likeness to the candidate's best paragraph (Ginzburg et al. 2021).

    `normalise="zscore"` brings the likenesses of each query paragraph to mean 0 and standard deviation 1 over all
    paragraphs of all candidates; the released code of SDR has nothing of the kind, so the default is "none".
    """

    normalise: Normalise = "none"
    name: ClassVar[str] = "sdr"
    kind: ClassVar[Kind] = "reranker"

    def __post_init__(self) -> None:
        require(self, "normalise", self.normalise in ("none", "zscore"), "'none' or 'zscore'")

    def rerank(self, query: Sentences, candidates: Candidates, advance: Advance = nothing) -> Ranking:
        """The candidates by their scores."""
        check_query(query)
        return ranked(candidates, sdr(query, candidates.sentences, self.normalise, advance=advance))
