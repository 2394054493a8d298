"""The four kinds of tuning behind `tune`: the re-ranker, the first stage, the depth and the cut-off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from rprs import __version__
from rprs.document import Document, Ranking
from rprs.errors import UsageError
from rprs.evaluation.measures import Measure
from rprs.files.cache import Cache
from rprs.index import Index
from rprs.progress import Progress
from rprs.rank import BM25, RPRS, System, TwoStepRanker, TwoStepReranker
from rprs.rank.batch import first_stage, rerank_run, undated_note
from rprs.rank.date_limit import DateLimit
from rprs.read import Exclusions, Qrels
from rprs.results.run import Run
from rprs.tuning.choose import Folds, Tuned, deal, judged_queries
from rprs.tuning.cutoffs import tune_cutoff
from rprs.tuning.first import tune_bm25, tune_two_step, two_step_axes
from rprs.tuning.grids import DEPTHS, Axes, Bm25Grid, CutoffGrid, RprsGrid, Value, describe_point, integers
from rprs.tuning.pools import NEAREST, pools_at_depths
from rprs.tuning.rerankers import reranker_axes, tune_reranker, tune_rprs
from rprs.tuning.tune import What
from rprs.tuning.whole import require_tunable, tune_whole_rprs

__all__ = ["Task", "check_grid", "dated_documents", "judged_documents", "run_task"]


def run_task(what: What, task: Task, notes: Sequence[str] = ()) -> Tuned:
    """Tune, and record how."""
    tuned = {"rerank": _rerank, "first": _first, "depth": _depth, "cutoff": _cutoff}[what](task)
    return replace(tuned, about=_about(task, what, tuned), notes=(*notes, *tuned.notes))


def check_grid(what: What, base: System, grid: Mapping[str, Sequence[Value]]) -> Axes:
    """All points to try; a wrong parameter or value is an error here, before anything is computed."""
    if what == "first":
        if isinstance(base.first, TwoStepRanker):
            return two_step_axes(base.first, grid)
        box = Bm25Grid if isinstance(base.first, BM25) else RprsGrid
        if box is RprsGrid:
            require_tunable(base.first)
        _require_names(grid, box, "The first stage has no parameter {!r} to tune: it has {}")
        if box is RprsGrid:
            return _rprs_grid(grid).axes()
        return _bm25_grid(grid).axes()
    if what == "cutoff":
        _require_names(grid, CutoffGrid, "A cut-off has no parameter {!r}: it has {}")
        return CutoffGrid(**grid).axes()  # type: ignore[arg-type]
    if what == "depth":
        other = grid.keys() - {"depth"}
        if other:
            raise UsageError(f"The depth is tuned without {min(other)!r}: tune both with what='rerank'")
        return check_grid("rerank", base, _depth_grid(base, grid))
    if base.rerank is None:
        raise UsageError("There is no re-ranker to tune: name one, such as rprs, or tune the first stage")
    depths = integers("depth", grid.get("depth", (base.depth,)))
    if _from_neighbours(base, grid):
        return _rprs_grid(grid).axes(depths)
    return reranker_axes(base.rerank, base, grid)


# ---------------------------------------------------------------------------- the four kinds


@dataclass(frozen=True)
class Task:
    """Everything that tuning needs, checked and read."""

    index: Index
    queries: Sequence[Document]
    qrels: Qrels
    measure: Measure
    folds: Folds
    base: System
    grid: Mapping[str, tuple[Value, ...]]
    exclude: Exclusions
    limit: DateLimit | None
    cache: Cache | None
    progress: Progress
    precomputed: Mapping[str, Ranking] | None  # rankings of the first stage
    mean_sentences: float | None
    index_key: str | None

    def candidates(self, depth: int) -> Mapping[str, Ranking]:
        """The candidates of all queries: computed by the first stage, unless they were passed in."""
        if self.precomputed is not None:
            return self.precomputed
        return first_stage(
            self.index,
            self.queries,
            self.base.first,
            depth,
            exclude=self.exclude,
            limit=self.limit,
            cache=self.cache,
            progress=self.progress,
        )


def _rerank(task: Task) -> Tuned:
    base, grid = task.base, task.grid
    depths = integers("depth", grid.get("depth", (base.depth,)))
    candidates = task.candidates(max(depths))
    if _from_neighbours(base, grid):
        rprs_grid = _rprs_grid(grid)
        reranker = base.rerank if isinstance(base.rerank, RPRS) else RPRS()
        pools = pools_at_depths(
            task.index,
            task.queries,
            candidates,
            depths,
            n=max(*rprs_grid.n, reranker.n, NEAREST),
            ties=reranker.ties,
            mean_sentences=task.mean_sentences,
            cache=task.cache,
            index_key=task.index_key,
            progress=task.progress,
        )
        tuned = tune_rprs(
            pools, task.qrels, task.measure, rprs_grid, folds=task.folds, base=base, progress=task.progress
        )
    else:
        tuned = tune_reranker(
            task.index,
            task.queries,
            candidates,
            task.qrels,
            task.measure,
            grid,
            folds=task.folds,
            base=base,
            mean_sentences=task.mean_sentences,
            cache=task.cache,
            progress=task.progress,
        )
    return replace(tuned, candidate_notes=_candidate_notes(candidates))


def _depth(task: Task) -> Tuned:
    """As the re-ranker, with its parameters held fixed."""
    return _rerank(replace(task, grid=_depth_grid(task.base, task.grid)))


def _first(task: Task) -> Tuned:
    data = task.index, task.queries, task.qrels, task.measure
    options: dict[str, Any] = {
        "folds": task.folds,
        "base": task.base,
        "exclude": task.exclude,
        "limit": task.limit,
        "cache": task.cache,
        "progress": task.progress,
    }
    if isinstance(task.base.first, RPRS):
        return tune_whole_rprs(*data, _rprs_grid(task.grid), **options)
    if isinstance(task.base.first, TwoStepRanker):
        return tune_two_step(*data, two_step_axes(task.base.first, task.grid), **options)
    return tune_bm25(*data, _bm25_grid(task.grid), **options)


def _cutoff(task: Task) -> Tuned:
    """Of the rankings that the other settings give."""
    candidates = run = task.candidates(task.base.depth)
    if task.base.rerank is not None:
        run = rerank_run(
            task.index,
            task.queries,
            candidates,
            task.base.rerank,
            mean_sentences=task.mean_sentences,
            progress=task.progress,
        )
    contents = {query.id: query.content_hash for query in task.queries}
    grid = CutoffGrid(**task.grid)  # type: ignore[arg-type]
    tuned = tune_cutoff(run, task.qrels, task.measure, grid, folds=task.folds, base=task.base, contents=contents)
    notes = (*tuned.notes, *Run(run).truncation.notes)
    return replace(tuned, notes=notes, candidate_notes=_candidate_notes(candidates))


def _candidate_notes(candidates: Mapping[str, Ranking]) -> tuple[str, ...]:
    return tuple(f"{query}: {note}" for query, ranking in candidates.items() for note in ranking.notes)


# ---------------------------------------------------------------------------- grids and queries


def _require_names(grid: Mapping[str, Any], box: type[Any], message: str) -> None:
    names = [field.name for field in fields(box)]
    for name in grid:
        if name not in names:
            raise UsageError(message.format(name, ", ".join(names)))


def _from_neighbours(base: System, grid: Mapping[str, Any]) -> bool:
    """Whether all points can be scored from neighbours found once."""
    names = {*(field.name for field in fields(RprsGrid)), "depth"}
    return isinstance(base.rerank, RPRS) and base.rerank.form == "full" and grid.keys() <= names


def _rprs_grid(grid: Mapping[str, Any]) -> RprsGrid:
    return RprsGrid(**{name: values for name, values in grid.items() if name != "depth"})


def _bm25_grid(grid: Mapping[str, Any]) -> Bm25Grid:
    box = Bm25Grid(**grid)
    for k1, b, kli in ((k1, b, kli) for k1 in box.k1 for b in box.b for kli in box.kli):
        BM25(k1, b, kli)  # raises an error for a wrong value
    return box


def _depth_grid(base: System, grid: Mapping[str, Any]) -> dict[str, Any]:
    reranker: Any = base.rerank
    parameters = (
        ("n", "k1", "b")
        if isinstance(reranker, RPRS)
        else tuple(reranker.grid)
        if isinstance(reranker, TwoStepReranker)
        else ()
    )
    return {"depth": grid.get("depth", DEPTHS), **{name: (getattr(reranker, name),) for name in parameters}}


def dated_documents(
    queries: Sequence[Document], limit: DateLimit | None, index: Index
) -> tuple[list[Document], list[str]]:
    """The queries to which a date limit can be applied, and notes on the others and on documents without a date."""
    if limit is None:
        return list(queries), []
    undated = int(limit.dates(index).undated.sum())
    dated, failures = list[Document](), list[UsageError]()
    for query in queries:
        try:
            limit.period([query])
            dated.append(query)
        except UsageError as error:
            failures.append(error)
    if not dated and failures:
        raise failures[0]
    missing = [f"Date limit: {len(failures):,} of {len(queries):,} queries have no date and are left out"]
    return dated, [undated_note(limit, undated), *(missing if failures else [])]


def judged_documents(queries: Sequence[Document], qrels: Qrels, folds: Folds = None) -> list[Document]:
    """The queries with relevant documents; none, or too few for the folds, is an error before anything is computed."""
    names = set(judged_queries([query.id for query in queries], qrels))
    judged = [query for query in queries if query.id in names]
    if isinstance(folds, int):
        deal({query.id: query.content_hash for query in judged}, folds)
    return judged


def _about(task: Task, what: What, tuned: Tuned) -> dict[str, Any]:
    """How the system was tuned: nothing in it depends on time or place."""
    about: dict[str, Any] = {
        "rprs": __version__,
        "what": what,
        "best": describe_point(tuned.point),
        "measure": tuned.measure,
        "value": tuned.value,
        "before": tuned.before,
        "queries": len(tuned.queries),
        "documents": len(task.index),
        "index": task.index.fingerprint,
        "grid": tuned.axes.describe(),
    }
    if task.limit is not None:
        about["date_limit"] = str(task.limit)
        about["undated"] = task.limit.undated
    if tuned.held_out is not None:
        about["cross_validation"] = {
            "folds": len(tuned.folds),
            "held_out": tuned.held_out.value,
            "best": [describe_point(fold.point) for fold in tuned.folds],
            "values": [fold.value for fold in tuned.folds],
        }
    return about
