"""The verbs that make, change and describe an index."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rprs.cli.options import Analyzer, Encoder, IndexPath, Shape, Sources, Splitter, Strict, Verbose, Where
from rprs.cli.talk import Remarks, Talk, counted
from rprs.errors import UsageError

if TYPE_CHECKING:
    from rprs.index import Writer


def index(
    context: typer.Context,
    sources: Sources,
    to: Annotated[Path, typer.Option("--to", help="The folder of the index.", metavar="INDEX", show_default=False)],
    encoder: Encoder = None,
    splitter: Splitter = None,
    analyzer: Analyzer = None,
    strict: Strict = False,
    verbose: Verbose = False,
) -> None:
    """Make an index of files and folders, or go on where one was interrupted.

    Documents that are in it already are left alone, changed ones are replaced. What cannot be read is named and
    skipped.

    Example: rprs index cases/ --to cases.rprs

    Example: rprs index corpus.jsonl.gz --to cases.rprs --encoder "onnx(precision=fp32)"
    """
    from rprs.index import Writer

    talk: Talk = context.obj
    with Writer(
        to, create=True, encoder=encoder, splitter=splitter, analyzer=analyzer, progress=talk.progress
    ) as writer:
        _add(talk, writer, sources, strict, verbose)


def add(
    context: typer.Context, path: IndexPath, sources: Sources, strict: Strict = False, verbose: Verbose = False
) -> None:
    """Add new documents to an index, and replace changed ones.

    A document is known by its id: the path within its folder, or the id of its record.

    Example: rprs add cases.rprs new-cases/
    """
    from rprs.index import Writer

    talk: Talk = context.obj
    with Writer(path, progress=talk.progress) as writer:
        _add(talk, writer, sources, strict, verbose)


def _add(talk: Talk, writer: Writer, sources: list[Path], strict: bool, verbose: bool) -> None:
    """Read, add, and say what was done."""
    from rprs.read import read

    started, skipped = perf_counter(), Remarks(talk, verbose)

    def tell(what: object) -> None:
        skipped(f"skipped {what}")

    added = writer.add(read(sources, strict=strict, skipped=tell))
    skipped.close()
    talk.say(
        f"{counted(added.added, 'document')} added, {added.changed:,} changed, {added.unchanged:,} unchanged, "
        f"{skipped.count:,} skipped: {added.sentences:,} sentences, {added.terms:,} index terms "
        f"in {perf_counter() - started:.1f} s"
    )
    _tell_encoder(talk, writer.path)


def _tell_encoder(talk: Talk, path: Path) -> None:
    from rprs.index.info import describe_encoder, index_info

    encoder = index_info(path)["encoder"]
    if encoder:
        talk.say(f"encoder: {describe_encoder(encoder)}")


def remove(
    context: typer.Context,
    path: IndexPath,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Ids of documents.", show_default=False)] = None,
    where: Where = None,
) -> None:
    """Remove documents from an index, by id or by metadata.

    Their texts are wiped at once, their sentences and terms when the index is compacted. An id that is not there is an
    error, and then nothing is removed.

    Example: rprs remove cases.rprs 2016/brown.txt

    Example: rprs remove cases.rprs --where "date < 1990-01-01"
    """
    from rprs.index import Index, Writer

    if bool(ids) == bool(where):
        raise UsageError("Say which documents to remove, by their ids or by --where")
    talk: Talk = context.obj
    with Writer(path) as writer:
        if where:
            with Index(path) as snapshot:
                ids = [snapshot.ids[number] for number in snapshot.select(where).nonzero()[0]]
        chosen = list(dict.fromkeys(ids or []))
        stored = writer.catalog.labels(chosen)
        missing = [id for id in chosen if id not in stored]
        if missing:
            raise UsageError(f"There is no document {missing[0]!r} in {path}: nothing was removed")
        talk.say(f"{counted(writer.remove(chosen), 'document')} removed from {path}")


def compact(context: typer.Context, path: IndexPath) -> None:
    """Rewrite an index as one segment, without what was removed.

    Searches go on meanwhile.

    Example: rprs compact cases.rprs
    """
    from rprs.index import Writer
    from rprs.index.info import size_on_disk

    talk: Talk = context.obj
    with Writer(path, progress=talk.progress) as writer:
        before = size_on_disk(path)
        writer.compact()
        talk.say(f"{path}: {before / 1e6:,.1f} MB before, {size_on_disk(path) / 1e6:,.1f} MB now")


def verify(context: typer.Context, path: IndexPath) -> None:
    """Check every file of an index against its checksum, and that all fits together.

    What is wrong is printed, a line each, and the exit code is then 1.

    Example: rprs verify cases.rprs
    """
    from rprs.index import verify as check

    talk: Talk = context.obj
    problems = check(path, talk.progress)
    for problem in problems:
        typer.echo(problem)
    if problems:
        raise typer.Exit(1)
    talk.say(f"{path} is whole")


def refit(context: typer.Context, path: IndexPath) -> None:
    """Fit the encoder to the collection as it is now, and encode everything anew.

    Worth its time when much was added since the index was made. Searches go on meanwhile.

    Example: rprs refit cases.rprs
    """
    from rprs.index import Writer

    talk: Talk = context.obj
    started = perf_counter()
    with Writer(path, progress=talk.progress) as writer:
        writer.refit()
    talk.say(f"{path} was fitted and encoded anew in {perf_counter() - started:.1f} s")
    _tell_encoder(talk, path)


def info(
    path: IndexPath, format: Annotated[Shape, typer.Option("--format", help="How to print it.")] = Shape.table
) -> None:
    """Say what an index holds and what it was made with.

    Example: rprs info cases.rprs

    Example: rprs info cases.rprs --format jsonl
    """
    from rprs.cli.show import print_facts, print_json
    from rprs.index.info import index_info

    facts: dict[str, Any] = index_info(path)
    print_json(facts) if format is Shape.jsonl else print_facts(facts)


def pull(
    context: typer.Context,
    to: Annotated[
        Path | None, typer.Option("--to", help="A folder to carry to a machine without network.", metavar="FOLDER")
    ] = None,
) -> None:
    """Get the default model ahead of time, and print where it is.

    It is otherwise got on first need. With --to, copy the folder to the other machine and name it there in RPRS_MODELS.

    Example: rprs pull --to models/
    """
    from rprs.encode.models import pull as get

    talk: Talk = context.obj
    typer.echo(get(to, talk.progress))
