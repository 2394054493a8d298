"""Tune a system: one function for the re-ranker, the first stage, the depth and the cut-off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

from rprs.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date
    from pathlib import Path, PurePath
    from typing import Unpack

    from rprs.document import Ranking
    from rprs.evaluation.measures import Measure
    from rprs.files.cache import Cache
    from rprs.index import Index
    from rprs.progress import Progress
    from rprs.rank import System
    from rprs.rank.date_limit import Undated
    from rprs.rank.system import SystemOptions
    from rprs.read.inputs import Judgements, Queries
    from rprs.tuning.choose import Folds, Tuned

__all__ = ["MEASURE", "What", "tune"]

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
    system: System | str | None = None,
    exclude: str | PurePath | Mapping[str, Iterable[str]] | None = None,
    before: str | date | None = None,
    undated: Undated = "keep",
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
    `exclude.tsv` applies unless `exclude` is given. With a date limit (`before`, as in `Searcher.search`), queries
    without a date are left out. With a `cache`, finished work is kept there and an interrupted call resumes.

    For studies: `candidates` are rankings of the first stage computed before, `mean_sentences` the average of the whole
    collection where the index holds a part of it, and `index_key` names the index in the cache instead of its
    fingerprint.
    """
    from rprs.evaluation.measures import parse_measure
    from rprs.files.cache import as_cache
    from rprs.index import Index
    from rprs.progress import as_progress
    from rprs.rank.date_limit import as_date_limit
    from rprs.rank.system import as_system
    from rprs.read import read_exclusions
    from rprs.read.inputs import read_judgements, read_query_set
    from rprs.tuning.cutoffs import set_measure
    from rprs.tuning.grids import parse_grid
    from rprs.tuning.tasks import Task, check_grid, dated_documents, judged_documents, run_task

    if what not in get_args(What):
        raise UsageError(f"'what' must be one of {', '.join(get_args(What))}. Got {what!r} instead.")
    if isinstance(folds, bool) or not isinstance(folds, int | Mapping | None):
        raise UsageError(f"folds must be a number of parts, or the fold of each query. Got {folds!r:.80}")
    base, values = as_system(system, options), parse_grid(grid)
    target = set_measure(measure) if what == "cutoff" else parse_measure(str(measure))
    check_grid(what, base, values)
    judgements, limit = read_judgements(qrels), as_date_limit(before, undated)
    opened = index if isinstance(index, Index) else Index(index)
    documents, notes = dated_documents(judged_documents(list(read_query_set(queries)), judgements), limit, opened)
    task = Task(
        index=opened,
        queries=judged_documents(documents, judgements, folds),
        qrels=judgements,
        measure=target,
        folds=folds,
        base=base,
        grid=values,
        exclude=read_exclusions(exclude, queries),
        limit=limit,
        cache=as_cache(cache),
        progress=as_progress(progress),
        precomputed=candidates,
        mean_sentences=mean_sentences,
        index_key=index_key,
    )
    return run_task(what, task, notes)
