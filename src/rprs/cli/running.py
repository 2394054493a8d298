"""The verbs that answer a whole set of queries and write TREC runs."""

from __future__ import annotations

import gzip
import lzma
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from rprs.cli.options import (
    FIRST,
    RERANK,
    Best,
    Depth,
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
from rprs.cli.searching import chosen, open_searcher
from rprs.cli.talk import Remarks, Talk, counted
from rprs.errors import EmptyQuery, UsageError
from rprs.progress import Progress, silent
from rprs.spec import DEPTH
from rprs.whole import drafted

if TYPE_CHECKING:
    from rprs.document import Document, Ranking
    from rprs.search import Searcher


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
    tag: Tag = None,
    strict: StrictQueries = False,
    verbose: VerboseQueries = False,
) -> None:
    """Answer a whole set of queries and write the rankings as a TREC run.

    A query that cannot be answered is named, and the others go on. The run file is there when it is whole, not before.

    Example: rprs run cases.rprs queries.jsonl -o run.trec --depth 50

    Example: rprs run cases.rprs queries.jsonl -o run.trec --settings tuned.toml
    """
    from rprs.index import Index

    talk: Talk = context.obj
    system = chosen(context, settings)
    with Index(path) as index:
        searcher = open_searcher(index, system, _progress(talk, output))
        job = _Job(queries, output, k, system.cutoff, where, keep_self, tag or searcher.tag, strict, verbose)
        _answer_all(talk, searcher, job)


def rerank(
    context: typer.Context,
    path: IndexPath,
    queries: Queries,
    given: Annotated[
        Path, typer.Option("--run", help="The run to re-rank; also .gz and .xz.", metavar="FILE", show_default=False)
    ],
    output: Output = None,
    k: Best = None,
    rerank: Rerank = RERANK,
    depth: Depth = DEPTH,
    settings: SettingsFile = None,
    where: Where = None,
    keep_self: KeepSelf = False,
    tag: Tag = None,
    strict: StrictQueries = False,
    verbose: VerboseQueries = False,
) -> None:
    """Re-rank a run that some other system wrote.

    The same as "run" with that run as the first stage.

    Example: rprs rerank cases.rprs queries.jsonl --run first.trec.xz -o out.trec --depth 50
    """
    from rprs.index import Index
    from rprs.rank import RunFile

    talk: Talk = context.obj
    system = chosen(context, settings)
    with Index(path) as index:
        searcher = open_searcher(index, system, _progress(talk, output), RunFile(str(given)))
        job = _Job(queries, output, k, system.cutoff, where, keep_self, tag or searcher.tag, strict, verbose)
        _answer_all(talk, searcher, job)


@dataclass(frozen=True, slots=True)
class _Job:
    queries: Path
    output: Path | None
    k: int | None
    cutoff: str | None
    where: str | None
    keep_self: bool
    tag: str
    strict: bool
    verbose: bool


def _progress(talk: Talk, output: Path | None) -> Progress:
    """None where the run itself scrolls over the terminal: that is progress enough."""
    return silent if output is None and sys.stdout.isatty() else talk.progress


def _answer_all(talk: Talk, searcher: Searcher, job: _Job) -> None:
    """Rank for every query, write, and say what there is to say of the rankings, and how many failed."""
    from rprs.document import Truncation
    from rprs.read import read_queries

    searcher.index.select(job.where)  # a wrong filter is one error, not one a query
    started, answered, failed, noted = perf_counter(), 0, Remarks(talk, job.verbose), Remarks(talk, job.verbose)
    truncation = Truncation()
    found = read_queries(job.queries, strict=job.strict, skipped=lambda what: failed(f"skipped {what}"))
    with _written(job.output) as stream, searcher.progress("answering", unit="queries") as advance:
        for query in found:
            try:
                ranking = _answer(searcher, query, job, stream)
                answered += 1
                truncation += ranking.truncation
                for note in ranking.notes:
                    noted(f"{query.id}: {note}")
            except (EmptyQuery, UsageError) as error:
                if job.strict:
                    raise
                failed(f"failed {query.id}: {error}")
            advance(1)
        noted.close()
        failed.close()
        if not answered:
            raise UsageError(f"None of the {failed.count:,} queries of {job.queries} could be answered")
    for line in truncation.notes:
        talk.say(line)
    seconds = perf_counter() - started
    talk.say(
        f"{counted(answered, 'query', 'queries')} answered, {failed.count:,} failed, in {seconds:.1f} s: {job.tag}"
    )


def _answer(searcher: Searcher, query: Document, job: _Job, stream: TextIO) -> Ranking:
    """Write the ranking of one query, cut as the job says; the whole of it."""
    from rprs.read import write_run
    from rprs.settings import returned

    ranking = searcher.rank(query, where=job.where, keep_self=job.keep_self)
    end = returned(job.cutoff, ranking.scores.tolist())
    end = end if job.k is None else min(end, job.k)
    write_run(stream, query.id, replace(ranking, ids=ranking.ids[:end], scores=ranking.scores[:end]), job.tag)
    return ranking


@contextmanager
def _written(path: Path | None) -> Iterator[TextIO]:
    """A stream to a file that is there when it is whole, and not before; to standard output without a path."""
    if path is None:
        yield sys.stdout
        return
    with drafted(path) as draft, _opened(draft, path.suffix.lower()) as stream:
        yield stream


def _opened(path: Path, suffix: str) -> TextIO:
    if suffix == ".gz":
        return gzip.open(path, "wt", encoding="utf-8")
    if suffix == ".xz":
        return lzma.open(path, "wt", encoding="utf-8")
    return path.open("w", encoding="utf-8")
