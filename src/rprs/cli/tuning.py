"""The verb that tunes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rprs.cli.options import FIRST, RERANK, Depth, First, IndexPath, Queries, Rerank, SettingsFile
from rprs.cli.searching import chosen
from rprs.cli.talk import Remarks, Talk, counted
from rprs.errors import UsageError
from rprs.spec import DEPTH

if TYPE_CHECKING:
    from rprs.document import Document, Ranking
    from rprs.index import Index
    from rprs.read import Qrels
    from rprs.scoring.measures import Measure
    from rprs.settings import Settings
    from rprs.tune import Tuned, Work

MEASURE = "AP@100"


class What(StrEnum):
    """What is tuned."""

    rerank = "rerank"
    first = "first"
    depth = "depth"
    cutoff = "cutoff"


Judgements = Annotated[
    Path,
    typer.Option("--qrels", help="The judgements: TREC qrels, or a BEIR table.", metavar="FILE", show_default=False),
]
Output = Annotated[
    Path,
    typer.Option("--output", "-o", help="The TOML file for the best settings.", metavar="FILE", show_default=False),
]
Choice = Annotated[
    What, typer.Option("--what", help="The parameters of --rerank or of --first, the --depth, or a cut-off rule.")
]
Target = Annotated[str, typer.Option("--measure", "-m", help="The measure to raise: nDCG@10, P@1, micro_F1@4 ...")]
Grid = Annotated[
    list[str] | None,
    typer.Option(
        "--grid",
        help="Other values for a parameter: k1=0..10/0.5, b=0.7,1 or kli=none,0.1. May be given several times.",
        metavar="NAME=VALUES",
        show_default="the grid of what is tuned",
    ),
]
Parts = Annotated[
    int | None, typer.Option("--folds", help="Also cross-validate with so many parts of the queries.", min=2)
]
Exclude = Annotated[
    Path | None,
    typer.Option(
        "--exclude", help="A table of queries and documents that are not to be ranked for them.", metavar="FILE"
    ),
]
Only = Annotated[
    Path | None, typer.Option("--queries-list", help="Tune on these queries alone: an id a line.", metavar="FILE")
]
WorkFolder = Annotated[
    Path | None,
    typer.Option(
        "--work",
        help="Keep what was computed in this folder, for the next grid or measure.",
        metavar="DIR",
        show_default="OUTPUT.work until the end",
    ),
]


def tune(
    context: typer.Context,
    path: IndexPath,
    queries: Queries,
    qrels: Judgements,
    output: Output,
    what: Choice = What.rerank,
    measure: Target = MEASURE,
    grid: Grid = None,
    folds: Parts = None,
    first: First = FIRST,
    rerank: Rerank = RERANK,
    depth: Depth = DEPTH,
    settings: SettingsFile = None,
    exclude: Exclude = None,
    only: Only = None,
    work: WorkFolder = None,
) -> None:
    """Find the parameters that are best for a measure, on queries whose answers are known.

    Without --grid it tries the paper's grid for RPRS (n, k1, b: 1,760 points), as many for BM25 (k1, b, kli), the
    depths from 15 to 100, or rules that end an answer at a share of the top score. Of the other re-rankers, birch has a
    grid too (a, w2, w3: 1,000 points), and fuse (weight: 11). A parameter that --grid names gets those values instead;
    give one value to hold it fixed. A re-ranker without a grid is tuned over what --grid says.

    The result is a file for --settings of search, explain, run and rerank. Beside it are the sensitivity of the measure
    to each parameter (.sensitivity.md and .csv), all points (.points.csv) and, with --folds, a run in which every query
    was ranked with what the others chose (.held-out.trec). Interrupted, the same command goes on where it stopped.

    Example: rprs tune cases.rprs queries.jsonl --qrels qrels.txt -o tuned.toml --depth 50 --folds 5

    Example: rprs tune cases.rprs queries.jsonl --qrels qrels.txt -o bm25.toml --what first --grid k1=0..10/0.5

    Example: rprs tune cases.rprs queries.jsonl --qrels qrels.txt -o both.toml --settings bm25.toml

    Example: rprs tune cases.rprs queries.jsonl --qrels qrels.txt -o birch.toml --rerank birch

    Example: rprs tune cases.rprs queries.jsonl --qrels qrels.txt -o end.toml --what cutoff -m micro_F1
    """
    from rprs.index import Index
    from rprs.read import read_pairs, read_qrels
    from rprs.scoring.measures import parse_measure
    from rprs.tune import Work, parse_axis, set_measure
    from rprs.whole import check_place

    talk: Talk = context.obj
    check_place(output)
    wanted = chosen(context, settings)
    axes = dict(parse_axis(text) for text in grid or ())
    target = set_measure(measure) if what is What.cutoff else parse_measure(measure)
    judged, excluded = read_qrels(qrels), read_pairs(exclude) if exclude else {}
    with Index(path) as index:
        asked = _judged(asked_queries(talk, queries, only), judged, folds)
        kept = Work(work or _work_of(output))
        job = _Job(index, asked, judged, target, folds, wanted, axes, excluded, kept, talk)
        found = _TUNERS[what](job)
        _write(output, found, _about(job, what, found))
    if work is None:
        _sweep(kept)
    _tell(talk, found, output)


# ---------------------------------------------------------------------------- what is tuned


@dataclass(frozen=True)
class _Job:
    index: Index
    queries: Sequence[Document]
    qrels: Qrels
    measure: Measure
    folds: int | None
    base: Settings
    grid: Mapping[str, tuple[Any, ...]]
    excluded: Mapping[str, frozenset[str]]
    work: Work
    talk: Talk

    def first_stage(self, depth: int) -> dict[str, Ranking]:
        """The candidates of all queries; what the first stage remarks is said."""
        from rprs import spec
        from rprs.pools import first_stage
        from rprs.rank.fuse import run_files
        from rprs.tune import Remembered

        ranker = spec.parse("ranker", self.base.first)
        if not run_files(ranker):  # which may change
            ranker = Remembered(ranker, self.work, self.index.fingerprint)
        run = first_stage(self.index, self.queries, ranker, depth, excluded=self.excluded, progress=self.talk.progress)
        remarks = Remarks(self.talk)
        for query, ranking in run.items():
            for note in ranking.notes:
                remarks(f"{query}: {note}")
        remarks.close()
        return run


def _tune_rerank(job: _Job) -> Tuned:
    from rprs import spec
    from rprs.rerank import RPRS
    from rprs.tune import RprsGrid, integers, pools_at_depths, tune_reranker, tune_rprs
    from rprs.tune.rerankers import reranker_axes

    if job.base.rerank is None:
        raise UsageError("There is no re-ranker to tune: name one, as --rerank rprs, or tune with --what first")
    reranker = spec.parse("reranker", job.base.rerank)
    depths = integers("depth", job.grid.get("depth", (job.base.depth,)))
    known = {field.name for field in fields(RprsGrid)}
    if isinstance(reranker, RPRS) and reranker.form == "full" and job.grid.keys() <= {*known, "depth"}:
        grid = RprsGrid(**{name: values for name, values in job.grid.items() if name in known})
        grid.axes(depths)  # a wrong value is found before anything is computed
        run = job.first_stage(max(depths))
        progress = job.talk.progress
        n = max(*grid.n, reranker.n)
        pools = pools_at_depths(job.index, job.queries, run, depths, n=n, work=job.work, progress=progress)
        return tune_rprs(pools, job.qrels, job.measure, grid, folds=job.folds, base=job.base, progress=progress)
    reranker_axes(reranker, job.base, job.grid)  # likewise
    return tune_reranker(
        job.index,
        job.queries,
        job.first_stage(max(depths)),
        job.qrels,
        job.measure,
        job.grid,
        folds=job.folds,
        base=job.base,
        work=job.work,
        progress=job.talk.progress,
    )


def _tune_depth(job: _Job) -> Tuned:
    """As the re-ranker, held at its parameters."""
    from rprs import spec
    from rprs.rerank import RPRS, Staged
    from rprs.tune import DEPTHS

    other = job.grid.keys() - {"depth"}
    if other:
        raise UsageError(f"--what depth has no parameter {min(other)!r}: tune them together with --what rerank")
    reranker = spec.parse("reranker", job.base.rerank) if job.base.rerank else None
    tuned = ("n", "k1", "b") if isinstance(reranker, RPRS) else reranker.grid if isinstance(reranker, Staged) else ()
    fixed = {name: (getattr(reranker, name),) for name in tuned}
    return _tune_rerank(replace(job, grid={"depth": job.grid.get("depth", DEPTHS), **fixed}))


def _tune_first(job: _Job) -> Tuned:
    from rprs.tune import Bm25Grid, tune_bm25

    known = [field.name for field in fields(Bm25Grid)]
    for name in job.grid:
        if name not in known:
            raise UsageError(f"The first stage has no parameter {name!r} to tune: it has {', '.join(known)}")
    return tune_bm25(
        job.index,
        job.queries,
        job.qrels,
        job.measure,
        Bm25Grid(**job.grid),
        folds=job.folds,
        base=job.base,
        excluded=job.excluded,
        work=job.work,
        progress=job.talk.progress,
    )


def _tune_cutoff(job: _Job) -> Tuned:
    """Of the rankings that the other settings give."""
    from rprs.document import Truncation
    from rprs.tune import CutoffGrid, rerank_run, tune_cutoff

    known = [field.name for field in fields(CutoffGrid)]
    for name in job.grid:
        if name not in known:
            raise UsageError(f"A cut-off has no parameter {name!r}: it has {', '.join(known)}")
    grid = CutoffGrid(**job.grid)
    grid.axes()  # a wrong value is found before anything is computed
    run = job.first_stage(job.base.depth)
    if job.base.rerank is not None:
        run = rerank_run(job.index, job.queries, run, job.base.rerank, progress=job.talk.progress)
        for note in sum((ranking.truncation for ranking in run.values()), Truncation()).notes:
            job.talk.say(note)
    contents = {query.id: query.content_hash for query in job.queries}
    return tune_cutoff(run, job.qrels, job.measure, grid, folds=job.folds, base=job.base, contents=contents)


_TUNERS = {
    What.rerank: _tune_rerank,
    What.first: _tune_first,
    What.depth: _tune_depth,
    What.cutoff: _tune_cutoff,
}


# ---------------------------------------------------------------------------- queries and results


def asked_queries(talk: Talk, queries: Path, only: Path | None) -> list[Document]:
    """The queries, or those of them that a list names."""
    from rprs.errors import ReadError
    from rprs.read import read_queries

    remarks = Remarks(talk)
    found = list(read_queries(queries, skipped=lambda what: remarks(f"skipped {what}")))
    remarks.close()
    if only is None:
        return found
    try:
        wanted = {line.strip() for line in only.read_text(encoding="utf-8").splitlines() if line.strip()}
    except (OSError, UnicodeDecodeError) as error:
        raise ReadError(f"{only}: cannot be read as a list of ids: {error}") from error
    missing = sorted(wanted - {query.id for query in found})
    if missing:
        raise UsageError(f"{only} names {missing[0]!r}, which is none of the {len(found):,} queries of {queries}")
    return [query for query in found if query.id in wanted]


def _judged(queries: Sequence[Document], qrels: Qrels, folds: int | None) -> list[Document]:
    """Those that can be tuned on. None, or too few for the folds, is an error before anything is computed."""
    from rprs.tune import deal
    from rprs.tune.choose import judged_queries

    known = set(judged_queries([query.id for query in queries], qrels))
    found = [query for query in queries if query.id in known]
    if folds is not None:
        deal({query.id: query.content_hash for query in found}, folds)
    return found


def _about(job: _Job, what: What, found: Tuned) -> dict[str, Any]:
    """How the settings were found: nothing in it depends on the time or the place."""
    from rprs import __version__

    told: dict[str, Any] = {
        "rprs": __version__,
        "what": str(what),
        "best": _point(found.point),
        "measure": found.measure,
        "value": found.value,
        "before": found.before,
        "queries": len(found.queries),
        "documents": len(job.index),
        "index": job.index.fingerprint,
        "grid": found.axes.describe(),
    }
    if found.held_out is not None:
        told["cross_validation"] = {
            "folds": len(found.folds),
            "held_out": found.held_out.value,
            "best": [_point(fold.point) for fold in found.folds],
            "values": [fold.value for fold in found.folds],
        }
    return told


def _point(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={'none' if value is None else value}" for name, value in point.items())


def _write(output: Path, found: Tuned, about: Mapping[str, Any]) -> None:
    """The settings last: once they are there, so is the rest."""
    import io

    from rprs.read import write_run
    from rprs.settings import write_settings
    from rprs.whole import write_whole

    tables = ([found.validation] if found.folds else []) + [found.sensitivity]
    write_whole(_beside(output, "sensitivity.md"), "\n".join(table.markdown() for table in tables))
    write_whole(_beside(output, "sensitivity.csv"), found.sensitivity.csv())
    write_whole(_beside(output, "points.csv"), found.points.csv())
    _beside(output, "held-out.trec").unlink(missing_ok=True)  # it may be of other settings
    if found.held_out is not None:
        stream = io.StringIO()
        for query, ranking in found.held_out.run.items():
            write_run(stream, query, ranking, "held-out")
        write_whole(_beside(output, "held-out.trec"), stream.getvalue())
    write_settings(output, found.best, about)


def _beside(output: Path, suffix: str) -> Path:
    return output.with_name(f"{output.name.removesuffix('.toml')}.{suffix}")


def _work_of(output: Path) -> Path:
    return output.with_name(f"{output.name}.work")


def _sweep(work: Work) -> None:
    """Delete the pieces, and the folder if nothing else is in it."""
    for piece in (*work.folder.glob("*.npz"), *work.folder.glob(".*.npz-*")):  # those that a kill left unfinished, too
        piece.unlink(missing_ok=True)
    with suppress(OSError):
        work.folder.rmdir()


def _tell(talk: Talk, found: Tuned, output: Path) -> None:
    if found.folds:
        typer.echo(found.validation.plain())
    typer.echo(found.sensitivity.plain())
    for note in found.notes:
        talk.say(note)
    before = f", before {found.before:.4f}" if found.before is not None else ""
    held_out = f", held out {found.held_out.value:.4f}" if found.held_out else ""
    talk.say(
        f"{found.measure} {found.value:.4f}{before}{held_out} on {counted(len(found.queries), 'query', 'queries')}: "
        f"{_point(found.point)}, the best of {counted(len(found.axes), 'point')}, is in {output}"
    )
