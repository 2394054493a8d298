"""The verb that tunes."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rprs.cli.options import FIRST, RERANK, Depth, Exclude, First, IndexPath, Queries, Rerank, SettingsFile
from rprs.cli.searching import chosen
from rprs.cli.talk import Remarks, Talk, counted
from rprs.spec import DEPTH

if TYPE_CHECKING:
    from rprs.tuning.choose import Tuned

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
    from rprs.cli.queries import read_listed_queries
    from rprs.files.atomic import check_target
    from rprs.files.cache import Cache
    from rprs.index import Index
    from rprs.read import read_exclusions
    from rprs.tuning.tune import tune

    talk: Talk = context.obj
    check_target(output)
    cache = Cache(work or output.with_name(f"{output.name}.work"))
    with Index(path) as index:
        tuned = tune(
            index,
            read_listed_queries(talk, queries, only),
            qrels,
            what=what.value,
            measure=measure,
            grid=grid,
            folds=folds,
            system=chosen(context, settings),
            exclude=read_exclusions(exclude, queries),
            cache=cache,
            progress=talk.progress,
        )
        tuned.write(output)
    if work is None:
        cache.clear()
    _print(talk, tuned, output)


def _print(talk: Talk, tuned: Tuned, output: Path) -> None:
    from rprs.tuning.grids import describe_point

    remarks = Remarks(talk)
    for note in tuned.candidate_notes:
        remarks(note)
    remarks.close()
    if tuned.folds:
        typer.echo(tuned.validation.plain())
    typer.echo(tuned.sensitivity.plain())
    for note in tuned.notes:
        talk.say(note)
    before = f", before {tuned.before:.4f}" if tuned.before is not None else ""
    held_out = f", held out {tuned.held_out.value:.4f}" if tuned.held_out else ""
    talk.say(
        f"{tuned.measure} {tuned.value:.4f}{before}{held_out} on {counted(len(tuned.queries), 'query', 'queries')}: "
        f"{describe_point(tuned.point)}, the best of {counted(len(tuned.axes), 'point')}, is in {output}"
    )
