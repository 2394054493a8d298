"""Tune a system: one function for the re-ranker, the first stage, the depth and the cut-off."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path, PurePath
from typing import Any, Literal, Unpack, get_args

from rprs import __version__
from rprs.document import Document, Ranking
from rprs.errors import UsageError
from rprs.evaluation.measures import Measure, parse_measure
from rprs.files.cache import Cache, as_cache
from rprs.index import Index
from rprs.progress import Progress, as_progress
from rprs.rank import BM25, RPRS, System, TwoStepReranker
from rprs.rank.batch import first_stage, rerank_run
from rprs.rank.system import SystemOptions
from rprs.read import Exclusions, Qrels, read_exclusions
from rprs.read.inputs import Judgements, Queries, read_judgements, read_query_set
from rprs.results.run import Run
from rprs.tuning.choose import Folds, Tuned, deal, judged_queries
from rprs.tuning.cutoffs import set_measure, tune_cutoff
from rprs.tuning.first import tune_bm25
from rprs.tuning.grids import DEPTHS, Axes, Bm25Grid, CutoffGrid, RprsGrid, Value, describe_point, integers, parse_grid
from rprs.tuning.pools import pools_at_depths
from rprs.tuning.rerankers import reranker_axes, tune_reranker, tune_rprs

__all__ = ["MEASURE", "What", "check_grid", "tune"]

What = Literal["rerank", "first", "depth", "cutoff"]
MEASURE = "AP@100"


def tune(
    index: Index | str | Path,
    queries: Queries,
    qrels: Judgements,
    *,
    what: What = "rerank",
    measure: Measure | str = MEASURE,
    grid: Mapping[str, Any] | Sequence[str] | None = None,
    folds: Folds = None,
    system: System | None = None,
    exclude: str | PurePath | Mapping[str, Iterable[str]] | None = None,
    candidates: Mapping[str, Ranking] | None = None,
    mean_sentences: float | None = None,
    cache: Cache | str | Path | None = None,
    index_key: str | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[SystemOptions],
) -> Tuned:
    """The parameters of a system that are best for a measure, on queries with judgements.

    `what` is tuned: the parameters of the re-ranker or of the first stage, the depth, or the cut-off rule. `grid` has
    other values for some parameters, as `{"k1": "0..10/0.5", "b": [0.7, 1]}` or `["k1=0..10/0.5"]`. With `folds`,
    tuning is cross-validated too. Queries and judgements may be files or values; of a BEIR folder with queries, its
    `exclude.tsv` applies unless `exclude` is given. With a `cache`, finished work is kept there and an interrupted call
    resumes.

    For studies: `candidates` are rankings of the first stage computed before, `mean_sentences` the average of the whole
    collection where the index holds a part of it, and `index_key` names the index in the cache instead of its
    fingerprint.
    """
    if what not in get_args(What):
        raise UsageError(f"'what' must be one of {', '.join(get_args(What))}. Got {what!r} instead.")
    base = (system or System()).changed(**options)
    axes = parse_grid(grid)
    target = (
        set_measure(measure) if what == "cutoff" else parse_measure(measure) if isinstance(measure, str) else measure
    )
    check_grid(what, base, axes)
    judgements, excluded = read_judgements(qrels), read_exclusions(exclude, queries)
    opened = index if isinstance(index, Index) else Index(index)
    documents = _judged(list(read_query_set(queries)), judgements, folds)
    task = _Task(
        opened,
        documents,
        judgements,
        target,
        folds,
        base,
        axes,
        excluded,
        as_cache(cache),
        as_progress(progress),
        candidates,
        mean_sentences,
        index_key,
    )
    tuned = {"rerank": _rerank, "first": _first, "depth": _depth, "cutoff": _cutoff}[what](task)
    return replace(tuned, about=_about(task, what, tuned))


def check_grid(what: What, base: System, grid: Mapping[str, Sequence[Value]]) -> Axes:
    """All points to try; a wrong parameter or value is an error here, before anything is computed."""
    if what == "first":
        if not isinstance(base.first, BM25):
            raise UsageError(f"The first stage {base.first} has no grid: bm25 has")
        _require_names(grid, Bm25Grid, "The first stage has no parameter {!r} to tune: it has {}")
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
class _Task:
    index: Index
    queries: Sequence[Document]
    qrels: Qrels
    measure: Measure
    folds: Folds
    base: System
    grid: Mapping[str, tuple[Value, ...]]
    exclude: Exclusions
    cache: Cache | None
    progress: Progress
    given: Mapping[str, Ranking] | None
    mean_sentences: float | None
    index_key: str | None

    def candidates(self, depth: int) -> Mapping[str, Ranking]:
        """The candidates of all queries, of the first stage or as given."""
        if self.given is not None:
            return self.given
        return first_stage(
            self.index,
            self.queries,
            self.base.first,
            depth,
            exclude=self.exclude,
            cache=self.cache,
            progress=self.progress,
        )


def _rerank(task: _Task) -> Tuned:
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
            n=max(*rprs_grid.n, reranker.n),
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


def _depth(task: _Task) -> Tuned:
    """As the re-ranker, with its parameters held fixed."""
    return _rerank(replace(task, grid=_depth_grid(task.base, task.grid)))


def _first(task: _Task) -> Tuned:
    return tune_bm25(
        task.index,
        task.queries,
        task.qrels,
        task.measure,
        _bm25_grid(task.grid),
        folds=task.folds,
        base=task.base,
        exclude=task.exclude,
        cache=task.cache,
        progress=task.progress,
    )


def _cutoff(task: _Task) -> Tuned:
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


def _judged(queries: Sequence[Document], qrels: Qrels, folds: Folds) -> list[Document]:
    """The queries with relevant documents; none, or too few for the folds, is an error before anything is computed."""
    names = set(judged_queries([query.id for query in queries], qrels))
    judged = [query for query in queries if query.id in names]
    if isinstance(folds, int):
        deal({query.id: query.content_hash for query in judged}, folds)
    return judged


def _about(task: _Task, what: What, tuned: Tuned) -> dict[str, Any]:
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
    if tuned.held_out is not None:
        about["cross_validation"] = {
            "folds": len(tuned.folds),
            "held_out": tuned.held_out.value,
            "best": [describe_point(fold.point) for fold in tuned.folds],
            "values": [fold.value for fold in tuned.folds],
        }
    return about
