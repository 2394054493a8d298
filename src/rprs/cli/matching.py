"""The verb that compares many documents: who matches whom."""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from rprs.cli.groups import SystemGroup, with_groups
from rprs.cli.messages import LimitedMessages, Messages, counted
from rprs.cli.options import (
    Before,
    IndexPath,
    StrictQueries,
    Undated,
    UndatedDocuments,
    VerboseQueries,
    Where,
)
from rprs.cli.system import selected_system
from rprs.errors import UsageError

if TYPE_CHECKING:
    from rprs.matrices.values import Matrix

QueriesToMatch = Annotated[
    Path | None,
    typer.Argument(
        metavar="[QUERIES]",
        help="The documents to compare with the index: a folder with one file each, or a file of records (jsonl, csv).",
        show_default="all documents of the index",
    ),
]
CsvFile = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="The CSV file to write.", metavar="FILE", show_default="standard output"),
]
PictureFile = Annotated[
    Path | None, typer.Option("--picture", help="Also draw the matrix: a .svg or .png file.", metavar="FILE")
]
Best = Annotated[int, typer.Option("-k", help="The number of matches of each document.", min=1)]
WithEvidence = Annotated[
    bool,
    typer.Option("--evidence", help="Add shares and the most telling passages of each match; this takes longer."),
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", help="Processes that compare.", min=1, show_default="the number of processors"),
]


@with_groups
def matrix(
    context: typer.Context,
    *,
    path: IndexPath,
    queries: QueriesToMatch = None,
    output: CsvFile = None,
    picture: PictureFile = None,
    k: Best = 10,
    evidence: WithEvidence = False,
    ranking: SystemGroup,
    where: Where = None,
    before: Before = None,
    undated: UndatedDocuments = Undated.keep,
    jobs: Jobs = None,
    strict: StrictQueries = False,
    verbose: VerboseQueries = False,
) -> None:
    """List the best matches of every document, and find clusters of near duplicates.

    Without QUERIES, all documents of the index (or those that --where selects) are compared with each other; a folder
    or a file of documents is compared with the index. The CSV file has one row per match, document by document: rank,
    id, title, score, relation (identical, near duplicate, different) and the number of the cluster. Finished documents
    are kept in OUTPUT.work until the file is complete: the same command resumes after an interruption.

    Example: rprs matrix cases.rprs -o matrix.csv --picture matrix.svg

    Example: rprs matrix cases.rprs briefs/ -k 5 --evidence -o briefs.csv

    Example: rprs matrix cases.rprs --where "date > 2020" -o recent.csv
    """
    from rprs.files.cache import Cache
    from rprs.matrices.compute import matrix as compute
    from rprs.scoring.threads import cores

    messages: Messages = context.obj
    started = perf_counter()
    _check_targets(output, picture)
    cache = None if output is None else Cache(output.with_name(f"{output.name}.work"))
    result = compute(
        path,
        queries,
        selected_system(context),
        k=k,
        where=where,
        before=before,
        undated=undated.value,
        evidence=evidence,
        strict=strict,
        jobs=jobs or cores(),
        cache=cache,
        progress=messages.progress,
    )
    _write(result, output, picture)
    if cache is not None:
        cache.clear()
    _print_summary(messages, result, verbose, perf_counter() - started)


def _check_targets(output: Path | None, picture: Path | None) -> None:
    """Before hours of work, not after them: that files can be written and the picture drawn."""
    from rprs.files.atomic import check_target

    for target in (output, picture):
        if target is not None:
            check_target(target)
    if picture is None:
        return
    if picture.suffix.lower() not in (".svg", ".png"):
        raise UsageError(f"A picture is a .svg or .png file. Got {picture.name}")
    from rprs.studies.figures.canvas import styled

    with styled():  # an error without Matplotlib
        pass


def _write(result: Matrix, output: Path | None, picture: Path | None) -> None:
    from rprs.files.atomic import write_atomically

    if picture is not None:
        drawn = result.picture()
        write_atomically(picture, drawn.svg if picture.suffix.lower() == ".svg" else drawn.png)
    if output is None:
        sys.stdout.write(result.to_csv())
    else:
        write_atomically(output, result.to_csv())


def _print_summary(messages: Messages, result: Matrix, verbose: bool, seconds: float) -> None:
    failures = LimitedMessages(messages, verbose)
    for query, reason in result.failures.items():
        failures(f"failed {query}: {reason}")
    failures.close()
    clusters = result.clusters
    members = sum(map(len, clusters))
    of_members = f" with {counted(members, 'document')}, at most {len(clusters[0]):,} in one" if clusters else ""
    messages.print(
        f"{counted(len(result.queries), 'document')} compared, {counted(len(result.failures), 'document')} failed: "
        f"{counted(len(result.matches), 'match', 'matches')} in {seconds:.1f} s"
    )
    messages.print(f"{counted(len(clusters), 'cluster')} of near duplicates{of_members}")
