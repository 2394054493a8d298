"""Folders and files → documents: which files are read, what they are called, and what becomes of the others."""

from __future__ import annotations

import io
import math
import os
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePath
from stat import S_ISDIR, S_ISREG

from rprs.document import Document, Metadata, Value
from rprs.errors import ReadError
from rprs.read.encoding import clean
from rprs.read.source import USUAL, Fields, Reader, Skipped, Source, find_reader, opened, stem_of, suffix_of, unpacked
from rprs.read.text import read_text

__all__ = ["documents", "documents_of_stream", "ignore", "read", "read_one", "read_queries"]

Report = Callable[[Skipped], None]
Found = Generator[Document, None, None]


def ignore(_skipped: Skipped) -> None:
    """Say nothing about what is skipped: the default of the library."""


# ---------------------------------------------------------------------------- the three ways to read


def read(
    sources: str | PurePath | Sequence[str | PurePath],
    *,
    strict: bool = False,
    skipped: Report = ignore,
    fields: Fields = USUAL,
) -> Iterator[Document]:
    """The documents of folders and files, in an order that is the same each time.

    `skipped` is told of each file or record that is not read; with `strict`, the first of them is a `ReadError`.
    A source that does not exist always is. Of a folder with a `corpus.jsonl`, as BEIR has it, only that is read.
    """
    return _read(sources, "corpus", strict, skipped, fields)


def read_queries(
    source: str | PurePath, *, strict: bool = False, skipped: Report = ignore, fields: Fields = USUAL
) -> Iterator[Document]:
    """The queries in a file of records, or in a folder in which each file is one.

    Of a folder with a `queries.jsonl`, as BEIR has it, only that is read.
    """
    return _read(source, "queries", strict, skipped, fields)


def read_one(path: str | PurePath, *, fields: Fields = USUAL) -> Document:
    """The one document that a file holds; none or several are a `ReadError`."""
    with closing(_read(path, "queries", True, ignore, fields)) as found:
        if Path(path).is_dir():
            raise ReadError(f"{path}: a folder; give the one file that is the query")
        first, second = next(found, None), next(found, None)
    if first is None:
        raise ReadError(f"{path}: no document in it")
    if second is not None:
        raise ReadError(f"{path}: more than one document in it; give a file with the one that is the query")
    return first


def _read(
    sources: str | PurePath | Sequence[str | PurePath], beir: str, strict: bool, skipped: Report, fields: Fields
) -> Found:
    given = [sources] if isinstance(sources, (str, PurePath)) else sources
    paths = [Path(source) for source in given]
    for path in paths:
        try:
            path.stat()
        except OSError as error:
            missing = isinstance(error, FileNotFoundError)
            raise ReadError(f"{path}: {'no such file or folder' if missing else _reason(error)}") from error
    return _sifted(paths, beir, strict, skipped, fields)


def _sifted(paths: Sequence[Path], beir: str, strict: bool, skipped: Report, fields: Fields) -> Found:
    taken: dict[str, str] = {}
    for file in (file for path in paths for file in _files(path, beir)):
        for item in [file] if isinstance(file, Skipped) else documents(file.reader, file.path, file.id, fields):
            where = str(file.path)
            if isinstance(item, Document) and item.id in taken:
                item = Skipped(where, f"the id {item.id!r} is taken by a document of {taken[item.id]}")
            if isinstance(item, Document):
                taken[item.id] = where
                yield item
            elif strict:
                raise ReadError(str(item))
            else:
                skipped(item)


# ---------------------------------------------------------------------------- which files


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    id: str
    reader: Reader


