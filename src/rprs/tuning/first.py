"""Tuning the first stage: BM25 at all its points in one pass over the postings, others prepared once per query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rprs import spec
from rprs.document import Document, Ranking
from rprs.errors import UsageError
from rprs.evaluation.measures import Measure
from rprs.files.cache import Cache
from rprs.index import Index
from rprs.progress import Progress, silent
from rprs.rank import BM25, Mask, System, TwoStepRanker
from rprs.rank.batch import allowed_documents, mask_digest
from rprs.rank.date_limit import DateLimit
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
    measured,
    measured_lists,
    unused_judgements,
)
from rprs.tuning.grids import Axes, Bm25Grid, Value, ascending

__all__ = ["Lists", "PointParts", "rank_grid", "tune_bm25", "tune_two_step", "two_step_axes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CELLS = 2**22  # documents in the running lists of one query at a time


class PointParts(Protocol):
    """The parts of a measure at all points of a grid, for one query: (points, j)."""

    def __call__(
        self,
        ranker: Any,
        query: Document,
        index: Index,
        depth: int,
        allowed: Mask,
        axes: Axes,
        measure: Measure,
        judgements: Mapping[str, int],
    ) -> Floats:
        """Rank at every point and measure."""
        ...


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
    limit: DateLimit | None = None,
    cache: Cache | None = None,
    progress: Progress = silent,
) -> Tuned:
    """The best k1, b and share of terms (KLI) of BM25 as a first stage of `base.depth` documents.

    Neither the query itself nor the documents to `exclude` for it nor newer ones than its date limit are ranked.
    `base.first` has the other parameters.
    """
    base, axes = base or System(first=BM25()), (grid or Bm25Grid()).axes()
    if not isinstance(base.first, BM25):
        raise UsageError(f"The first stage {base.first} has no grid: blend, bm25, cosine and rprs(form=full) have")
    documents = {query.id: query for query in queries}
    task = _Task(index, documents, qrels, as_measure(measure), axes, base, exclude or {}, limit)
    return task.tune(_parts, folds, cache, progress)


def tune_two_step(
    index: Index,
    queries: Sequence[Document],
    qrels: Qrels,
    measure: Measure | str,
    axes: Axes,
    *,
    folds: Folds = None,
    base: System,
    exclude: Exclusions | None = None,
    limit: DateLimit | None = None,
    cache: Cache | None = None,
    progress: Progress = silent,
) -> Tuned:
    """The same for a `TwoStepRanker` such as `blend`: prepared once per query, scored at every point of `axes`."""
    documents = {query.id: query for query in queries}
    task = _Task(index, documents, qrels, as_measure(measure), axes, base, exclude or {}, limit)
    return task.tune(_two_step_parts, folds, cache, progress)


def two_step_axes(ranker: TwoStepRanker, grid: Mapping[str, Sequence[Value]]) -> Axes:
    """The values to try of each parameter: the ranker's own where none are given; a wrong one is an error."""
    for name in grid:
        if name not in ranker.grid:
            raise UsageError(f"{ranker} has no parameter {name!r} to tune: it has {', '.join(ranker.grid)}")
    axes = Axes({name: ascending(grid.get(name, values)) for name, values in ranker.grid.items()}, tuple(ranker.grid))
    for point in axes.points():
        _at(ranker, point)
    return axes


