"""SDR at inference: paragraphs aligned by their sentences, documents by their paragraphs."""

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
from rprs.rank.steps import Counts, Steps
from rprs.scoring.sdr import Normalise, add_moments, sdr, sdr_normalised
from rprs.spec import Component, Kind, require

__all__ = ["SDR"]


@dataclass(frozen=True)
class SDR(Component):
    """The mean over the query's paragraphs of their similarity to the document's best paragraph (Ginzburg et al. 2021).

    `normalise="zscore"` scales the similarities of each query paragraph to mean 0 and standard deviation 1 over all
    paragraphs of all candidates; as a first stage, over those of all allowed documents. The released code of SDR does
    not normalise, so the default is "none".
    """

    normalise: Normalise = "none"
    name: ClassVar[str] = "sdr"
    kinds: ClassVar[tuple[Kind, ...]] = ("ranker", "reranker")

    def __post_init__(self) -> None:
        require(self, "normalise", self.normalise in ("none", "zscore"), "'none' or 'zscore'")

    def rank(self, query: Document, index: Index, depth: int, allowed: Mask) -> Ranking:
        """The best documents of the index that have sentences."""
        return rank_by_vectors(self, query, index, depth, allowed)

    def vector_steps(
        self, query: Sentences, documents: Iterable[Sentences], advance: Advance
    ) -> Steps[NDArray[np.float64]]:
        """The scores of documents, in steps: with "zscore", they depend on all documents."""
        if self.normalise == "none":
            return sdr(query, documents, advance=advance)
        own = add_moments(query, documents, advance=lambda rows: advance(rows - rows // 2))
        (moments,) = yield Counts((own,))
        return sdr_normalised(query, documents, moments, advance=lambda rows: advance(rows // 2))

    def rerank(self, query: Sentences, candidates: Candidates, advance: Advance = no_op) -> Ranking:
        """The candidates by their scores."""
        require_sentences(query)
        return order_candidates(candidates, sdr(query, candidates.sentences, self.normalise, advance=advance))
