"""Queries on the command line, and the documents that must not be ranked for them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rprs.cli.messages import LimitedMessages, Messages
from rprs.errors import ReadError, UsageError

if TYPE_CHECKING:
    from rprs.document import Document
    from rprs.index import Index

__all__ = [
    "STDIN",
    "QuerySources",
    "check_explain_order",
    "check_index_first",
    "is_file",
    "read_file",
    "read_listed_queries",
]

STDIN = "-"


@dataclass(frozen=True)
class QuerySources:
    """Where the documents of one query come from: files, a text, ids of documents in the index; at least one."""

    files: Sequence[str]
    text: str | None
    ids: Sequence[str]

    def read(self, index: Index) -> list[Document]:
        """The documents of the query."""
        from rprs.document import text_document
        from rprs.index.lookup import require_id

        if not self.files and self.text is None and not self.ids:
            raise UsageError(
                "Give a query: a file, - for standard input, --text with a text, or --id with the id of a document in "
                "the index"
            )
        texts = [] if self.text is None else [text_document(self.text)]
        return [*map(read_file, self.files), *texts, *(index.document(require_id(index, id)) for id in self.ids)]

    def excluded_ids(self, documents: Sequence[Document], table: Path | None) -> frozenset[str]:
        """The documents that a table, or else the exclude.tsv beside a query file, forbids for this query."""
        from rprs.read import read_exclusions

        files = [file for file in self.files if file != STDIN]
        tables = [read_exclusions(table)] if table is not None else [read_exclusions(None, file) for file in files]
        return frozenset(id for pairs in tables for document in documents for id in pairs.get(document.id, ()))


def read_file(file: str) -> Document:
    """A query document from a file or standard input."""
    from rprs.document import Document
    from rprs.read import read_one
    from rprs.read.encoding import clean, decode
    from rprs.read.ocr import recognition_notes, use_ocr

    if file == STDIN:
        return Document("stdin", clean(decode(sys.stdin.buffer.read())), "standard input")
    with use_ocr("auto"):
        document = read_one(file, skipped=lambda item: typer.echo(f"partly read {item}", err=True))
    for note in recognition_notes([document]):
        typer.echo(note, err=True)
    return document


def read_listed_queries(messages: Messages, queries: Path, ids_file: Path | None) -> list[Document]:
    """The queries of a file or folder; with a file of ids, one per line, only these."""
    from rprs.read import read_queries

    skipped = LimitedMessages(messages)
    documents = list(read_queries(queries, skipped=lambda item: skipped(f"skipped {item}")))
    skipped.close()
    if ids_file is None:
        return documents
    try:
        ids = {line.strip() for line in ids_file.read_text(encoding="utf-8").splitlines() if line.strip()}
    except (OSError, UnicodeDecodeError) as error:
        raise ReadError(f"{ids_file}: cannot be read as a list of ids: {error}") from error
    missing = sorted(ids - {query.id for query in documents})
    if missing:
        raise UsageError(
            f"{ids_file} names {missing[0]!r}, which is none of the {len(documents):,} queries of {queries}"
        )
    return [query for query in documents if query.id in ids]


# ---------------------------------------------------------------------------- arguments in the wrong order


def check_index_first(verb: str, path: Path, *others: str | None) -> None:
    """Raise an error with the right command if a later argument is the index and the first one is not."""
    words = [word for word in others if word is not None]
    position = next((number for number, word in enumerate(words) if _is_index(Path(word))), None)
    if position is not None and not _is_index(path):
        rest = [str(path), *words[:position], *words[position + 1 :]]
        _raise_swapped(
            f"The index comes first: {words[position]} is an index and {path} is not", verb, words[position], *rest
        )


def check_explain_order(path: Path, query: str | None, document: str) -> None:
    """Raise an error with the right command if the document comes before the query file."""
    from rprs.index import Index

    if query is None or query == STDIN or Path(query).exists() or not Path(document).is_file():
        return
    with Index(path) as index:
        is_swapped = index.number(query) is not None and index.number(document) is None
    if is_swapped:
        reason = f"The query comes before the document: {document} is a file and {query!r} is a document of the index"
        _raise_swapped(reason, "explain", str(path), document, query)


def _is_index(path: Path) -> bool:
    return is_file(path / "catalog.sqlite")


def is_file(path: Path) -> bool:
    """Whether an argument is the path of a file; it may be a text instead."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # a text may be too long for a name, or have characters that no name has
        return False


def _raise_swapped(reason: str, *words: str) -> None:
    raise UsageError(f"{reason}. Run: {shlex.join(['rprs', *words])}")
