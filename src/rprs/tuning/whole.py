"""Tuning RPRS as a first stage: one pass over all sentences of the index per query, for all points of a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rprs.document import Document, Neighbours, Ranking
from rprs.errors import UsageError
from rprs.evaluation.measures import Measure
from rprs.files.cache import Cache
from rprs.index import Index
from rprs.progress import Progress, show_scans, silent
from rprs.rank import RPRS, Mask, System
from rprs.rank.batch import allowed_documents, mask_digest
from rprs.rank.date_limit import DateLimit
from rprs.rank.scan import neighbours_in_index
from rprs.read import Exclusions
from rprs.scoring import grid as kernel
from rprs.scoring.whole import restrict
from rprs.tuning.choose import (
    Folds,
    Problem,
    Qrels,
    Tuned,
    as_measure,
    choose,
    judged_queries,
    map_queries,
    measured_lists,
    unused_judgements,
)
from rprs.tuning.grids import Axes, RprsGrid, Value

__all__ = ["require_tunable", "tune_whole_rprs"]

Floats = NDArray[np.float64]

CELLS = 2**22  # scores of one query that are in memory at a time


def tune_whole_rprs(
    index: Index,
    queries: Sequence[Document],
    qrels: Qrels,
    measure: Measure | str,
    grid: RprsGrid | None = None,
    *,
    folds: Folds = None,
    base: System,
    exclude: Exclusions | None = None,
    limit: DateLimit | None = None,
    cache: Cache | None = None,
    progress: Progress = silent,
) -> Tuned:
    """The best (n, k1, b) of RPRS as a first stage of `base.depth` documents.

    Neither the query itself nor the documents to `exclude` for it nor newer ones than its date limit are ranked.
    `base.first` has the other parameters.
    """
    measure, axes, ranker = as_measure(measure), (grid or RprsGrid()).axes(), require_tunable(base.first)
    documents = {query.id: query for query in queries}
    judged = judged_queries(list(documents), qrels)
    n = max(ranker.n, *(grid or RprsGrid()).n)
    key = index.fingerprint if cache else ""
    pools: dict[str, _WholePool] = {}
    with progress("comparing all sentences", len(judged), "queries") as advance, show_scans(progress):
        for query in judged:
            document, excluded = documents[query], (exclude or {}).get(query, ())
            allowed = allowed_documents(index, [document], exclude=excluded, limit=limit).mask
            pools[query] = _cached_pool(ranker, document, index, allowed, n, cache, key)
            advance(1)

    def parts(query: str) -> Floats:
        return _parts(pools[query], index, base.depth, axes, measure, qrels[query])

    def rank(query: str, point: Mapping[str, Value]) -> Ranking:
        pool = pools[query]
        ids = [index.ids[number] for number in pool.numbers]
        return _at(ranker, point).rank_neighbours(pool.neighbours, ids, pool.avgdl, base.depth)

    def system(point: Mapping[str, Value]) -> System:
        return base.changed(first=_at(ranker, point))

    problem = Problem(
        axes=axes,
        measure=measure,
        queries=judged,
        parts=np.stack(list(map_queries(parts, judged, progress, "scoring the grid"))),
        system=system,
        rank=rank,
        contents={query.id: query.content_hash for query in queries},
        notes=unused_judgements(judged, qrels),
        before={"n": ranker.n, "k1": ranker.k1, "b": ranker.b},
        qrels=qrels,
    )
    return choose(problem, folds)


def require_tunable(ranker: object) -> RPRS:
    """The RPRS of a first stage; an ablation has no grid."""
    if not isinstance(ranker, RPRS) or ranker.form != "full":
        raise UsageError(f"The first stage {ranker} has no grid: blend, bm25, cosine and rprs(form=full) have")
    return ranker


def _at(ranker: RPRS, point: Mapping[str, Value]) -> RPRS:
    return replace(ranker, **point)  # type: ignore[arg-type]  # RPRS checks them


@dataclass(frozen=True, slots=True)
class _WholePool:
    """The neighbours of one query in the whole index; only documents that have any are in the pool, by id."""

    neighbours: Neighbours
    numbers: NDArray[np.int64]  # (k,): of the documents in the index
    avgdl: float


def _cached_pool(
    ranker: RPRS, query: Document, index: Index, allowed: Mask, n: int, cache: Cache | None, key: str
) -> _WholePool:
    def compute() -> dict[str, NDArray[np.generic]]:
        nearest = neighbours_in_index(index.query_sentences(query), index, allowed, n, ranker.ties)
        some, places = restrict(nearest)
        return {
            "similarity": some.similarity,
            "sentence": some.sentence,
            "offsets": some.offsets,
            "numbers": np.flatnonzero(allowed)[places],
            "avgdl": np.array([ranker.average_length(nearest, index.mean_sentences)]),
        }

    inputs = {
        "index": key,
        "query": [query.id, query.content_hash],
        "allowed": mask_digest(allowed),
        "n": n,
        "ties": ranker.ties,
        "avgdl": ranker.avgdl,
    }
    arrays = compute() if cache is None else cache.arrays("whole-neighbours", inputs, compute)
    nearest = Neighbours(arrays["similarity"], arrays["sentence"], arrays["offsets"])  # type: ignore[arg-type]
    return _WholePool(nearest, arrays["numbers"], float(arrays["avgdl"][0]))  # type: ignore[arg-type]


def _parts(
    pool: _WholePool, index: Index, depth: int, axes: Axes, measure: Measure, judgements: Mapping[str, int]
) -> Floats:
    """(points, j) of one query: documents with a positive score, at most `depth` of them."""
    n, k1, b = (np.array(axes.values[name]) for name in ("n", "k1", "b"))
    pairs = np.repeat(k1, len(b)), np.tile(b, len(k1))
    grades = np.array([judgements.get(index.ids[number], -1) for number in pool.numbers], dtype=np.int64)
    chunk = max(1, CELLS // max(1, len(n) * len(grades)))
    blocks = []
    for start in range(0, len(pairs[0]), chunk):
        some = slice(start, start + chunk)
        scores = kernel.scores(pool.neighbours, n.tolist(), pairs[0][some], pairs[1][some], pool.avgdl)
        order = kernel.orders(scores, pool.neighbours.offsets)[:, :, :depth]
        falling = np.take_along_axis(scores.transpose(0, 2, 1), order, 2)
        flat = (order.shape[0] * order.shape[1], order.shape[2])
        sizes = np.count_nonzero(falling > 0, axis=2).ravel()
        parts = measured_lists(measure, grades[order].reshape(flat), falling.reshape(flat), sizes, judgements)
        blocks.append(parts.reshape(len(n), order.shape[1], -1))
    joined = np.concatenate(blocks, axis=1)
    return joined.reshape(-1, joined.shape[2])
