"""RPRS, the proportional relevance score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from rprs.document import Candidates, Neighbours, Ranking, Sentences
from rprs.progress import Advance, no_op
from rprs.rank.stages import require_sentences
from rprs.scoring import rprs
from rprs.scoring.neighbours import neighbours
from rprs.spec import Component, Kind, require

__all__ = ["RPRS"]


@dataclass(frozen=True)
class RPRS(Component):
    """The proportional relevance score (Askari et al. 2023); plain with k1=0, with frequency otherwise.

    `avgdl` is the mean number of sentences over the whole index ("collection") or over the candidates; `form` is one of
    the ablations of the paper's Table 7.
    """

    n: int = 5
    k1: float = 1.5
    b: float = 0.5
    avgdl: Literal["collection", "candidates"] = "collection"
    form: rprs.Form = "full"
    name: ClassVar[str] = "rprs"
    kinds: ClassVar[tuple[Kind, ...]] = ("reranker",)

    def __post_init__(self) -> None:
        require(self, "n", self.n >= 1, "an integer in [1, inf)")
        require(self, "k1", 0 <= self.k1 < np.inf, "a number in [0, inf)")
        require(self, "b", 0 <= self.b <= 1, "a number in [0, 1]")
        require(self, "avgdl", self.avgdl in ("collection", "candidates"), "'collection' or 'candidates'")
        require(self, "form", self.form in ("full", "no_qp", "no_dp", "no_min", "no_b_k1"), "one of the ablations")

    def rerank(self, query: Sentences, candidates: Candidates, advance: Advance = no_op) -> Ranking:
        """The candidates by QP · DP, with both proportions and the neighbours as evidence."""
        require_sentences(query)
        pool = [sentences.vectors for sentences in candidates.sentences]
        nearest = neighbours(query.vectors, pool, self.n, advance=advance)
        return self.from_neighbours(nearest, candidates.ranking.ids, candidates.mean_sentences)

    def from_neighbours(self, nearest: Neighbours, ids: Sequence[str], mean_sentences: float) -> Ranking:
        """The same from n or more precomputed neighbours of every query sentence; `ids` in first-stage order."""
        lengths = np.diff(nearest.offsets)
        local = float(lengths.mean()) if len(lengths) else 0.0
        avgdl = mean_sentences if self.avgdl == "collection" else local
        scored = rprs.rprs(nearest, n=self.n, k1=self.k1, b=self.b, avgdl=avgdl, form=self.form)
        order = rprs.order(scored, nearest)
        return Ranking(
            ids=tuple(ids[place] for place in order),
            scores=scored.score[order],
            parts={"qp": scored.qp[order], "dp": scored.dp[order]},
            neighbours=nearest,
        )
