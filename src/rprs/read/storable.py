"""The output of a reader → documents that can be stored, and reasons that a user understands."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path, PurePath

from rprs.document import Document, Metadata, Value
from rprs.errors import ReadError
from rprs.read.encoding import clean
from rprs.read.source import Reader, Skipped, Source, stem_of

__all__ = ["displayed", "reason", "storable"]


def displayed(path: Path) -> str:
    """A path for messages and metadata."""
    return clean(str(path))


def storable(reader: Reader, source: Source, defaults: Metadata) -> Iterator[Document | Skipped]:
    """The documents of a file, cleaned and with `defaults` as metadata; a file without any is a `ReadError`."""
    if not source.stream.peek(1):
        raise ReadError("an empty file")
    empty = True
    for item in reader(source):
        empty = False
        yield _cleaned(item, source, defaults) if isinstance(item, Document) else item
    if empty:
        raise ReadError("contains no documents")


def reason(error: Exception) -> str:
    """Why a file cannot be read, from whatever its reader raised."""
    if isinstance(error, ReadError):
        return _one_line(str(error))
    if isinstance(error, MemoryError):
        return "needs more memory than is available"
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read: {error.strerror}"
    message = re.sub(r"\b(?:0x[0-9a-fA-F]{6,}|\d{12,})\b", "…", str(error))  # addresses of objects mean nothing
    return f"can't be opened; it may be damaged ({type(error).__name__}: {_one_line(message)[:200]})"


def _one_line(message: str) -> str:
    """Libraries break their messages into lines."""
    return " ".join(message.split()).replace(" ,", ",")


def _cleaned(document: Document, source: Source, defaults: Metadata) -> Document | Skipped:
    id, text = " ".join(clean(document.id).split()), clean(document.text)
    if not id or not text.strip():
        return Skipped(source.path, "contains no text" if id else f"the id {document.id!r} has no visible characters")
    is_file = document.id == source.id
    metadata = {**defaults, **{clean(str(key)): _storable_value(value) for key, value in document.metadata.items()}}
    title = " ".join(clean(document.title).split())
    if is_file and not title:
        title = stem_of(PurePath(source.id))
    return Document(id, text, title, metadata)


def _storable_value(value: Value) -> Value:
    if isinstance(value, str):
        return clean(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
