"""Tuning the first stage: BM25 at all its points in one pass over the postings of each query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rprs import spec
from rprs.document import Document, Ranking
from rprs.errors import UsageError
from rprs.evaluation.measures import Measure
from rprs.files.cache import Cache
from rprs.index import Index
from rprs.progress import Progress, silent
from rprs.rank import BM25, Mask, System
from rprs.rank.batch import allowed_documents, mask_digest
from rprs.read import Exclusions
from rprs.scoring import bm25
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
from rprs.tuning.grids import Axes, Bm25Grid, Value

__all__ = ["Lists", "rank_grid", "tune_bm25"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CELLS = 2**22  # documents in the running lists of one query at a time


def tune_bm25(
    index: Index,
    queries: Sequence[Document],
    qrels: Qrels,
    measure: Measure | str,
    grid: Bm25Grid | None = None,
    *,
    folds: Folds = None,
    base: System | None = None,
    exclude: Exclusions | None = None,
    cache: Cache | None = None,
    progress: Progress = silent,
) -> Tuned:
    """The best k1, b and share of terms (KLI) of BM25 as a first stage of `base.depth` documents.

    Neither the query itself nor the documents to `exclude` for it are ranked. `base.first` has the other parameters.
    """
    base, measure, axes = base or System(), as_measure(measure), (grid or Bm25Grid()).axes()
    ranker = base.first
    if not isinstance(ranker, BM25):
        raise UsageError(f"The first stage {ranker} has no grid: bm25 has one, and so does rprs")
    for point in axes.points():
        _at(ranker, point)  # a wrong value is an error before anything is computed
    documents = {query.id: query for query in queries}
    judged = judged_queries(list(documents), qrels)
    shared = {"ranker": spec.text(ranker, full=True), "depth": base.depth, "grid": axes.values, "measure": str(measure)}
    shared |= {"index": index.fingerprint} if cache else {}

    def mask(query: str) -> Mask:
        return allowed_documents(index, [documents[query]], exclude=(exclude or {}).get(query, ()))

    def parts(query: str) -> Floats:
        document, allowed, judgements = documents[query], mask(query), qrels[query]

        def compute() -> dict[str, Floats]:
            return {"parts": _parts(ranker, document, index, base.depth, allowed, axes, measure, judgements)}

        if cache is None:
            return compute()["parts"]
        inputs = {
            **shared,
            "query": [query, document.content_hash],
            "allowed": mask_digest(allowed),
            "qrels": sorted(judgements.items()),
        }
        return cache.arrays("bm25-points", inputs, compute)["parts"]

    def rank(query: str, point: Mapping[str, Value]) -> Ranking:
        return _at(ranker, point).rank(documents[query], index, base.depth, mask(query))

    def system(point: Mapping[str, Value]) -> System:
        return base.changed(first=_at(ranker, point))

    values = np.stack(list(map_queries(parts, judged, progress, "ranking at all points")))
    problem = Problem(
        axes=axes,
        measure=measure,
        queries=judged,
        parts=values,
        system=system,
        rank=rank,
        contents={query.id: query.content_hash for query in queries},
        notes=unused_judgements(judged, qrels),
        before={"kli": ranker.kli, "k1": ranker.k1, "b": ranker.b},
        qrels=qrels,
    )
    return choose(problem, folds)


def _at(ranker: BM25, point: Mapping[str, Value]) -> BM25:
    return replace(ranker, **point)  # type: ignore[arg-type]  # BM25 checks them


def _parts(
    ranker: BM25,
    query: Document,
    index: Index,
    depth: int,
    allowed: Mask,
    axes: Axes,
    measure: Measure,
    judgements: Mapping[str, int],
) -> Floats:
    """(points, j) of one query; lists of one length are measured together."""
    k1, b = (np.array(axes.values[name], dtype=np.float64) for name in ("k1", "b"))
    shares = [None if share is None else float(share) for share in axes.values["kli"]]
    pairs = np.repeat(k1, len(b)), np.tile(b, len(k1))
    grades = np.full(len(index) + 1, -1, dtype=np.int64)
    for id, grade in judgements.items():
        number = index.number(id)
        if number is not None:
            grades[number] = grade
    chunk = max(1, CELLS // (len(shares) * depth))
    blocks = []
    for start in range(0, len(pairs[0]), chunk):
        some = slice(start, start + chunk)
        lists = rank_grid(ranker, query, index, depth, allowed, pairs[0][some], pairs[1][some], shares)
        listed, scores = grades[lists.numbers.reshape(-1, depth)], lists.scores.reshape(-1, depth)
        parts = measured_lists(measure, listed, scores, lists.sizes.ravel(), judgements)
        blocks.append(parts.reshape(len(shares), -1, parts.shape[1]))
    everything = np.concatenate(blocks, axis=1)
    return everything.reshape(-1, everything.shape[2])


# ---------------------------------------------------------------------------- all points of one query


@dataclass(frozen=True, slots=True)
class Lists:
    """The best documents at s shares of terms × p pairs of k1 and b: `sizes` of them, best first."""

    numbers: Ints  # (s, p, depth)
    scores: Floats  # (s, p, depth)
    sizes: Ints  # (s, p)


def rank_grid(
    ranker: BM25,
    query: Document,
    index: Index,
    depth: int,
    allowed: Mask,
    k1: Floats,
    b: Floats,
    shares: Sequence[float | None],
) -> Lists:
    """The rankings of `BM25.rank` at each pair (k1, b) and each share of terms, to the last bit.

    The terms of a share are among those of any greater share, so one pass over the postings scores all of them.
    """
    terms = ranker.terms(query, index, counts=True)
    portions = [2.0 if share is None else share for share in shares]
    ascending = np.argsort(portions, kind="stable")
    since = np.full(len(terms.df), len(portions), dtype=np.int64)  # the smallest set that a term belongs to
    for place in reversed(range(len(portions))):
        share = shares[ascending[place]]
        since[terms.in_index if share is None else terms.informative(share)] = place
    keep = since < len(portions)
    shape = (len(portions), len(k1), depth)
    best, where = np.zeros(shape), np.full(shape, len(index), dtype=np.int64)
    sizes = np.zeros(shape[:2], dtype=np.int64)
    relative = terms.lengths / terms.mean_length if terms.mean_length > 0 else np.zeros(len(terms.lengths))
    for segment, numbers, (starts, stops) in zip(index.segments, index.numbers, terms.postings, strict=True):
        eligible = np.where(numbers >= 0, allowed[numbers], False) if len(allowed) else np.zeros(len(numbers), bool)
        bm25.accumulate_grid(
            starts[keep],
            stops[keep],
            terms.weights[keep],
            since[keep],
            segment.posting_documents,
            segment.posting_counts,
            np.where(eligible, numbers, -1),
            relative[numbers] if len(relative) else np.zeros(len(numbers)),
            k1,
            b,
            best,
            where,
            sizes,
        )
    back = np.argsort(ascending)
    return Lists(where[back], best[back], sizes[back])
