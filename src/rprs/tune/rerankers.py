"""Tuning what comes second: RPRS over its whole grid from neighbours found once, and any other re-ranker.

One that works in two stages looks at the candidates once for all points; others rank anew at each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from rprs import spec
from rprs.document import NOT_ENCODED, Candidates, Document, Ranking, Sentences, Truncation
from rprs.encode import Loadable
from rprs.encode.models import sha256
from rprs.errors import UsageError
from rprs.index import Index
from rprs.pools import Pool, Run
from rprs.progress import Progress, silent
from rprs.rerank import RPRS, Reranker, Staged, gather
from rprs.scoring import grid as kernel
from rprs.scoring.measures import Measure
from rprs.settings import Settings
from rprs.tune.choose import Folds, Problem, Qrels, Tuned, as_measure, choose, judged_queries, measured, unasked
from rprs.tune.grids import Axes, RprsGrid, Value, ascending
from rprs.tune.work import NOTHING, Work, in_turn, kept, model_files

__all__ = ["rerank_run", "reranker_axes", "tune_reranker", "tune_rprs"]

Floats = NDArray[np.float64]
Item = TypeVar("Item")

CELLS = 2**22  # scores of one query that are in memory at a time


# ---------------------------------------------------------------------------- RPRS


def tune_rprs(
    pools: Mapping[int, Sequence[Pool]],
    qrels: Qrels,
    measure: Measure | str,
    grid: RprsGrid | None = None,
    *,
    folds: Folds = None,
    base: Settings | None = None,
    progress: Progress = silent,
) -> Tuned:
    """The best (n, k1, b) of RPRS, and depth where there are pools of several.

    Tuned on the queries that have pools and a relevant document. `folds` is a number, or the fold of each query; `base`
    is what the tuned settings are made from, with the other parameters of RPRS.
    """
    base, measure, grid = base or Settings(), as_measure(measure), grid or RprsGrid()
    reranker = _rprs(base.rerank)
    axes = grid.axes(sorted(pools))
    numbers = {pool.query: number for number, pool in enumerate(pools[min(pools)])}
    contents = {pool.query: pool.content for pool in pools[min(pools)]}
    queries = judged_queries(list(numbers), qrels)

    def parts(query: str) -> Floats:
        seen = [pools[depth][numbers[query]] for depth in sorted(pools)]
        return np.concatenate([_rprs_parts(pool, measure, axes, reranker, qrels[query]) for pool in seen])

    def rank(query: str, point: Mapping[str, Value]) -> Ranking:
        pool = pools[_depth(point, base)][numbers[query]]
        at: RPRS = _at(reranker, point)
        return at.from_neighbours(pool.neighbours, pool.ids, pool.mean_sentences)

    found = np.stack(list(in_turn(parts, queries, progress, "scoring the grid")))
    before = {"depth": base.depth, "n": reranker.n, "k1": reranker.k1, "b": reranker.b}
    problem = Problem(
        axes=axes,
        measure=measure,
        queries=queries,
        parts=found,
        settings=partial(_settings, base, reranker),
        rank=rank,
        contents=contents,
        notes=unasked(queries, qrels),
        before=before if base.depth in pools and reranker.n <= max(grid.n) else None,  # there are no more neighbours
        qrels=qrels,
    )
    return choose(problem, folds)


def _rprs_parts(pool: Pool, measure: Measure, axes: Axes, reranker: RPRS, judgements: Mapping[str, int]) -> Floats:
    """(points of one depth, j)."""
    n, k1, b = (np.array(axes.values[name]) for name in ("n", "k1", "b"))
    if len(pool.ids) and pool.neighbours.sentence.shape[1] < min(n[-1], pool.neighbours.offsets[-1]):
        have = pool.neighbours.sentence.shape[1]
        raise UsageError(f"The grid asks for n up to {n[-1]}, but the pool of {pool.query!r} has {have} neighbours")
    pairs = np.repeat(k1, len(b)), np.tile(b, len(k1))
    lengths = np.diff(pool.neighbours.offsets)
    avgdl = pool.mean_sentences if reranker.avgdl == "collection" else float(lengths.mean()) if len(lengths) else 0.0
    grades = np.array([judgements.get(id, -1) for id in pool.ids], dtype=np.int64)
    chunk = max(1, CELLS // max(1, len(n) * len(pool)))
    found = []
    for start in range(0, len(pairs[0]), chunk):
        some = slice(start, start + chunk)
        scores = kernel.scores(pool.neighbours, n.tolist(), pairs[0][some], pairs[1][some], avgdl)
        order = kernel.orders(scores, pool.neighbours.offsets)
        falling = np.take_along_axis(scores.transpose(0, 2, 1), order, 2)
        flat = (order.shape[0] * order.shape[1], len(pool))
        parts = measured(measure, grades[order].reshape(flat), falling.reshape(flat), judgements)
        found.append(parts.reshape(len(n), order.shape[1], -1))
    joined = np.concatenate(found, axis=1)
    return joined.reshape(-1, joined.shape[2])


def _rprs(text: str | None) -> RPRS:
    reranker = spec.parse("reranker", text or spec.DEFAULT["reranker"])
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
    base: Settings | None = None,
    mean_sentences: float | None = None,
    work: Work | None = None,
    progress: Progress = silent,
) -> Tuned:
    """The best values of the parameters of any re-ranker, `base.rerank`, and of "depth".

    `run` is the first stage's, as deep as the deepest. A re-ranker with a grid of its own (`Staged`) looks at the
    candidates of a query once and weighs what it saw at every point; `grid` replaces the values of the parameters that
    it names. Any other re-ranks every query anew at every point of `grid`, which should then be small. Where the index
    does not hold the whole collection, `mean_sentences` must come from the one that does.
    """
    base, measure = base or Settings(), as_measure(measure)
    reranker = spec.parse("reranker", base.rerank or spec.DEFAULT["reranker"])
    axes = reranker_axes(reranker, base, grid or {})
    points = [_Point.of(_at(reranker, point), _depth(point, base)) for point in axes.points()]
    trials = _Trials(index, {query.id: query for query in queries}, run, qrels, measure, points, mean_sentences)
    asked = judged_queries(list(trials.queries), qrels)
    if isinstance(reranker, Loadable):
        reranker.load(progress)
    fingerprint = index.fingerprint if work else ""
    models = {name: list(map(sha256, files)) for name, files in model_files(reranker).items()} if work else {}

    def made(query: str) -> Mapping[str, NDArray[Any]]:
        first = run.get(query, NOTHING)
        key = (query, trials.queries[query].content_hash, first.ids, first.scores.tolist(), mean_sentences, reranker)
        judged = sorted(qrels[query].items())
        trained = [models] if models else []
        compute = partial(trials.made, query)
        return kept(work, compute, "parts", fingerprint, *key, axes.values, measure, judged, *trained)

    def rank(query: str, point: Mapping[str, Value]) -> Ranking:
        return trials.asked(query).ranked(_Point.of(_at(reranker, point), _depth(point, base)))

    found = [made(query) for query in _told(asked, progress)]
    same = [point.reranker == reranker and point.depth == base.depth for point in points]
    problem = Problem(
        axes=axes,
        measure=measure,
        queries=asked,
        parts=np.stack([one["parts"] for one in found]),
        settings=partial(_settings, base, reranker),
        rank=rank,
        contents={query.id: query.content_hash for query in queries},
        notes=(*unasked(asked, qrels), *_truncated(found)),
        before=axes.point(same.index(True)) if any(same) else None,
        qrels=qrels,
    )
    return choose(problem, folds)


def rerank_run(
    index: Index, queries: Sequence[Document], run: Run, reranker: str, *, progress: Progress = silent
) -> dict[str, Ranking]:
    """The rankings of a re-ranker for the candidates of a first stage; none for a query without sentences."""
    component: Reranker = spec.parse("reranker", reranker)
    if isinstance(component, Loadable):
        component.load(progress)
    found = {}
    for query in _told(queries, progress):
        depth = len(run.get(query.id, NOTHING))
        found[query.id] = _Asked.of(index, query, run, depth).ranked(_Point(component, depth))
    return found


def _told(queries: Sequence[Item], progress: Progress) -> Iterator[Item]:
    """The queries, with progress as they are done."""
    with progress("re-ranking", len(queries), "queries") as advance:
        for query in queries:
            yield query
            advance(1)


def reranker_axes(reranker: Any, base: Settings, grid: Mapping[str, Sequence[Value]]) -> Axes:
    """The grid as a box, with the re-ranker's own values where none are given.

    A parameter or value that a re-ranker does not have is an error.
    """
    known = [field.name for field in fields(reranker) if field.init]
    for name in grid:
        if name not in (*known, "depth"):
            raise UsageError(f"{reranker.name} has no parameter {name!r} to tune: it has {', '.join(known)} and depth")
    tried = {**(reranker.grid if isinstance(reranker, Staged) else {}), **grid}
    if not tried:
        decimal = next((name for name in known if isinstance(getattr(reranker, name), float)), None)
        hint = f"{decimal}=0..0.9/0.1" if decimal else "depth=15..100/5"
        raise UsageError(f"There is no grid for {reranker.name}: give the values to try, as {hint}")
    values: dict[str, tuple[Value, ...]] = {"depth": (base.depth,)}
    values |= {name: ascending(each) for name, each in tried.items()}
    axes = Axes(values, tuple(dict.fromkeys([*tried, "depth"])))
    for point in axes.points():
        _at(reranker, point)
        _depth(point, base)
    return axes


@dataclass(frozen=True)
class _Point:
    """A re-ranker with its parameters, and how many candidates it gets."""

    reranker: Any
    depth: int
    looking: tuple[Any, ...] | None = None  # of a staged one: the parameters that change what it sees

    @classmethod
    def of(cls, reranker: Any, depth: int) -> _Point:
        if not isinstance(reranker, Staged):
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
    seen: dict[str, _Asked] = field(default_factory=dict)  # what a staged one saw is small, and wanted when held out

    def asked(self, query: str) -> _Asked:
        """The query, with what was seen of its candidates if that was kept."""
        deepest = max(point.depth for point in self.points)
        return self.seen.get(query) or _Asked.of(
            self.index, self.queries[query], self.run, deepest, self.mean_sentences
        )

    def made(self, query: str) -> dict[str, NDArray[Any]]:
        """What every point gets of a query, and what a model did not see of the inputs at the last one, the deepest."""
        asked = self.asked(query)
        rankings = [asked.ranked(point) for point in self.points]
        if all(point.looking is not None for point in self.points):
            self.seen[query] = asked.looked()
        truncation = np.array(astuple(rankings[-1].truncation), dtype=np.int64)
        return {"parts": _all(self.measure, rankings, self.qrels[query]), "truncation": truncation}


def _truncated(found: Iterable[Mapping[str, NDArray[Any]]]) -> tuple[str, ...]:
    """A note if a model did not see all inputs of the queries whole."""
    told = np.array([one["truncation"] for one in found if "truncation" in one]).reshape(-1, 3)
    return Truncation(int(told[:, 0].sum()), int(told[:, 1].sum()), int(told[:, 2].max(initial=0))).notes


@dataclass(frozen=True)
class _Asked:
    """A query and its candidates, ready to be re-ranked again and again."""

    query: Sentences
    candidates: Candidates
    looks: dict[Any, Any] = field(default_factory=dict)  # by depth, and by the parameters that a grid leaves alone

    @classmethod
    def of(cls, index: Index, query: Document, run: Run, depth: int, mean_sentences: float | None = None) -> _Asked:
        first = run.get(query.id, NOTHING)
        top = Ranking(first.ids[:depth], first.scores[:depth])
        return cls(index.query_sentences(query), gather(index, query, top, mean_sentences))

    def looked(self) -> _Asked:
        """The same for points that were looked at, without the vectors of the query."""
        return replace(self, query=replace(self.query, vectors=NOT_ENCODED))

    def ranked(self, point: _Point) -> Ranking:
        """A query without sentences, or without candidates, has no answer."""
        if not len(self.query) or not self.candidates.sentences:
            return NOTHING
        if point.looking is None:
            found: Ranking = point.reranker.rerank(self.query, self._top(point.depth))
            return found
        key = (min(point.depth, len(self.candidates.ranking)), point.looking)
        if key not in self.looks:
            top = self._top(point.depth)
            self.looks[key] = top, point.reranker.look(self.query, top)
        top, seen = self.looks[key]
        weighed: Ranking = point.reranker.weigh(seen, top)
        return weighed

    def _top(self, depth: int) -> Candidates:
        first = self.candidates.ranking
        cut = Ranking(first.ids[:depth], first.scores[:depth])
        return replace(self.candidates, ranking=cut, sentences=self.candidates.sentences[:depth])


def _all(measure: Measure, rankings: Iterable[Ranking], judgements: Mapping[str, int]) -> Floats:
    """(points, j): what every ranking of a query gets; those of one length are measured together."""
    rows: dict[int, list[int]] = {}
    grades: dict[int, list[list[int]]] = {}
    scores: dict[int, list[Floats]] = {}
    for number, ranking in enumerate(rankings):
        size = len(ranking)
        rows.setdefault(size, []).append(number)
        grades.setdefault(size, []).append([judgements.get(id, -1) for id in ranking.ids])
        scores.setdefault(size, []).append(np.asarray(ranking.scores, dtype=np.float64))
    made = [
        measured(measure, np.array(grades[size], np.int64).reshape(len(each), size), np.stack(scores[size]), judgements)
        for size, each in rows.items()
    ]
    return np.concatenate(made)[np.argsort(np.concatenate([*rows.values()]))]


# ---------------------------------------------------------------------------- what both need


def _at(reranker: Any, point: Mapping[str, Value]) -> Any:
    """A re-ranker at a point."""
    return spec.changed(reranker, {name: value for name, value in point.items() if name != "depth"})


def _depth(point: Mapping[str, Value], base: Settings) -> int:
    depth = point.get("depth", base.depth)
    if not isinstance(depth, int) or depth < 1:
        raise UsageError(f"The depth of re-ranking must be an integer in [1, inf). Got {depth!r} instead.")
    return depth


def _settings(base: Settings, reranker: Any, point: Mapping[str, Value]) -> Settings:
    return replace(base, rerank=str(_at(reranker, point)), depth=_depth(point, base))
