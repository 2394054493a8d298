"""The protocol of collections, and functions that all formats share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from rprs.document import Document, Value
from rprs.errors import ReadError
from rprs.read import Qrels, Skipped, ignore
from rprs.read.encoding import clean
from rprs.read.files import documents
from rprs.read.source import Reader

__all__ = [
    "Collection",
    "Report",
    "distinct",
    "document",
    "identifier",
    "loaded",
    "missing",
    "one",
    "queries_from",
]

Report = Callable[[Skipped], None]


class Collection(Protocol):
    """Documents, queries and judgements that belong together.

    All methods can be called repeatedly. If a required file is missing, they raise a one-line error that says what to
    download, from where, and where to put it.
    """

    def documents(self, skipped: Report = ignore) -> Iterator[Document]:
        """The documents to search, always in the same order; `skipped` is called with what cannot be read."""
        ...

    def queries(self, skipped: Report = ignore) -> Iterator[Document]:
        """The query documents."""
        ...

    def qrels(self) -> Qrels:
        """The judgements: a grade above 0 is relevant."""
        ...

    def excluded(self) -> Mapping[str, frozenset[str]]:
        """By query, the documents that must not be ranked for it, besides the document with the id of the query."""
        ...

    def files(self) -> Sequence[Path]:
        """All files of the collection, in a stable order."""
        ...


def missing(what: str, folder: Path, get: str, put: str) -> ReadError:
    """The error for a missing file of a collection: what is missing, where to get it, and what to put where."""
    return ReadError(f"{folder} lacks {what}: download from {get}, and put {put} there")


def identifier(name: str) -> str:
    """A name as an id without white space, for runs and judgements: `Château_Margaux`."""
    return "_".join(clean(name).split())


def document(
    where: str, id: str, text: str, title: str = "", metadata: Mapping[str, Value] | None = None
) -> Document | Skipped:
    """A document with its title prepended to its text, as for records, so that both are searched."""
    text, title, name = clean(text), " ".join(clean(title).split()), identifier(id)
    if not name or not text.strip():
        return Skipped(where, "contains no text" if name else "no id")
    if title and not text.lstrip().startswith(title):
        text = f"{title}\n\n{text}"
    return Document(name, text, title, metadata or {})


def distinct(items: Iterable[Document | Skipped], skipped: Report) -> Iterator[Document]:
    """The documents among some items, each id once; everything else is reported."""
    ids: set[str] = set()
    for item in items:
        if isinstance(item, Skipped):
            skipped(item)
        elif item.id in ids:
            skipped(Skipped(item.id, "the id is already used by an earlier document"))
        else:
            ids.add(item.id)
            yield item


def queries_from(field: str, queries: Iterable[Document], skipped: Report) -> Iterator[Document]:
    """The queries with the text of a metadata field instead of their own; those without the field are reported.

    They have no title, since the title of a document is searched as a part of its text. If no query has the field, the
    error lists the fields that they do have.
    """
    fields: set[str] = set()
    used = False
    for query in queries:
        text = clean(_field_text(query.metadata.get(field)))
        if text.strip():
            used = True
            yield Document(query.id, text, metadata=query.metadata)
        else:
            fields |= query.metadata.keys() - {"path"}
            skipped(Skipped(query.id, f"the query has no text in the field {field!r}"))
    if not used:
        raise ReadError(f"No query has text in the field {field!r}: they have {', '.join(sorted(fields)) or 'none'}")


def _field_text(value: Value) -> str:
    """The text of a metadata field; a list of texts, which metadata holds as JSON, becomes paragraphs."""
    if value is None:
        return ""
    if isinstance(value, str) and value.startswith("["):
        try:
            parts = json.loads(value)
        except (ValueError, RecursionError):
            return value
        if isinstance(parts, list) and all(isinstance(part, str) for part in parts):
            return "\n\n".join(parts)
    return str(value)


def one(reader: Reader, path: Path, id: str) -> Document | Skipped:
    """The single document of a file, with this id and without a title and date derived from the file."""
    item = next(documents(reader, path, id))
    return document(str(path), id, item.text) if isinstance(item, Document) else item


def loaded(parse: Callable[[], Any], where: str) -> Any:
    """The result of a parser; its failure is a one-line error with the location."""
    try:
        return parse()
    except (OSError, ValueError, RecursionError) as error:
        raise ReadError(f"{where}: cannot be read: {error}") from error