def _files(source: Path, beir: str) -> Iterator[_File | Skipped]:
    """The files under a folder, by name, with ids relative to it. A file that is named itself is read as text
    if its kind is not known."""
    if not source.is_dir():
        yield _File(source, source.name, find_reader(suffix_of(source)) or read_text)
        return
    seen: set[tuple[int, int]] = set()
    stack = [(source, "")]
    while stack:
        path, id = stack.pop()
        try:
            status = path.stat()
            names = _names(path, beir) if S_ISDIR(status.st_mode) else []
        except OSError as error:
            yield Skipped(_shown(path), _reason(error))
            continue
        place = (status.st_dev, status.st_ino)
        if S_ISDIR(status.st_mode) and place in seen:
            yield Skipped(_shown(path), "a link to a folder that is read already")
        elif "catalog.sqlite" in names:
            yield Skipped(_shown(path), "an index, not documents")
        elif S_ISDIR(status.st_mode):
            seen.add(place)
            stack.extend((path / name, f"{id}/{name}" if id else name) for name in reversed(names))
        elif not S_ISREG(status.st_mode):
            yield Skipped(_shown(path), "not a regular file")
        elif reader := find_reader(suffix_of(path)):
            yield _File(path, id, reader)
        else:
            yield Skipped(_shown(path), "not a kind of file that is read")


def _names(folder: Path, beir: str) -> list[str]:
    names = sorted(name for name in os.listdir(folder) if not name.startswith("."))  # noqa: PTH208  # names are all it needs
    return [name for name in names if name in {f"{beir}.jsonl{end}" for end in ("", ".gz", ".xz")}][:1] or names


def _shown(path: Path) -> str:
    return clean(str(path))


# ---------------------------------------------------------------------------- one file


def documents(reader: Reader, path: Path, id: str, fields: Fields = USUAL) -> Iterator[Document | Skipped]:
    """What a reader finds in one file, made fit to be stored. Whatever is wrong with the file is a `Skipped`."""
    shown = _shown(path)
    try:
        date = datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat()
        with opened(path) as stream:
            yield from _found(reader, Source(clean(id), shown, stream, fields), {"path": shown, "date": date})
    # The one place where every exception is caught: format libraries raise all kinds on damaged or hostile files,
    # and one file must not stop the reading of ten thousand others. The reason is shown, never lost.
    except Exception as error:
        yield Skipped(shown, _reason(error))


def documents_of_stream(reader: Reader, raw: io.BufferedReader, name: str) -> Iterator[Document | Skipped]:
    """The same of a file that has a name but no place, such as an upload: nothing is known of its path and age."""
    try:
        with unpacked(raw, PurePath(name)) as stream:
            yield from _found(reader, Source(clean(name), _shown(Path(name)), stream), {})
    except Exception as error:  # for the reason that is given above
        yield Skipped(_shown(Path(name)), _reason(error))


def _found(reader: Reader, source: Source, facts: Metadata) -> Iterator[Document | Skipped]:
    if not source.stream.peek(1):
        raise ReadError("an empty file")
    empty = True
    for item in reader(source):
        empty = False
        yield _finished(item, source, facts) if isinstance(item, Document) else item
    if empty:
        raise ReadError("no documents in it")


def _reason(error: Exception) -> str:
    if isinstance(error, ReadError):
        return str(error)
    if isinstance(error, MemoryError):
        return "needs more memory than there is for it"
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read: {error.strerror}"
    said = re.sub(r"\b(?:0x[0-9a-fA-F]{6,}|\d{12,})\b", "…", str(error))  # addresses of objects tell nothing
    return f"damaged? {type(error).__name__}: {said[:200]}"


def _finished(document: Document, source: Source, facts: Metadata) -> Document | Skipped:
    id, text = " ".join(clean(document.id).split()), clean(document.text)
    if not id or not text.strip():
        return Skipped(source.path, "no text in it" if id else f"the id {document.id!r} cannot be seen")
    whole = document.id == source.id
    # A record is not as old as the file that it is in.
    metadata: dict[str, Value] = {key: value for key, value in facts.items() if whole or key != "date"}
    metadata |= {clean(str(key)): _storable(value) for key, value in document.metadata.items()}
    title = " ".join(clean(document.title).split())
    if whole and not title:
        title = stem_of(PurePath(source.id))
    return Document(id, text, title, metadata)


def _storable(value: Value) -> Value:
    if isinstance(value, str):
        return clean(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
