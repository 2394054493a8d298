"""What every collection has, and what all of them do to become documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from rprs.document import Document, Value
from rprs.errors import ReadError
from rprs.read import Qrels, Skipped, ignore
from rprs.read.encoding import clean
from rprs.read.files import documents
from rprs.read.source import Reader

__all__ = ["Collection", "Report", "document", "identifier", "loaded", "missing", "one", "sifted"]

Report = Callable[[Skipped], None]


class Collection(Protocol):
    """Documents, queries and judgements that belong together.

    All methods can be called again and again. If a file that they need is not there, they raise one line that says what
    to download, from whom, and where to put it.
    """

    def documents(self, skipped: Report = ignore) -> Iterator[Document]:
        """What is searched, in an order that is the same each time; `skipped` is told what cannot be read."""
        ...

    def queries(self, skipped: Report = ignore) -> Iterator[Document]:
        """The documents that are asked with."""
        ...

    def qrels(self) -> Qrels:
        """The judgements: a grade above 0 is relevant."""
        ...

    def excluded(self) -> Mapping[str, frozenset[str]]:
        """By query, the documents that must not be ranked for it, beyond the one with the query's own id."""
        ...

    def files(self) -> Sequence[Path]:
        """Every file that it is made of, in a stable order."""
        ...


def missing(what: str, folder: Path, get: str, put: str) -> ReadError:
    """The error of a collection that is not at hand: what is missing, where to get it, and what to put there."""
    return ReadError(f"{folder} lacks {what}: download from {get}, and put {put} there")


def identifier(name: str) -> str:
    """A name as an id that can stand in a run or in judgements: `Château_Margaux`."""
    return "_".join(clean(name).split())


def document(
    where: str, id: str, text: str, title: str = "", metadata: Mapping[str, Value] | None = None
) -> Document | Skipped:
    """A document with its title before its text, as records are read, too, so that both are searched."""
    text, title, name = clean(text), " ".join(clean(title).split()), identifier(id)
    if not name or not text.strip():
        return Skipped(where, "no text in it" if name else "no id")
    if title and not text.lstrip().startswith(title):
        text = f"{title}\n\n{text}"
    return Document(name, text, title, metadata or {})


def sifted(items: Iterable[Document | Skipped], skipped: Report) -> Iterator[Document]:
    """The documents among some items, each id once; the rest is reported."""
    taken: set[str] = set()
    for item in items:
        if isinstance(item, Skipped):
            skipped(item)
        elif item.id in taken:
            skipped(Skipped(item.id, "the id is taken by an earlier document"))
        else:
            taken.add(item.id)
            yield item


def one(reader: Reader, path: Path, id: str) -> Document | Skipped:
    """The one document of a file under an id, without the title and the date that only its file would give it."""
    found = next(documents(reader, path, id))
    return document(str(path), id, found.text) if isinstance(found, Document) else found


def loaded(parse: Callable[[], Any], where: str) -> Any:
    """What a parser makes of content that must be good, or one line that says where it is not."""
    try:
        return parse()
    except (OSError, ValueError, RecursionError) as error:
        raise ReadError(f"{where}: cannot be read: {error}") from error
