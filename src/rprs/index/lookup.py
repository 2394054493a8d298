"""Look up documents of an index: list them, find them by words, and resolve a path or a mistyped id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path, PurePath

from rprs.document import Document
from rprs.errors import NoDocument, ReadError
from rprs.index.reader import Index
from rprs.read import read_one

__all__ = [
    "DocumentSummary",
    "Listing",
    "document_summary",
    "find_documents",
    "list_documents",
    "require_id",
    "resolve_id",
    "similar_ids",
    "suggestion",
]

SUGGESTIONS = 3
_MANY = 50_000  # ids: comparing more of them letter by letter takes seconds


@dataclass(frozen=True, slots=True)
class DocumentSummary:
    """A document without its text; `words` are separated by white space."""

    id: str
    title: str
    sentences: int
    words: int


@dataclass(frozen=True, slots=True)
class Listing:
    """Some documents of an index, and the number of all that match."""

    documents: tuple[DocumentSummary, ...]
    total: int


def list_documents(index: Index, *, where: str | None = None, limit: int | None = None) -> Listing:
    """The documents that a metadata filter selects, in the order of their ids."""
    numbers = index.select(where).nonzero()[0]
    return Listing(_summaries(index, [index.ids[number] for number in numbers[:limit]]), len(numbers))


def find_documents(index: Index, words: str, *, limit: int | None = None) -> Listing:
    """The documents with all these words in their id or title, in the order of their ids."""
    documents, total = index.find(words, len(index) if limit is None else limit)
    return Listing(_summaries(index, [document.id for document in documents]), total)


def document_summary(index: Index, id: str) -> DocumentSummary:
    """One document without its text; the id must exist."""
    return _summary(index, index.document(require_id(index, id)))


def _summaries(index: Index, ids: Sequence[str]) -> tuple[DocumentSummary, ...]:
    return tuple(_summary(index, index.document(id)) for id in ids)


def _summary(index: Index, document: Document) -> DocumentSummary:
    sentences, words = len(index.sentences(document.id)), len(document.text.split())
    return DocumentSummary(document.id, document.title, sentences, words)


# ---------------------------------------------------------------------------- ids


def require_id(index: Index, id: str) -> str:
    """The id itself if the index has such a document; otherwise `NoDocument`, which suggests similar ids."""
    if index.number(id) is not None:
        return id
    raise NoDocument(f"There is no document {id!r} in {index.path}{suggestion(index.suggested_ids, id)}")


def suggestion(ids: Sequence[str], id: str) -> str:
    """The end of an error message about an unknown id: similar ids, or nothing if there are none."""
    similar = similar_ids(ids, id)
    *others, last = map(repr, similar or [""])
    return f". Did you mean {', '.join(others)}{' or ' if others else ''}{last}?" if similar else ""


def resolve_id(index: Index, name: str) -> str:
    """The id of a document given by its id or by the path of its file.

    A file matches the document with the same text, or else the one whose id is the end of the path:
    cases/2016/brown.txt is the document 2016/brown.txt.
    """
    if index.number(name) is not None:
        return name
    by_path = [id for id in _endings(name) if index.number(id) is not None]
    by_text = index.copies(document) if (document := _read(name)) else []
    both = [id for id in by_path if id in by_text]
    return next(iter([*both, *by_text, *by_path]), None) or require_id(index, name)


def _read(name: str) -> Document | None:
    try:
        return read_one(name) if Path(name).is_file() else None
    except (ReadError, OSError):
        return None


def _endings(name: str) -> list[str]:
    """The ends of a path, longest first: `a/b/c`, `b/c`, `c`."""
    parts = PurePath(name).parts
    return ["/".join(parts[start:]) for start in range(len(parts))]


def similar_ids(ids: Sequence[str], name: str, limit: int = SUGGESTIONS) -> list[str]:
    """Ids with the same end of the path, the same file name with or without its suffix, or similar letters."""
    lowered = name.casefold()
    file, stem = PurePath(lowered).name, PurePath(lowered).stem
    folded = [(id, id.casefold()) for id in ids]
    same_end = [id for id, lower in folded if file and f"/{lower}".endswith(f"/{lowered}")]
    same_file = [id for id, lower in folded if file and lower.rpartition("/")[2] in (file, stem)]
    same_stem = [id for id, lower in folded if stem and lower.rpartition("/")[2].startswith(f"{stem}.")]
    near = folded if len(folded) <= _MANY else [pair for pair in folded if pair[1][:2] == lowered[:2]]
    by_letters = {lower: id for id, lower in near}
    close = [by_letters[lower] for lower in get_close_matches(lowered, by_letters, limit)]
    return list(dict.fromkeys([*same_end, *same_file, *same_stem, *close]))[:limit]
