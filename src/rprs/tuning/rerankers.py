"""Tuning re-rankers: RPRS over its whole grid from neighbours found once, and any other re-ranker.

A `TwoStepReranker` prepares the candidates once for all points; others rank again at every point.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rprs import spec
from rprs.document import EMPTY_RANKING, NOT_ENCODED, Candidates, Document, Ranking, Sentences, Truncation
from rprs.encode import Loadable
from rprs.errors import UsageError
from rprs.evaluation.measures import Measure
from rprs.files.cache import Cache
from rprs.index import Index
from rprs.progress import Progress, silent
from rprs.rank import RPRS, Reranker, System, TwoStepReranker, load_candidates
from rprs.rank.identity import identity
from rprs.rank.system import require_depth
from rprs.scoring import grid as kernel
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
    unused_judgements,
)
from rprs.tuning.grids import Axes, RprsGrid, Value, ascending
from rprs.tuning.pools import Pool

__all__ = ["reranker_axes", "tune_reranker", "tune_rprs"]

Floats = NDArray[np.float64]
Run = Mapping[str, Ranking]

CELLS = 2**22  # scores of one query that are in memory at a time


# ---------------------------------------------------------------------------- RPRS


def tune_rprs(
    pools: Mapping[int, Sequence[Pool]],
    qrels: Qrels,
    measure: Measure | str,
    grid: RprsGrid | None = None,
    *,
    folds: Folds = None,
    base: System | None = None,
    progress: Progress = silent,
) -> Tuned:
    """The best (n, k1, b) of RPRS, and the best depth where there are pools of several.

    Tuned on the queries that have pools and a relevant document. `folds` is a number, or the fold of each query; `base`
    is the system to tune, with the other parameters of RPRS.
    """
    base, measure, grid = base or System(rerank=RPRS()), as_measure(measure), grid or RprsGrid()
    reranker = _require_rprs(base.rerank)
    axes = grid.axes(sorted(pools))
    numbers = {pool.query: number for number, pool in enumerate(pools[min(pools)])}
    contents = {pool.query: pool.content for pool in pools[min(pools)]}
    queries = judged_queries(list(numbers), qrels)

    def parts(query: str) -> Floats:
        own = [pools[depth][numbers[query]] for depth in sorted(pools)]
        return np.concatenate([_rprs_parts(pool, measure, axes, reranker, qrels[query]) for pool in own])

    def rank(query: str, point: Mapping[str, Value]) -> Ranking:
        pool = pools[_depth(point, base)][numbers[query]]
        at: RPRS = _at(reranker, point)
        return at.from_neighbours(pool.neighbours, pool.ids, pool.mean_sentences)

    values = np.stack(list(map_queries(parts, queries, progress, "scoring the grid")))
    before = {"depth": base.depth, "n": reranker.n, "k1": reranker.k1, "b": reranker.b}
    problem = Problem(
        axes=axes,
        measure=measure,
        queries=queries,
        parts=values,
        system=partial(_system, base, reranker),
        rank=rank,
        contents=contents,
        notes=unused_judgements(queries, qrels),
        before=before if base.depth in pools and reranker.n <= max(grid.n) else None,  # the pools hold no more
        qrels=qrels,
    )
    return choose(problem, folds)


def _rprs_parts(pool: Pool, measure: Measure, axes: Axes, reranker: RPRS, judgements: Mapping[str, int]) -> Floats:
    """(points of one depth, j)."""
    n, k1, b = (np.array(axes.values[name]) for name in ("n", "k1", "b"))
    if len(pool.ids) and pool.neighbours.sentence.shape[1] < min(n[-1], pool.neighbours.offsets[-1]):
        have = pool.neighbours.sentence.shape[1]
        raise UsageError(f"The grid needs n up to {n[-1]}, but the pool of {pool.query!r} has {have} neighbours")
    pairs = np.repeat(k1, len(b)), np.tile(b, len(k1))
    avgdl = reranker.average_length(pool.neighbours, pool.mean_sentences)
    grades = np.array([judgements.get(id, -1) for id in pool.ids], dtype=np.int64)
    chunk = max(1, CELLS // max(1, len(n) * len(pool)))
    blocks = []
    for start in range(0, len(pairs[0]), chunk):
        some = slice(start, start + chunk)
        scores = kernel.scores(pool.neighbours, n.tolist(), pairs[0][some], pairs[1][some], avgdl)
        order = kernel.orders(scores, pool.neighbours.offsets)
        falling = np.take_along_axis(scores.transpose(0, 2, 1), order, 2)
        flat = (order.shape[0] * order.shape[1], len(pool))
        parts = measured(measure, grades[order].reshape(flat), falling.reshape(flat), judgements)
        blocks.append(parts.reshape(len(n), order.shape[1], -1))
    joined = np.concatenate(blocks, axis=1)
    return joined.reshape(-1, joined.shape[2])


def _require_rprs(reranker: Reranker | None) -> RPRS:
    reranker = reranker or RPRS()
    if not isinstance(reranker, RPRS) or reranker.form != "full":
        raise UsageError(f"{reranker} cannot be tuned from neighbours alone: use tune_reranker")
    return reranker


# ---------------------------------------------------------------------------- any re-ranker


def tune_reranker(
    index: Index,
    queries: Sequence[Document],
    run: Run,
    qrels: Qrels,
    measure: Measure | str,
    grid: Mapping[str, Sequence[Value]] | None = None,
    *,
    folds: Folds = None,
    base: System | None = None,
    mean_sentences: float | None = None,
    cache: Cache | None = None,
    progress: Progress = silent,
) -> Tuned:
    """The best values of the parameters of any re-ranker, `base.rerank`, and of "depth".

    `run` is the first stage's, as deep as the deepest point. A `TwoStepReranker` prepares the candidates of a query
    once and scores them at every point; `grid` replaces the values of the parameters that it names. Any other re-ranks
    every query at every point of `grid`, which should then be small. Where the index holds a part of the collection
    only, `mean_sentences` is that of the whole collection.
    """
    base, measure = base or System(), as_measure(measure)
    reranker: Any = base.rerank or RPRS()
    axes = reranker_axes(reranker, base, grid or {})
    points = [_Point.of(_at(reranker, point), _depth(point, base)) for point in axes.points()]
    trials = _Trials(index, {query.id: query for query in queries}, run, qrels, measure, points, mean_sentences)
    judged = judged_queries(list(trials.queries), qrels)
    if isinstance(reranker, Loadable):
        reranker.load(progress)
    key = identity(reranker, cache) if cache else None
    shared = {"index": index.fingerprint, "rerank": key, "grid": axes.values} if key else None

    def rank(query: str, point: Mapping[str, Value]) -> Ranking:
        return trials.prepared(query).rank(_Point.of(_at(reranker, point), _depth(point, base)))

    outcomes: list[Mapping[str, NDArray[Any]]] = []
    with progress("re-ranking", len(judged), "queries") as advance:
        for query in judged:
            if cache is None or shared is None:
                outcomes.append(trials.outcome(query))
            else:
                outcomes.append(trials.cached_outcome(query, cache, shared))
            advance(1)
    same = [point.reranker == reranker and point.depth == base.depth for point in points]
    problem = Problem(
        axes=axes,
        measure=measure,
        queries=judged,
        parts=np.stack([each["parts"] for each in outcomes]),
        system=partial(_system, base, reranker),
        rank=rank,
        contents={query.id: query.content_hash for query in queries},
        notes=(*unused_judgements(judged, qrels), *_truncation_notes(outcomes)),
        before=axes.point(same.index(True)) if any(same) else None,
        qrels=qrels,
    )
    return choose(problem, folds)


def reranker_axes(reranker: Any, base: System, grid: Mapping[str, Sequence[Value]]) -> Axes:
    """The grid as a box, with the re-ranker's own values where none are given; an unknown parameter is an error."""
    every = [each.name for each in fields(reranker) if each.init]
    names = [name for name in every if not _is_component(reranker, name)]
    for name, listed in grid.items():
        is_part = name in every and all(isinstance(value, str) for value in listed)  # its values are components
        if name not in (*names, "depth") and not is_part:
            has = f"it has {', '.join(names)} and depth{_owner_hint(reranker, name)}"
            raise UsageError(f"{reranker.name} has no parameter {name!r} to tune: {has}")
    tried = {**_own_grid(reranker), **grid}
    if not tried:
        decimal = next((name for name in names if isinstance(getattr(reranker, name), float)), None)
        hint = f"{decimal}=0..0.9/0.1" if decimal else "depth=15..100/5"
        raise UsageError(f"There is no grid for {reranker.name}: give the values to try, as {hint}")
    values: dict[str, tuple[Value, ...]] = {"depth": (base.depth,)}
    values |= {name: ascending(each) for name, each in tried.items()}
    axes = Axes(values, tuple(dict.fromkeys([*tried, "depth"])))
    for point in axes.points():
        _at(reranker, point)
        _depth(point, base)
    return axes


