"""The verb that aligns two files."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rprs.cli.options import AllPairs, ExplanationFormat, Kinds, NoBoilerplate, chosen_kinds

if TYPE_CHECKING:
    from rprs.document import Document

YourFile = Annotated[
    str, typer.Argument(metavar="FILE1", help="Your document: a file, or - for standard input.", show_default=False)
]
OtherFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE2",
        help="The document to compare it with: a file or, with --index, the id of a document.",
        show_default=False,
    ),
]
IndexToUse = Annotated[
    Path | None,
    typer.Option(
        "--index",
        help="An index whose sentences, vectors and frequent passages are used.",
        metavar="INDEX",
        show_default="none",
    ),
]
Format = Annotated[ExplanationFormat, typer.Option("--format", help="The format of the alignment.")]


def align(
    file: YourFile,
    other: OtherFile,
    index: IndexToUse = None,
    kind: Kinds = None,
    no_boilerplate: NoBoilerplate = False,
    all_pairs: AllPairs = False,
    format: Format = ExplanationFormat.table,
) -> None:
    """Show what two documents have in common: matching passages side by side, without a search.

    A match is identical (=), reworded (±, with the changed words marked) or has the same idea (≈). With an index, the
    bar for the same idea is that of its collection, and passages that many of its documents have are boilerplate.

    Example: rprs align lease-2019.pdf lease-2024.pdf

    Example: rprs align brief.pdf 2016/brown.txt --index cases.rprs

    Example: rprs align lease-2019.pdf lease-2024.pdf --kind reworded --all

    Example: rprs align lease-2019.pdf lease-2024.pdf --format html > changes.html
    """
    import rprs
    from rprs.cli.evidence import print_alignment
    from rprs.cli.output import print_object
    from rprs.cli.queries import read_file
    from rprs.results.report import alignment_report
    from rprs.results.serialize import alignment_object

    query = read_file(file)
    document = rprs.read_one(other) if index is None or Path(other).exists() else _indexed(index, other)
    alignment = rprs.align(query, document, index=index, boilerplate=not no_boilerplate)
    kinds = chosen_kinds(kind)
    if format is ExplanationFormat.html:
        details = {"version": rprs.__version__, **({"index": index.resolve().name} if index else {})}
        sys.stdout.write(alignment_report(alignment, details, kinds))
    elif format is ExplanationFormat.table:
        print_alignment(alignment, kinds, all_pairs)
    else:
        kept = tuple(pair for pair in alignment.pairs if pair.kind in kinds)
        print_object(alignment_object(replace(alignment, pairs=kept)), lines=format is ExplanationFormat.jsonl)


def _indexed(path: Path, id: str) -> Document:
    """A document of an index; an unknown id is an error that suggests similar ones."""
    from rprs.index import Index
    from rprs.index.lookup import require_id

    with Index(path) as index:
        return index.document(require_id(index, id))
