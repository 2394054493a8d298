"""The verbs that create, change and describe an index."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rprs.cli.messages import Messages, counted
from rprs.cli.options import (
    Analyzer,
    DocumentFormat,
    Encoder,
    IndexPath,
    Ocr,
    OcrModes,
    Sources,
    Splitter,
    Strict,
    VectorTypes,
    Verbose,
    Where,
)
from rprs.errors import UsageError

if TYPE_CHECKING:
    from rprs.index import Writer

NewIndex = Annotated[Path, typer.Option("--to", help="The folder of the index.", metavar="INDEX", show_default=False)]
SystemOfSentences = Annotated[
    str | None,
    typer.Option(
        "--system",
        help="Split sentences as a named system needs them: paper cuts them after 25 words.",
        metavar="NAME",
        show_default="default",
    ),
]
Phrases = Annotated[
    bool | None,
    typer.Option(
        "--phrases/--no-phrases",
        help="Whether to index phrases of two and three words, which the default system needs.",
        show_default="phrases",
    ),
]
Vectors = Annotated[
    VectorTypes | None,
    typer.Option(
        help="The type of the stored vectors: float32 is for encoders whose cosines differ little.",
        show_default="float16",
    ),
]

VectorsFrom = Annotated[
    Path | None,
    typer.Option(
        help="An index with the same encoder: sentences that it has are not encoded again.",
        metavar="INDEX",
        show_default=False,
    ),
]


def index(
    context: typer.Context,
    sources: Sources,
    to: NewIndex,
    system: SystemOfSentences = None,
    encoder: Encoder = None,
    splitter: Splitter = None,
    analyzer: Analyzer = None,
    phrases: Phrases = None,
    vectors: Vectors = None,
    vectors_from: VectorsFrom = None,
    ocr: Ocr = OcrModes.auto,
    strict: Strict = False,
    verbose: Verbose = False,
) -> None:
    """Create an index of files and folders, or resume an interrupted one.

    Documents that the index has already are skipped, changed ones are replaced. A file that cannot be read is reported
    and skipped.

    Example: rprs index cases/ --to cases.rprs

    Example: rprs index corpus.jsonl.gz --to cases.rprs --encoder "onnx(precision=fp32)"

    Example: rprs index cases/ --to new.rprs --encoder onnx --no-phrases --vectors-from cases.rprs
    """
    from rprs.index import Writer
    from rprs.index.arguments import require_vector_type
    from rprs.rank.named import named_system
    from rprs.rehearsal import rehearsing

    messages: Messages = context.obj
    if system is not None and splitter is None:
        splitter = named_system(system).splitter
    with (
        rehearsing(),
        Writer(
            to,
            create=True,
            encoder=encoder,
            splitter=splitter,
            analyzer=analyzer,
            phrases=phrases,
            vectors=None if vectors is None else require_vector_type(vectors.value),
            vectors_from=vectors_from,
            progress=messages.progress,
        ) as writer,
    ):
        _add(messages, writer, sources, ocr, strict, verbose)


def add(
    context: typer.Context,
    path: IndexPath,
    sources: Sources,
    ocr: Ocr = OcrModes.auto,
    strict: Strict = False,
    verbose: Verbose = False,
) -> None:
    """Add new documents to an index, and replace changed ones.

    The id of a document is its path within the folder, or the id of its record.

    Example: rprs add cases.rprs new-cases/
    """
    from rprs.index import Writer

    messages: Messages = context.obj
    with Writer(path, progress=messages.progress) as writer:
        _add(messages, writer, sources, ocr, strict, verbose)


def _add(messages: Messages, writer: Writer, sources: list[Path], ocr: OcrModes, strict: bool, verbose: bool) -> None:
    """Read and add documents, and print a summary."""
    from rprs.cli.outcome import Outcome
    from rprs.progress import show_reading
    from rprs.read import read
    from rprs.read.bounded import use_processes
    from rprs.read.ocr import use_ocr

    started, outcome = perf_counter(), Outcome(messages, verbose)
    with show_reading(messages.progress), use_ocr(ocr.value), use_processes():
        added = writer.add(outcome.watched(read(sources, strict=strict, skipped=outcome)))
    messages.print(
        f"{counted(added.added, 'document')} added, {added.changed:,} changed, {added.unchanged:,} unchanged, "
        f"{outcome.skipped:,} skipped: {added.sentences:,} sentences, {added.terms:,} index terms "
        f"in {perf_counter() - started:.1f} s"
    )
    outcome.close(writer.path)
    for note in added.notes:
        messages.print(note)
    _print_encoder(messages, writer.path)


def _print_encoder(messages: Messages, path: Path) -> None:
    from rprs.index.info import describe_encoder, index_info, language_advice

    facts = index_info(path)
    if facts["encoder"]:
        messages.print(f"encoder: {describe_encoder(facts['encoder'])}")
    if advice := language_advice(facts["language"]):
        messages.print(advice)


def remove(
    context: typer.Context,
    path: IndexPath,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="The ids of the documents to remove.", show_default=False)
    ] = None,
    where: Where = None,
) -> None:
    """Remove documents from an index, by id or by metadata.

    Their texts are deleted at once, their sentences and terms when the index is compacted. If one of the ids does not
    exist, nothing is removed.

    Example: rprs remove cases.rprs 2016/brown.txt

    Example: rprs remove cases.rprs --where "date < 1990-01-01"
    """
    from rprs.index import Index, Writer
    from rprs.index.lookup import suggestion

    if bool(ids) == bool(where):
        raise UsageError("Name the documents to remove, by their ids or by --where")
    messages: Messages = context.obj
    with Writer(path) as writer:
        if where:
            with Index(path) as snapshot:
                ids = [snapshot.ids[number] for number in snapshot.select(where).nonzero()[0]]
        unique = list(dict.fromkeys(ids or []))
        stored = writer.catalog.labels(unique)
        missing = [id for id in unique if id not in stored]
        if missing:
            with Index(path) as snapshot:
                hint = suggestion(snapshot.ids, missing[0])
            raise UsageError(f"There is no document {missing[0]!r} in {path}: nothing was removed{hint}")
        count = counted(writer.remove(unique), "document")
        messages.print(f"{count} removed from {path}; terms and vectors stay until `rprs compact {path}`")
        _print_lingering(messages, writer)


def _print_lingering(messages: Messages, writer: Writer) -> None:
    if line := writer.lingering:
        messages.print(line)


def compact(context: typer.Context, path: IndexPath) -> None:
    """Rewrite an index without the removed documents, in as few segments as is fast: of up to 64,000 documents.

    Searches continue in the meantime.

    Example: rprs compact cases.rprs
    """
    from rprs.index import Writer
    from rprs.index.info import size_on_disk

    messages: Messages = context.obj
    with Writer(path, progress=messages.progress) as writer:
        before = size_on_disk(path)
        writer.compact()
        messages.print(f"{path}: {before / 1e6:,.1f} MB before, {size_on_disk(path) / 1e6:,.1f} MB now")
        _print_lingering(messages, writer)


def verify(context: typer.Context, path: IndexPath) -> None:
    """Check every file of an index against its checksum, and the consistency of the files with each other.

    Each problem is printed on one line, and the exit code is then 1.

    Example: rprs verify cases.rprs
    """
    from rprs.index import verify as find_problems

    messages: Messages = context.obj
    problems = find_problems(path, messages.progress)
    for problem in problems:
        typer.echo(problem)
    if problems:
        raise typer.Exit(1)
    messages.print(f"{path}: OK, no problems found")


def repair(context: typer.Context, path: IndexPath) -> None:
    """Make the damaged parts of an index anew, from the texts of its documents.

    A document whose text, title or metadata are damaged is removed and named: add it again. Run `rprs verify` first to
    see the damage.

    Example: rprs repair cases.rprs
    """
    from rprs.index import Writer

    messages: Messages = context.obj
    with Writer(path, progress=messages.progress, repairing=True) as writer:
        repaired = writer.repair()
    for line in repaired.removed:
        typer.echo(f"{line}: the document was removed, add it again")
    messages.print(
        f"{path}: {counted(len(repaired.files), 'damaged file')}, "
        f"{counted(repaired.documents, 'document')} indexed again, {len(repaired.removed):,} removed"
    )


def backup(
    context: typer.Context,
    path: IndexPath,
    to: Annotated[Path, typer.Argument(metavar="COPY", help="The folder of the copy.", show_default=False)],
) -> None:
    """Copy an index, or bring an earlier copy up to date, while others search and change it.

    Only files that the copy lacks are copied, and every file of the copy is checked. The copy is an index like any
    other: to restore it, copy the folder, or run `rprs backup COPY INDEX`.

    Example: rprs backup cases.rprs /media/disk/cases.rprs
    """
    from rprs.index.backup import backup as copy_index

    messages: Messages = context.obj
    done = copy_index(path, to, messages.progress)
    messages.print(
        f"{to}: {counted(done.documents, 'document')}, {counted(done.copied, 'file')} copied "
        f"({counted(done.bytes, 'byte')}), {done.kept:,} unchanged; verified"
    )


def refit(context: typer.Context, path: IndexPath) -> None:
    """Fit the encoder to the present collection, and encode all documents again.

    This is worth its time when many documents were added since the index was created. An interrupted refit resumes.
    Searches continue in the meantime.

    Example: rprs refit cases.rprs
    """
    from rprs.index import Writer

    messages: Messages = context.obj
    started = perf_counter()
    with Writer(path, progress=messages.progress) as writer:
        writer.refit()
    messages.print(f"{path} was fitted and encoded again in {perf_counter() - started:.1f} s")
    _print_encoder(messages, path)


def upgrade(context: typer.Context, path: IndexPath) -> None:
    """Bring an index of an older version up to date, from its own texts: add phrases, hashes of words, and checksums.

    An interrupted upgrade resumes. Searches continue in the meantime.

    Example: rprs upgrade cases.rprs
    """
    from rprs.index import Writer

    messages: Messages = context.obj
    started = perf_counter()
    with Writer(path, progress=messages.progress) as writer:
        changed = writer.upgrade()
    messages.print(
        f"{path} was brought up to date in {perf_counter() - started:.1f} s" if changed else f"{path} is up to date"
    )


def info(
    path: IndexPath,
    format: Annotated[DocumentFormat, typer.Option("--format", help="The format of the facts.")] = DocumentFormat.table,
) -> None:
    """Print the facts about an index: its size, and the components it was created with.

    Example: rprs info cases.rprs

    Example: rprs info cases.rprs --format json
    """
    from rprs.cli.output import print_facts, print_object
    from rprs.index.info import index_info

    facts: dict[str, Any] = index_info(path)
    if format is DocumentFormat.table:
        print_facts(facts)
    else:
        print_object(facts, lines=format is DocumentFormat.jsonl)


def pull(
    context: typer.Context,
    to: Annotated[
        Path | None,
        typer.Option("--to", help="The folder to download to, for a machine without a network.", metavar="FOLDER"),
    ] = None,
) -> None:
    """Download the default model in advance, and print its folder.

    Otherwise it is downloaded when it is first needed. For a machine without a network, download with --to, copy the
    folder there, and set RPRS_MODELS to it.

    Example: rprs pull --to models/
    """
    from rprs.encode.models import pull as download

    messages: Messages = context.obj
    typer.echo(download(to, messages.progress))