def _own_grid(reranker: Any) -> dict[str, Sequence[Value]]:
    """The re-ranker's own values, with none where that is the present one: it lets a parameter follow from the data."""
    own: Mapping[str, Sequence[Value]] = reranker.grid if isinstance(reranker, TwoStepReranker) else {}
    return {name: (None, *values) if getattr(reranker, name) is None else values for name, values in own.items()}


def _is_component(reranker: Any, name: str) -> bool:
    return isinstance(getattr(reranker, name), spec.Component)


def _owner_hint(reranker: Any, name: str) -> str:
    """Which of its parts has a parameter, and how to tune that, if one has it."""
    parts = [getattr(reranker, each.name) for each in fields(reranker) if _is_component(reranker, each.name)]
    owner = next((part.name for part in parts if name in {each.name for each in fields(part)}), None)
    return f"; {name!r} is a parameter of {owner}, which is tuned as a re-ranker of its own" if owner else ""


@dataclass(frozen=True)
class _Point:
    """A re-ranker with its parameters, and how many candidates it gets."""

    reranker: Any
    depth: int
    fixed: tuple[Any, ...] | None = None  # of a two-step one: the parameters that its preparation depends on

    @classmethod
    def of(cls, reranker: Any, depth: int) -> _Point:
        if not isinstance(reranker, TwoStepReranker):
            return cls(reranker, depth)
        names = [each.name for each in fields(cast(Any, reranker)) if each.name not in reranker.grid]
        return cls(reranker, depth, tuple(getattr(reranker, name) for name in names))


