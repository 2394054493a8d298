"""The verb that converts a collection to a BEIR folder, which all other verbs read."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from rprs.cli.messages import LimitedMessages, Messages, counted
from rprs.cli.options import Verbose

if TYPE_CHECKING:
    from rprs.collection import Written


def convert(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            metavar="COLLECTION",
            help='A collection: "coliee(folder, year=2021)", caselaw, clefip, wikipedia, beir, irds, or a BEIR folder.',
            show_default=False,
        ),
    ],
    to: Annotated[Path, typer.Option("--to", help="The folder to write.", metavar="FOLDER", show_default=False)],
    split: Annotated[
        str | None,
        typer.Option(
            "--split", help="The split that names the file of judgements.", show_default="that of the collection"
        ),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Write a collection as a BEIR folder: corpus.jsonl, queries.jsonl, qrels/ and exclude.tsv.

    The folder appears when it is complete. Judgements of documents that the collection does not have are written like
    the others, and counted.

    Example: rprs convert "coliee(coliee, year=2021, split=train)" --to coliee-train

    Example: rprs convert "caselaw(ussc)" --to caselaw
    """
    from rprs.collection import open_collection, write_beir

    messages: Messages = context.obj
    started, skipped = perf_counter(), LimitedMessages(messages, verbose)
    written = write_beir(
        open_collection(source),
        to,
        split=split,
        progress=messages.progress,
        skipped=lambda item: skipped(f"skipped {item}"),
    )
    skipped.close()
    for line in _summary(written):
        messages.print(line)
    messages.print(f"{skipped.count:,} skipped; written to {to} in {perf_counter() - started:.1f} s")


def _summary(written: Written) -> list[str]:
    """The numbers of what was written and of what is missing, one line each."""
    lines = [
        f"{counted(written.documents, 'document')}, {counted(written.queries, 'query', 'queries')}, "
        f"{counted(written.judgements, 'judgement')}, {counted(written.excluded, 'excluded pair')}"
    ]
    if written.missing:
        lines.append(
            f"{counted(written.missing, 'judgement')}, {written.missing_relevant:,} of them relevant, of documents "
            "that are not in the collection"
        )
    if written.unasked:
        lines.append(f"{counted(written.unasked, 'query', 'queries')} with judgements but not in the collection")
    return lines
