"""The verb that tunes a system."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rprs.cli.groups import SystemGroup, with_groups
from rprs.cli.messages import LimitedMessages, Messages, counted
from rprs.cli.options import (
    Before,
    Exclude,
    IndexPath,
    Queries,
    Undated,
    UndatedDocuments,
)
from rprs.cli.system import selected_system

if TYPE_CHECKING:
    from rprs.files.cache import Cache
    from rprs.tuning.choose import Tuned

MEASURE = "AP@100"


class What(StrEnum):
    """The parts of a system that can be tuned."""

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
    typer.Option("--output", "-o", help="The settings file to write (TOML).", metavar="FILE", show_default=False),
]
Choice = Annotated[
    What,
    typer.Option("--what", help="Tune the re-ranker, the first stage, the depth, or the cut-off."),
]
Target = Annotated[str, typer.Option("--measure", "-m", help="The measure to maximise: nDCG@10, P@1, micro_F1@4 ...")]
Grid = Annotated[
    list[str] | None,
    typer.Option(
        "--grid",
        help="Other values for a parameter: k1=0..10/0.5, b=0.7,1 or kli=none,0.1. May be repeated.",
        metavar="NAME=VALUES",
        show_default="the grid described above",
    ),
]
Parts = Annotated[int | None, typer.Option("--folds", help="Also cross-validate with this number of folds.", min=2)]
Only = Annotated[
    Path | None,
    typer.Option("--queries-list", help="Tune only on these queries: a file with one id per line.", metavar="FILE"),
]
WorkFolder = Annotated[
    Path | None,
    typer.Option(
        "--work",
        help="Keep intermediate results in this folder, for another grid or measure.",
        metavar="DIR",
        show_default="OUTPUT.work, deleted at the end",
    ),
]


@with_groups
def tune(
    context: typer.Context,
    *,
    path: IndexPath,
    queries: Queries,
    qrels: Judgements,
    output: Output,
    what: Choice = What.rerank,
    measure: Target = MEASURE,
    grid: Grid = None,
    folds: Parts = None,
    ranking: SystemGroup,
    exclude: Exclude = None,
    before: Before = None,
    undated: UndatedDocuments = Undated.keep,
    only: Only = None,
    work: WorkFolder = None,
) -> None:
    """Find the parameters that are best for a measure, on queries with judgements.

    Without --grid, these values are tried. In the default system: for the re-ranker, the weight of RPRS beside the
    first stage (none, the automatic one, and 0 to 1: 12 points); for the first stage, the weights of the cosine and
    of its phrases (weight, w2, w3: 300 points). For RPRS alone the grid of the paper (n, k1, b: 1,760 points), for
    BM25 as many points (k1, b, kli), for birch 1,000 (a, w2, w3), for the depth 15 to 100, and for the cut-off rules
    that end a ranking at a share of the top score. --grid replaces the values of one parameter; give one value to
    keep it fixed. A re-ranker without a grid needs --grid.

    The result is a settings file for --settings of search, explain, run and rerank. Beside it are the sensitivity of
    the measure to each parameter (.sensitivity.md and .csv), all points (.points.csv) and, with --folds, a run in which
    each query was ranked with the parameters chosen on the other folds (.held-out.trec). The same command resumes
    interrupted tuning.

    Example: rprs tune cases.rprs queries.jsonl --qrels qrels.txt -o tuned.toml --depth 50 --folds 5

    Example: rprs tune cases.rprs queries.jsonl --qrels qrels.txt -o first.toml --what first --grid w2=0..4/0.5

    Example: rprs tune cases.rprs queries.jsonl --qrels qrels.txt -o both.toml --settings first.toml

    Example: rprs tune cases.rprs queries.jsonl --qrels qrels.txt -o paper.toml --system paper --grid k1=0..10/0.5

    Example: rprs tune cases.rprs queries.jsonl --qrels qrels.txt -o end.toml --what cutoff -m micro_F1
    """
    from rprs.files.atomic import check_target
    from rprs.files.cache import Cache

    check_target(output)
    cache = Cache(work or output.with_name(f"{output.name}.work"))
    tuned = _tune(context, cache)
    if work is None:
        cache.clear()
    _print(context.obj, tuned, output)


def _tune(context: typer.Context, cache: Cache) -> Tuned:
    """Call `rprs.tune` with the options of the command, and write its result."""
    from rprs.cli.queries import read_listed_queries
    from rprs.index import Index
    from rprs.read import read_exclusions
    from rprs.tuning.tune import tune

    values, messages = context.params, context.obj
    with Index(values["path"]) as index:
        tuned = tune(
            index,
            read_listed_queries(messages, values["queries"], values["only"]),
            values["qrels"],
            system=selected_system(context),
            what=values["what"].value,
            exclude=read_exclusions(values["exclude"], values["queries"]),
            undated=values["undated"].value,
            **{name: values[name] for name in ("measure", "grid", "folds", "before")},
            cache=cache,
            progress=messages.progress,
        )
        tuned.write(values["output"])
    return tuned


def _print(messages: Messages, tuned: Tuned, output: Path) -> None:
    from rprs.tuning.grids import describe_point

    limited = LimitedMessages(messages)
    for note in tuned.candidate_notes:
        limited(note)
    limited.close()
    if tuned.folds:
        typer.echo(tuned.validation.plain())
    typer.echo(tuned.sensitivity.plain())
    for note in tuned.notes:
        messages.print(note)
    before = f", before {tuned.before:.4f}" if tuned.before is not None else ""
    held_out = f", held out {tuned.held_out.value:.4f}" if tuned.held_out else ""
    messages.print(
        f"{tuned.measure} {tuned.value:.4f}{before}{held_out} on {counted(len(tuned.queries), 'query', 'queries')}: "
        f"{describe_point(tuned.point)}, the best of {counted(len(tuned.axes), 'point')}, is in {output}"
    )