@dataclass(frozen=True)
class _Trials:
    """All points of a grid, for one query after the other."""

    index: Index
    queries: Mapping[str, Document]
    run: Run
    qrels: Qrels
    measure: Measure
    points: Sequence[_Point]
    mean_sentences: float | None
    kept: dict[str, _PreparedQuery] = field(default_factory=dict)  # small where all points are of two steps

    def prepared(self, query: str) -> _PreparedQuery:
        """The query and its candidates, with their preparation if that was kept."""
        deepest = max(point.depth for point in self.points)
        return self.kept.get(query) or _PreparedQuery.of(
            self.index, self.queries[query], self.run, deepest, self.mean_sentences
        )

    def outcome(self, query: str) -> dict[str, NDArray[Any]]:
        """The measure of a query at every point, and how much a model truncated at the last one, the deepest."""
        prepared = self.prepared(query)
        rankings = [prepared.rank(point) for point in self.points]
        if all(point.fixed is not None for point in self.points):
            self.kept[query] = prepared.without_vectors()
        truncation = np.array(astuple(rankings[-1].truncation), dtype=np.int64)
        return {"parts": _all_parts(self.measure, rankings, self.qrels[query]), "truncation": truncation}

    def cached_outcome(self, query: str, cache: Cache, shared: Mapping[str, Any]) -> Mapping[str, NDArray[Any]]:
        """The same from the cache; `shared` is what the outcomes of all queries depend on."""
        candidates = self.run.get(query, EMPTY_RANKING)
        inputs = {
            **shared,
            "query": [query, self.queries[query].content_hash],
            "candidates": [candidates.ids, candidates.scores.tolist()],
            "mean_sentences": self.mean_sentences,
            "measure": str(self.measure),
            "qrels": sorted(self.qrels[query].items()),
        }
        return cache.arrays("rerank-points", inputs, partial(self.outcome, query))


