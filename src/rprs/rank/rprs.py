"""RPRS, the proportional relevance score, over the candidates of a first stage or over a whole collection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Literal, get_args

import numpy as np

from rprs.document import Candidates, Document, Neighbours, Ranking, Sentences
from rprs.index import Index
from rprs.progress import Advance, no_op
from rprs.rank.scan import neighbours_in_index
from rprs.rank.stages import Mask, require_sentences
from rprs.scoring import rprs
from rprs.scoring.neighbours import Ties, neighbours, tie_priority
from rprs.scoring.whole import restrict
from rprs.spec import Component, Kind, require

__all__ = ["RPRS"]


@dataclass(frozen=True)
class RPRS(Component):
    """The proportional relevance score (Askari et al. 2023); plain with k1=0, with frequency otherwise.

    `avgdl` is the mean number of sentences over the whole index ("collection") or over the candidates, or a number;
    `form` is one of the ablations of the paper's Table 7. `ties` decides which of several equally similar sentences are
    among the n nearest: those of the candidate that the first stage ranked higher ("first"), of the smaller document id
    ("id"), or of the candidate that it ranked lower ("worst").

    As a first stage, all allowed documents are the candidates, ordered by id.
    """

    n: int = 5
    k1: float = 1.5
    b: float = 0.5
    avgdl: Literal["collection", "candidates"] | float = "collection"
    form: rprs.Form = "full"
    ties: Ties = "first"
    name: ClassVar[str] = "rprs"
    kinds: ClassVar[tuple[Kind, ...]] = ("reranker", "ranker")

    def __post_init__(self) -> None:
        require(self, "n", self.n >= 1, "an integer in [1, inf)")
        require(self, "k1", 0 <= self.k1 < np.inf, "a number in [0, inf)")
        require(self, "b", 0 <= self.b <= 1, "a number in [0, 1]")
        require(self, "avgdl", _is_average(self.avgdl), "'collection' or 'candidates' or a number in (0, inf)")
        require(self, "form", self.form in get_args(rprs.Form), "one of the ablations")
        require(self, "ties", self.ties in get_args(Ties), "'first' or 'id' or 'worst'")

    def rank(self, query: Document, index: Index, depth: int, allowed: Mask) -> Ranking:
        """The best documents of the index that have at least one of the n nearest sentences; ties by ascending id."""
        nearest = neighbours_in_index(index.query_sentences(query), index, allowed, self.n, self.ties)
        some, places = restrict(nearest)
        ids = [index.ids[number] for number in np.flatnonzero(allowed)[places]]
        return self.rank_neighbours(some, ids, self.average_length(nearest, index.mean_sentences), depth)

    def rank_neighbours(self, nearest: Neighbours, ids: Sequence[str], avgdl: float, depth: int) -> Ranking:
        """The same from n or more precomputed neighbours over documents with these ids, in their order."""
        scored = rprs.rprs(nearest, n=self.n, k1=self.k1, b=self.b, avgdl=avgdl, form=self.form)
        order = rprs.order(scored, nearest)[: min(depth, np.count_nonzero(scored.score > 0))]
        return Ranking(
            ids=tuple(ids[place] for place in order),
            scores=scored.score[order],
            parts={"qp": scored.qp[order], "dp": scored.dp[order]},
        )

    def rerank(self, query: Sentences, candidates: Candidates, advance: Advance = no_op) -> Ranking:
        """The candidates by QP · DP, with both proportions and the neighbours as evidence."""
        require_sentences(query)
        priority = tie_priority(candidates.ranking.ids, self.ties)
        if candidates.nearest is not None:
            nearest = candidates.nearest(query.vectors, self.n, priority)
        else:
            pool = [sentences.vectors for sentences in candidates.sentences]
            nearest = neighbours(query.vectors, pool, self.n, priority=priority, advance=advance)
        return self.from_neighbours(nearest, candidates.ranking.ids, candidates.mean_sentences)

    def from_neighbours(self, nearest: Neighbours, ids: Sequence[str], mean_sentences: float) -> Ranking:
        """The same from n or more precomputed neighbours of every query sentence; `ids` in first-stage order."""
        avgdl = self.average_length(nearest, mean_sentences)
        scored = rprs.rprs(nearest, n=self.n, k1=self.k1, b=self.b, avgdl=avgdl, form=self.form)
        order = rprs.order(scored, nearest)
        return Ranking(
            ids=tuple(ids[place] for place in order),
            scores=scored.score[order],
            parts={"qp": scored.qp[order], "dp": scored.dp[order]},
            neighbours=nearest,
        )

    def average_length(self, nearest: Neighbours, mean_sentences: float) -> float:
        """avgdl for a pool; `mean_sentences` is that of the collection."""
        if self.avgdl == "collection":
            return mean_sentences
        if self.avgdl != "candidates":
            return float(self.avgdl)
        lengths = np.diff(nearest.offsets)
        return float(lengths.mean()) if len(lengths) else 0.0


def _is_average(value: object) -> bool:
    if isinstance(value, Real) and not isinstance(value, bool):
        return 0 < float(value) < np.inf
    return value in ("collection", "candidates")
