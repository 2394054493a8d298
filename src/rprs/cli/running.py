"""The verbs that run a set of queries and write TREC runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from rprs.cli.messages import LimitedMessages, Messages, counted
from rprs.cli.opening import open_collection
from rprs.cli.options import (
    FIRST,
    RERANK,
    Before,
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
    SystemName,
    Tag,
    Undated,
    UndatedDocuments,
    VerboseQueries,
    Where,
)
from rprs.cli.system import selected_system
from rprs.errors import EmptyQuery, UsageError
from rprs.progress import Progress, silent
from rprs.spec import DEPTH

if TYPE_CHECKING:
    from rprs.files.cache import Cache
    from rprs.rank import System
    from rprs.results.run import Run


def run(
    context: typer.Context,
    path: IndexPath,
    queries: Queries,
    output: Output = None,
    k: Best = None,
    system: SystemName = None,
    first: First = FIRST,
    rerank: Rerank = RERANK,
    depth: Depth = DEPTH,
    settings: SettingsFile = None,
    where: Where = None,
    before: Before = None,
    undated: UndatedDocuments = Undated.keep,
    keep_self: KeepSelf = False,
    exclude: Exclude = None,
    tag: Tag = None,
    strict: StrictQueries = False,
    verbose: VerboseQueries = False,
) -> None:
    """Run a set of queries and write the rankings as a TREC run.

    A query that cannot be read or answered is reported and skipped. The run file appears when it is complete; until
    then, finished rankings are kept in OUTPUT.work, and the same command resumes an interrupted run. Documents that the
    exclude.tsv of a BEIR folder forbids for a query are not ranked for it.

    Example: rprs run cases.rprs queries.jsonl -o run.trec --depth 50

    Example: rprs run cases.rprs queries.jsonl -o run.trec --settings tuned.toml
    """
    _write_run(context, path, queries, output, selected_system(context, settings))


def rerank(
    context: typer.Context,
    path: IndexPath,
    queries: Queries,
    run: Annotated[
        Path, typer.Option("--run", help="The run to re-rank; also .gz and .xz.", metavar="FILE", show_default=False)
    ],
    output: Output = None,
    k: Best = None,
    system: SystemName = None,
    rerank: Rerank = RERANK,
    depth: Depth = DEPTH,
    settings: SettingsFile = None,
    where: Where = None,
    before: Before = None,
    undated: UndatedDocuments = Undated.keep,
    keep_self: KeepSelf = False,
    exclude: Exclude = None,
    tag: Tag = None,
    strict: StrictQueries = False,
    verbose: VerboseQueries = False,
) -> None:
    """Re-rank a run that another system wrote.

    This is the same as "rprs run" with that run as the first stage.

    Example: rprs rerank cases.rprs queries.jsonl --run first.trec.xz -o out.trec --depth 50
    """
    from rprs.rank import RunFile

    _write_run(context, path, queries, output, selected_system(context, settings).changed(first=RunFile(str(run))))


def _write_run(context: typer.Context, path: Path, queries: Path, output: Path | None, system: System) -> None:
    """Call `Searcher.run`, write the run, and report notes and failures."""
    from rprs.files.atomic import check_target
    from rprs.files.cache import Cache

    messages: Messages = context.obj
    started, parameters = perf_counter(), context.params
    cache = None if output is None else Cache(output.with_name(f"{output.name}.work"))
    if output is not None:
        check_target(output)
    with open_collection(context, [path]) as collection:
        system.load(messages.progress)
        searcher = collection.searcher(system, _progress(messages, output))
        options = {
            name: parameters[name]
            for name in ("exclude", "where", "before", "undated", "keep_self", "k", "strict", "tag")
        }
        with _cleared_on_error(cache):
            run = searcher.run(queries, cache=cache, **options)
            if not parameters["strict"]:  # strict: the first ranking that cannot be written is an error
                run = run.writable()
            if run:
                run.write(sys.stdout if output is None else output)
    if cache is not None:
        cache.clear()
    if not run:
        reason = next(iter(run.failures.values()))
        raise UsageError(f"None of the {len(run.failures):,} queries of {queries} could be answered: {reason}")
    _print_summary(messages, run, parameters["verbose"], perf_counter() - started)


@contextmanager
def _cleared_on_error(cache: Cache | None) -> Iterator[None]:
    """A query that fails again next time is no reason to keep the others; an interruption is."""
    try:
        yield
    except (EmptyQuery, UsageError):
        if cache is not None:
            cache.clear()
        raise


def _print_summary(messages: Messages, run: Run, verbose: bool, seconds: float) -> None:
    """The notes of the rankings, the queries that failed, and the numbers of both."""
    notes, failures = LimitedMessages(messages, verbose), LimitedMessages(messages, verbose)
    by_note: dict[str, list[str]] = {}
    for query, ranking in run.items():
        for note in ranking.notes:
            by_note.setdefault(note, []).append(query)
    for note, queries in by_note.items():
        if len(queries) == len(run) > 1:
            messages.print(f"all queries: {note}")
            continue
        for query in queries:
            notes(f"{query}: {note}")
    for query, reason in run.failures.items():
        failures(f"failed {query}: {reason}")
    notes.close()
    failures.close()
    for line in run.truncation.notes:
        messages.print(line)
    answered, failed = counted(len(run), "query", "queries"), len(run.failures)
    messages.print(
        f"{answered} answered, {failed:,} failed{' and skipped' if failed else ''}, in {seconds:.1f} s: {run.tag}"
    )


def _progress(messages: Messages, output: Path | None) -> Progress:
    """No bar if the run itself is printed on the terminal."""
    return silent if output is None and sys.stdout.isatty() else messages.progress