def _truncation_notes(outcomes: Iterable[Mapping[str, NDArray[Any]]]) -> tuple[str, ...]:
    """A note if a model truncated inputs of the queries."""
    counts = np.array([each["truncation"] for each in outcomes]).reshape(-1, 3)
    return Truncation(int(counts[:, 0].sum()), int(counts[:, 1].sum()), int(counts[:, 2].max(initial=0))).notes


@dataclass(frozen=True)
class _PreparedQuery:
    """A query and its candidates, ready to be re-ranked again and again."""

    query: Sentences
    candidates: Candidates
    preparations: dict[Any, Any] = field(
        default_factory=dict
    )  # by depth and by the parameters that a grid leaves alone

    @classmethod
    def of(
        cls, index: Index, query: Document, run: Run, depth: int, mean_sentences: float | None = None
    ) -> _PreparedQuery:
        top = run.get(query.id, EMPTY_RANKING).top(depth)
        return cls(index.query_sentences(query), load_candidates(index, query, top, mean_sentences))

    def without_vectors(self) -> _PreparedQuery:
        """The same for points that are prepared, without the vectors of the query."""
        return replace(self, query=replace(self.query, vectors=NOT_ENCODED))

    def rank(self, point: _Point) -> Ranking:
        """The ranking at a point; empty for a query without sentences or without candidates."""
        if not len(self.query) or not self.candidates.sentences:
            return EMPTY_RANKING
        if point.fixed is None:
            ranking: Ranking = point.reranker.rerank(self.query, self.candidates.top(point.depth))
            return ranking
        key = (min(point.depth, len(self.candidates.ranking)), point.fixed)
        if key not in self.preparations:
            top = self.candidates.top(point.depth)
            self.preparations[key] = top, point.reranker.prepare(self.query, top)
        top, prepared = self.preparations[key]
        scored: Ranking = point.reranker.score(prepared, top)
        return scored


def _all_parts(measure: Measure, rankings: Iterable[Ranking], judgements: Mapping[str, int]) -> Floats:
    """(points, j): the parts of a measure for every ranking of a query; those of one length are measured together."""
    rows: dict[int, list[int]] = {}
    grades: dict[int, list[list[int]]] = {}
    scores: dict[int, list[Floats]] = {}
    for number, ranking in enumerate(rankings):
        size = len(ranking)
        rows.setdefault(size, []).append(number)
        grades.setdefault(size, []).append([judgements.get(id, -1) for id in ranking.ids])
        scores.setdefault(size, []).append(np.asarray(ranking.scores, dtype=np.float64))
    parts = [
        measured(measure, np.array(grades[size], np.int64).reshape(len(each), size), np.stack(scores[size]), judgements)
        for size, each in rows.items()
    ]
    return np.concatenate(parts)[np.argsort(np.concatenate([*rows.values()]))]


# ---------------------------------------------------------------------------- shared


def _at(reranker: Any, point: Mapping[str, Value]) -> Any:
    """A re-ranker at a point."""
    return spec.changed(reranker, {name: value for name, value in point.items() if name != "depth"}, "reranker")


def _depth(point: Mapping[str, Value], base: System) -> int:
    return require_depth(point.get("depth", base.depth))


def _system(base: System, reranker: Any, point: Mapping[str, Value]) -> System:
    return base.changed(rerank=_at(reranker, point), depth=_depth(point, base))
