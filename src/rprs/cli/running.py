"""The verbs that run a set of queries and write TREC runs."""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from rprs.cli.options import (
    FIRST,
    RERANK,
    Best,
    Depth,
    Exclude,
    First,
    IndexPath,
    KeepSelf,
    Output,
    Queries,
    Rerank,
    SettingsFile,
    StrictQueries,
    Tag,
    VerboseQueries,
    Where,
)
from rprs.cli.searching import chosen
from rprs.cli.talk import Remarks, Talk, counted
from rprs.progress import Progress, silent
from rprs.spec import DEPTH

if TYPE_CHECKING:
    from rprs.rank import System


def run(
    context: typer.Context,
    path: IndexPath,
    queries: Queries,
    output: Output = None,
    k: Best = None,
    first: First = FIRST,
    rerank: Rerank = RERANK,
    depth: Depth = DEPTH,
    settings: SettingsFile = None,
    where: Where = None,
    keep_self: KeepSelf = False,
    exclude: Exclude = None,
    tag: Tag = None,
    strict: StrictQueries = False,
    verbose: VerboseQueries = False,
) -> None:
    """Run a set of queries and write the rankings as a TREC run.

    A query that cannot be answered is reported, and the others continue. The run file appears when it is complete;
    interrupted, the same command resumes. Documents that the exclude.tsv of a BEIR folder forbids for a query are not
    ranked for it.

    Example: rprs run cases.rprs queries.jsonl -o run.trec --depth 50

    Example: rprs run cases.rprs queries.jsonl -o run.trec --settings tuned.toml
    """
    _write_run(context, path, queries, output, chosen(context, settings))


def rerank(
    context: typer.Context,
    path: IndexPath,
    queries: Queries,
    run: Annotated[
        Path, typer.Option("--run", help="The run to re-rank; also .gz and .xz.", metavar="FILE", show_default=False)
    ],
    output: Output = None,
    k: Best = None,
    rerank: Rerank = RERANK,
    depth: Depth = DEPTH,
    settings: SettingsFile = None,
    where: Where = None,
    keep_self: KeepSelf = False,
    exclude: Exclude = None,
    tag: Tag = None,
    strict: StrictQueries = False,
    verbose: VerboseQueries = False,
) -> None:
    """Re-rank a run that another system wrote.

    The same as "run" with that run as the first stage.

    Example: rprs rerank cases.rprs queries.jsonl --run first.trec.xz -o out.trec --depth 50
    """
    from rprs.rank import RunFile

    _write_run(context, path, queries, output, chosen(context, settings).changed(first=RunFile(str(run))))


def _write_run(context: typer.Context, path: Path, queries: Path, output: Path | None, system: System) -> None:
    """One call of `Searcher.run`, and what there is to report of it."""
    from rprs.files.atomic import check_target
    from rprs.files.cache import Cache
    from rprs.index import Index
    from rprs.search import Searcher

    talk: Talk = context.obj
    started, given = perf_counter(), context.params
    cache = None if output is None else Cache(output.with_name(f"{output.name}.work"))
    if output is not None:
        check_target(output)
    with Index(path) as index:
        system.load(talk.progress)
        searcher = Searcher(index, system, progress=_progress(talk, output))
        options = {name: given[name] for name in ("exclude", "where", "keep_self", "k", "strict", "tag")}
        rankings = searcher.run(queries, cache=cache, **options)
    rankings.write(sys.stdout if output is None else output)
    if cache is not None:
        cache.clear()
    notes, failed = Remarks(talk, given["verbose"]), Remarks(talk, given["verbose"])
    for query, ranking in rankings.items():
        for note in ranking.notes:
            notes(f"{query}: {note}")
    for query, reason in rankings.failures.items():
        failed(f"failed {query}: {reason}")
    notes.close()
    failed.close()
    for line in rankings.truncation.notes:
        talk.say(line)
    seconds, answered = perf_counter() - started, counted(len(rankings), "query", "queries")
    talk.say(f"{answered} answered, {failed.count:,} failed, in {seconds:.1f} s: {rankings.tag}")


def _progress(talk: Talk, output: Path | None) -> Progress:
    """No bar where the run itself scrolls over the terminal."""
    return silent if output is None and sys.stdout.isatty() else talk.progress
