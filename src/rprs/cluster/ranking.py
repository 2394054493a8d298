"""The first stages that can rank in a shard, in steps; all others are refused by name with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.cluster.scope import Scope
from rprs.document import Neighbours, Ranking, Sentences
from rprs.errors import InvalidIndex, UsageError
from rprs.index import Index
from rprs.rank.blend import Blend
from rprs.rank.bm25 import BM25
from rprs.rank.cosine import Cosine
from rprs.rank.maxsim import MaxSim, MeanPool
from rprs.rank.rprs import RPRS
from rprs.rank.scan import neighbours_in_index, vector_steps
from rprs.rank.sdr import SDR
from rprs.rank.stages import Mask
from rprs.rank.steps import Steps
from rprs.scoring import bm25
from rprs.scoring.whole import restrict

__all__ = ["BY_TERMS", "BY_VECTORS", "RankRequest", "Ranked", "rank_steps"]

BY_TERMS = (BM25, Blend, Cosine)
BY_VECTORS = (MaxSim, MeanPool, RPRS, SDR)
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RankRequest:
    """A first stage, and the words or sentences of a query; `token` names the query among others."""

    token: str
    ranker: Any
    scope: Scope
    depth: int
    words: tuple[str, ...] = ()
    query: Sentences | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """The best documents of a shard, with their numbers of sentences.

    With RPRS, these are all documents with one of the nearest sentences, by id, and `nearest` has these sentences;
    `pool` is the number of allowed documents and of their sentences.
    """

    ids: tuple[str, ...]
    scores: NDArray[np.float64]
    counts: Ints
    nearest: Neighbours | None = None
    pool: tuple[int, int] = (0, 0)


def rank_steps(request: RankRequest, index: Index, allowed: Mask, *, weighed: bool) -> Steps[Ranked]:
    """The best documents of an index that is a part of a collection; `weighed`: its norms are those of the whole."""
    ranker = request.ranker
    if isinstance(ranker, BY_TERMS):
        if isinstance(ranker, Blend | Cosine) and not weighed:
            raise InvalidIndex(f"{ranker} needs norms of the whole cluster, which {index.path} lacks: build it again")
        scores = yield from ranker.steps(request.words, index)
        best = bm25.top(scores, request.depth, allowed)
        return _ranked(Ranking(tuple(index.ids[number] for number in best), scores[best]), index)
    if request.query is None or not isinstance(ranker, BY_VECTORS):
        raise UsageError(f"{ranker} cannot rank in a shard")
    if isinstance(ranker, RPRS):
        return _nearest(ranker, request.query, index, allowed)
    return _ranked((yield from vector_steps(ranker, request.query, index, request.depth, allowed)), index)


def _ranked(ranking: Ranking, index: Index) -> Ranked:
    numbers = [index._require_number(id) for id in ranking.ids]
    return Ranked(ranking.ids, ranking.scores, index.sentence_counts[numbers].astype(np.int64))


def _nearest(ranker: RPRS, query: Sentences, index: Index, allowed: Mask) -> Ranked:
    every = neighbours_in_index(query, index, allowed, ranker.n, ranker.ties)
    nearest, places = restrict(every)
    ids = tuple(index.ids[number] for number in np.flatnonzero(allowed)[places].tolist())
    pool = len(every.offsets) - 1, int(every.offsets[-1])
    return Ranked(ids, np.zeros(len(ids)), np.diff(nearest.offsets), nearest, pool)
