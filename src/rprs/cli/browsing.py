"""The verbs that list, find and show the documents of an index."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from rprs.cli.messages import Messages, counted
from rprs.cli.options import DocumentFormat, IndexPath, ListFormat, Where

if TYPE_CHECKING:
    from rprs.index.lookup import Listing

Limit = Annotated[
    int | None, typer.Option("-k", help="The number of documents to print.", min=1, show_default="all documents")
]
Print = Annotated[ListFormat, typer.Option("--format", help="The format of the list.")]


def list_(
    context: typer.Context, path: IndexPath, where: Where = None, k: Limit = None, format: Print = ListFormat.table
) -> None:
    """List the documents of an index with their titles, sentences and words, in the order of their ids.

    Example: rprs list cases.rprs -k 20

    Example: rprs list cases.rprs --where "date < 2016-01-01" --format csv > documents.csv
    """
    from rprs.index import Index
    from rprs.index.lookup import list_documents

    with Index(path) as index:
        _print_listing(context.obj, list_documents(index, where=where, limit=k), format)


def find(
    context: typer.Context,
    path: IndexPath,
    words: Annotated[
        list[str],
        typer.Argument(metavar="WORDS", help="Words, or parts of words, of the id or title.", show_default=False),
    ],
    k: Limit = None,
    format: Print = ListFormat.table,
) -> None:
    """Find documents of an index by words of their ids and titles.

    All words must occur, in any order; upper and lower case are the same.

    Example: rprs find cases.rprs brown education

    Example: rprs find cases.rprs brown -k 5 --format json
    """
    from rprs.index import Index
    from rprs.index.lookup import find_documents

    with Index(path) as index:
        _print_listing(context.obj, find_documents(index, " ".join(words), limit=k), format)


def show(
    path: IndexPath,
    name: Annotated[
        str, typer.Argument(metavar="ID", help="The id of the document, or the path of its file.", show_default=False)
    ],
    format: Annotated[
        DocumentFormat, typer.Option("--format", help="The format of the document.")
    ] = DocumentFormat.table,
) -> None:
    """Show a document of an index: its title, metadata, numbers of sentences and words, and text.

    Example: rprs show cases.rprs 2016/brown.txt

    Example: rprs show cases.rprs 2016/brown.txt --format json
    """
    from rprs.cli.output import print_document, print_object
    from rprs.index import Index
    from rprs.index.lookup import document_summary, resolve_id

    with Index(path) as index:
        id = resolve_id(index, name)
        document, summary = index.document(id), document_summary(index, id)
    if format is DocumentFormat.table:
        print_document(document, summary)
    else:
        counts = {"sentences": summary.sentences, "words": summary.words}
        record = {"id": id, "title": document.title, **counts, "metadata": document.metadata, "text": document.text}
        print_object(record, lines=format is DocumentFormat.jsonl)


def _print_listing(messages: Messages, listing: Listing, format: ListFormat) -> None:
    from dataclasses import asdict, fields

    from rprs.cli.output import print_documents, print_objects
    from rprs.index.lookup import DocumentSummary
    from rprs.results.csv_table import csv_text

    rows = [asdict(document) for document in listing.documents]
    if format is ListFormat.csv:
        sys.stdout.write(csv_text([field.name for field in fields(DocumentSummary)], [[*row.values()] for row in rows]))
    elif format is not ListFormat.table:
        print_objects(rows, lines=format is ListFormat.jsonl)
    elif rows:
        print_documents(listing.documents)
    if not rows:
        messages.print("No documents found")
    elif len(rows) < listing.total:
        messages.print(f"The first {len(rows):,} of {counted(listing.total, 'document')}")
    else:
        messages.print(counted(listing.total, "document"))