@dataclass(frozen=True)
class _Task:
    index: Index
    documents: Mapping[str, Document]
    qrels: Qrels
    measure: Measure
    axes: Axes
    base: System
    exclude: Exclusions
    limit: DateLimit | None

    def tune(self, measure_points: PointParts, folds: Folds, cache: Cache | None, progress: Progress) -> Tuned:
        """Measure every query at every point, and choose."""
        ranker: Any = self.base.first
        for point in self.axes.points():
            _at(ranker, point)  # a wrong value is an error before anything is computed
        judged = judged_queries(list(self.documents), self.qrels)
        shared = {
            "index": self.index.fingerprint if cache else "",
            "ranker": spec.text(ranker, full=True),
            "depth": self.base.depth,
            "grid": self.axes.values,
            "measure": str(self.measure),
        }

        def parts(query: str) -> Floats:
            return self._parts(query, measure_points, cache, shared)

        problem = Problem(
            axes=self.axes,
            measure=self.measure,
            queries=judged,
            parts=np.stack(list(map_queries(parts, judged, progress, "ranking at all points"))),
            system=lambda point: self.base.changed(first=_at(ranker, point)),
            rank=self._rank,
            contents={id: query.content_hash for id, query in self.documents.items()},
            notes=unused_judgements(judged, self.qrels),
            before={name: getattr(ranker, name) for name in self.axes.values},
            qrels=self.qrels,
        )
        return choose(problem, folds)

    def _rank(self, query: str, point: Mapping[str, Value]) -> Ranking:
        ranking: Ranking = _at(self.base.first, point).rank(
            self.documents[query], self.index, self.base.depth, self._allowed(query)
        )
        return ranking

    def _allowed(self, query: str) -> Mask:
        document, exclude = self.documents[query], self.exclude.get(query, ())
        return allowed_documents(self.index, [document], exclude=exclude, limit=self.limit).mask

    def _parts(self, query: str, measure_points: PointParts, cache: Cache | None, shared: Mapping[str, Any]) -> Floats:
        document, allowed, judgements = self.documents[query], self._allowed(query), self.qrels[query]

        def compute() -> dict[str, Floats]:
            limits = (self.base.depth, allowed, self.axes, self.measure, judgements)
            return {"parts": measure_points(self.base.first, document, self.index, *limits)}

        if cache is None:
            return compute()["parts"]
        inputs = {
            **shared,
            "query": [query, document.content_hash],
            "allowed": mask_digest(allowed),
            "qrels": sorted(judgements.items()),
        }
        return cache.arrays(f"{self.base.first.name}-points", inputs, compute)["parts"]  # type: ignore[attr-defined]


def _at(ranker: Any, point: Mapping[str, Value]) -> Any:
    return replace(ranker, **point)  # the component checks them


def _two_step_parts(
    ranker: TwoStepRanker,
    query: Document,
    index: Index,
    depth: int,
    allowed: Mask,
    axes: Axes,
    measure: Measure,
    judgements: Mapping[str, int],
) -> Floats:
    grades = _grades(index, judgements)
    prepared = ranker.prepare(query, index)
    rows = []
    for point in axes.points():
        scores = _at(ranker, point).score(prepared, index)
        best = bm25.top(scores, depth, allowed)
        rows.append(measured(measure, grades[best][None], scores[best][None], judgements)[0])
    return np.stack(rows)


def _grades(index: Index, judgements: Mapping[str, int]) -> Ints:
    """The grade of every document by its number, -1 for one without judgement; the last is for no document."""
    grades = np.full(len(index) + 1, -1, dtype=np.int64)
    for id, grade in judgements.items():
        number = index.number(id)
        if number is not None:
            grades[number] = grade
    return grades


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
    grades = _grades(index, judgements)
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
    weights = terms.weights[keep]
    shape = (len(portions), len(k1), depth)
    best, where = np.zeros(shape), np.full(shape, len(index), dtype=np.int64)
    sizes = np.zeros(shape[:2], dtype=np.int64)
    relative = terms.lengths / terms.mean_length if terms.mean_length > 0 else np.zeros(len(terms.lengths))
    for segment, numbers, (starts, stops) in zip(index.segments, index.numbers, terms.postings, strict=True):
        eligible = np.where(numbers >= 0, allowed[numbers], False) if len(allowed) else np.zeros(len(numbers), bool)
        bm25.accumulate_grid(
            starts[keep],
            stops[keep],
            weights,
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
