"""Two rankings combined into one, and the first stage's own order as a re-ranker, so that it can be combined too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rprs.document import Candidates, Document, Neighbours, Ranking, Sentences, Truncation
from rprs.encode import Loadable
from rprs.errors import UsageError
from rprs.index import Index
from rprs.progress import Advance, Progress, divided, no_op, silent
from rprs.rank.blend import Blend
from rprs.rank.bm25 import BM25
from rprs.rank.cosine import Cosine
from rprs.rank.runfile import RunFile
from rprs.rank.stages import Mask, Ranker, Reranker, Stage, in_pool_order, order_candidates, require_sentences
from rprs.scoring import fuse
from rprs.spec import Component, Kind, require

__all__ = ["First", "Fuse", "PreparedFusion", "run_files", "uses_vectors"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class First(Component):
    """The order and scores of the first stage; only documents without sentences move to the end, as everywhere.

    A candidate that the first stage did not find counts as its last.
    """

    name: ClassVar[str] = "first"
    kinds: ClassVar[tuple[Kind, ...]] = ("reranker",)

    def rerank(self, query: Sentences, candidates: Candidates, advance: Advance = no_op) -> Ranking:
        """The candidates in first-stage order."""
        require_sentences(query)
        scores = np.asarray(candidates.ranking.scores, dtype=np.float64)
        present = scores[~np.isnan(scores)]
        advance(int(candidates.sentence_counts.sum()))
        return order_candidates(candidates, np.where(np.isnan(scores), present.min() if len(present) else 0.0, scores))


@dataclass(frozen=True, slots=True)
class PreparedFusion:
    """What two re-rankers give to k candidates, in first-stage order."""

    a: Floats  # (k,): on a common scale
    b: Floats  # (k,)
    automatic: float  # the weight of b that follows from the query and the collection
    parts: Mapping[str, Floats]
    neighbours: Neighbours | None
    notes: tuple[str, ...]
    truncation: Truncation


@dataclass(frozen=True)
class Fuse(Component):
    """Two first stages, or two re-rankers, as one: `fuse(bm25, sdr)`, `fuse(first, rprs(n=4,k1=0), weight=0.3)`.

    `method` is "rrf" (by ranks, with the constant `k`), "minmax" (by scores, scaled within each list) or "zscore" (by
    the logarithms of scores). `weight` is the weight of `b`; `weight=none`, for re-rankers, lets it follow from the
    length of the query and from whether the encoder knows the language. As a first stage it ranks the documents of both
    lists, each `depth` deep; a document in one list only gets nothing from the other. Evidence and score parts come
    from the component that has them, from `a` where both do.
    """

    a: Stage
    b: Stage
    method: fuse.Method = "rrf"
    weight: float | None = 0.5
    k: int = 60
    name: ClassVar[str] = "fuse"
    kinds: ClassVar[tuple[Kind, ...]] = ("ranker", "reranker")
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"weight": tuple(tenth / 10 for tenth in range(11))}

    def __post_init__(self) -> None:
        for part in ("a", "b"):
            fits = isinstance(getattr(self, part), Ranker | Reranker)
            require(self, part, fits, "a first stage or a re-ranker, such as BM25() or RPRS()")
        require(self, "method", self.method in ("rrf", "minmax", "zscore"), "'rrf', 'minmax' or 'zscore'")
        require(self, "weight", self.weight is None or 0 <= self.weight <= 1, "none or a number in [0, 1]")
        require(self, "k", self.k >= 0, "an integer in [0, inf)")

    def load(self, progress: Progress = silent) -> None:
        """Load the models of both, where they have any."""
        for part in (self.a, self.b):
            if isinstance(part, Loadable):
                part.load(progress)

    # ------------------------------------------------------------------------ as a first stage

    def rank(self, query: Document, index: Index, depth: int, allowed: Mask) -> Ranking:
        """The best documents of both lists; a score part is NaN for a document that has none."""
        if self.weight is None:
            raise UsageError(f"{self} as a first stage needs a weight: a number in [0, 1]")
        lists = [ranker.rank(query, index, depth, allowed) for ranker in self._rankers()]
        ids = sorted({id for ranking in lists for id in ranking.ids})
        shares = [self._shares(ranking, ids) for ranking in lists]
        scores = fuse.mix(shares[0], shares[1], self.weight, self.method)
        order = np.lexsort((np.arange(len(ids)), -scores))[:depth]
        return Ranking(
            ids=tuple(ids[place] for place in order),
            scores=scores[order],
            parts={name: values[order] for name, values in _parts_by_id(lists, ids).items()},
            notes=tuple(dict.fromkeys(note for ranking in lists for note in ranking.notes)),
        )

    def _shares(self, ranking: Ranking, ids: Sequence[str]) -> Floats:
        """What one list contributes to the documents of both."""
        values = fuse.shares(ranking.scores, self.method, self.k)
        return _by_id(ranking, values, ids, float(values.min(initial=0.0)) if self.method == "zscore" else 0.0)

    def _rankers(self) -> list[Ranker]:
        rankers: list[Ranker] = [part for part in (self.a, self.b) if isinstance(part, Ranker)]
        if len(rankers) < 2:
            raise UsageError(f"{self} needs two first stages as its parts: bm25, sdr, maxsim ...")
        return rankers

    # ------------------------------------------------------------------------ as a re-ranker

    def rerank(self, query: Sentences, candidates: Candidates, advance: Advance = no_op) -> Ranking:
        """The candidates by the weighted sum of what both give them."""
        return self.score(self.prepare(query, candidates, advance), candidates)

    def prepare(self, query: Sentences, candidates: Candidates, advance: Advance = no_op) -> PreparedFusion:
        """Re-rank with both."""
        half = divided(advance, 2)
        a, b = (reranker.rerank(query, candidates, half) for reranker in self._rerankers())
        position = {id: number for number, id in enumerate(candidates.ranking.ids)}
        orders = [np.array([position[id] for id in ranking.ids], dtype=np.int64) for ranking in (a, b)]
        return PreparedFusion(
            a=in_pool_order(fuse.shares(a.scores, self.method, self.k), orders[0]),
            b=in_pool_order(fuse.shares(b.scores, self.method, self.k), orders[1]),
            automatic=fuse.automatic_weight(
                len(query) / candidates.mean_sentences if candidates.mean_sentences else 1.0, candidates.knows_language
            ),
            parts={
                name: in_pool_order(values, order)
                for ranking, order in ((b, orders[1]), (a, orders[0]))
                for name, values in ranking.parts.items()
            },
            neighbours=b.neighbours if a.neighbours is None else a.neighbours,
            notes=tuple(dict.fromkeys((*a.notes, *b.notes))),
            truncation=a.truncation + b.truncation,
        )

    def score(self, prepared: PreparedFusion, candidates: Candidates) -> Ranking:
        """Add the two up with the present weight."""
        return order_candidates(
            candidates,
            fuse.mix(prepared.a, prepared.b, prepared.automatic if self.weight is None else self.weight, self.method),
            parts=prepared.parts,
            neighbours=prepared.neighbours,
            notes=prepared.notes,
            truncation=prepared.truncation,
        )

    def _rerankers(self) -> list[Reranker]:
        rerankers: list[Reranker] = [part for part in (self.a, self.b) if isinstance(part, Reranker)]
        if len(rerankers) < 2:
            raise UsageError(f"{self} needs two re-rankers as its parts: first, rprs, sdr, birch ...")
        return rerankers


def _by_id(ranking: Ranking, values: Floats, ids: Sequence[str], absent: float) -> Floats:
    """The values of a ranking's documents in the order of `ids`."""
    value_of = dict(zip(ranking.ids, values.tolist(), strict=True))
    return np.array([value_of.get(id, absent) for id in ids], dtype=np.float64)


def _parts_by_id(lists: Sequence[Ranking], ids: Sequence[str]) -> Mapping[str, Floats]:
    """The score parts of both lists; those of the first where both have one of the same name."""
    return {
        name: _by_id(ranking, values, ids, np.nan)
        for ranking in reversed(lists)
        for name, values in ranking.parts.items()
    }


# ---------------------------------------------------------------------------- what a first stage consists of


def uses_vectors(ranker: Any) -> bool:
    """Whether a first stage may read sentence vectors; False only where its ranking is the same with any encoder."""
    if isinstance(ranker, Fuse):
        return uses_vectors(ranker.a) or uses_vectors(ranker.b)
    return not isinstance(ranker, BM25 | Blend | Cosine | RunFile)


def run_files(ranker: Any) -> list[RunFile]:
    """The run files that a first stage reads, directly or in its parts."""
    if isinstance(ranker, RunFile):
        return [ranker]
    parts = [getattr(ranker, field.name) for field in fields(ranker)]
    return [file for part in parts if is_dataclass(part) for file in run_files(part)]
