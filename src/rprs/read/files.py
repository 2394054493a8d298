"""Folders and files → documents: which files are read, the ids of their documents, and why files are skipped."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path, PurePath
from stat import S_ISDIR, S_ISREG

from rprs.document import Document
from rprs.errors import ReadError, UsageError
from rprs.progress import Advance, reading_progress, silent
from rprs.read.encoding import clean
from rprs.read.kinds import is_passed_over, read_any, read_named
from rprs.read.members import is_attached
from rprs.read.source import (
    COMPRESSED,
    USUAL,
    Fields,
    Reader,
    Skipped,
    Source,
    opened,
    unpacked,
)
from rprs.read.storable import displayed, reason, storable
from rprs.read.topics import find_query_reader

__all__ = [
    "Report",
    "SourceFile",
    "check_paths",
    "contents_of",
    "documents",
    "documents_of_stream",
    "ignore",
    "list_files",
    "read",
    "read_contents",
    "read_one",
    "read_queries",
]

LARGE = 8 * 2**20  # bytes of a file that shows progress
Report = Callable[[Skipped], None]
FindReader = Callable[[PurePath], Reader]
Paths = str | PurePath | Sequence[str | PurePath]


def ignore(_skipped: Skipped) -> None:
    """Do not report skipped files: the default of the library."""


# ---------------------------------------------------------------------------- three ways to read


def read(
    sources: Paths, *, strict: bool = False, skipped: Report = ignore, fields: Fields = USUAL
) -> Iterator[Document]:
    """The documents of folders and files, always in the same order.

    `skipped` is called with each file or record that is not read, or only partly; with `strict`, the first one that is
    not read raises a `ReadError`.
    A source that does not exist always does. In a BEIR folder, only `corpus.jsonl` is read.
    """
    return _read(sources, "corpus", strict, skipped, fields)


def read_queries(
    source: str | PurePath, *, strict: bool = False, skipped: Report = ignore, fields: Fields = USUAL
) -> Iterator[Document]:
    """The queries in a file of records or topics, or in a folder with one query per file.

    In a BEIR folder, only `queries.jsonl` is read. A text or TSV file may be TREC topics or a table `id<TAB>query`,
    with or without a header line, whichever its content is (see `rprs.read.topics`): a plain text is a table only if
    it has at least two lines, each with exactly one tab after an id that is a single word and occurs once. Any other
    plain text is one query.
    """
    return _read(source, "queries", strict, skipped, fields, find_query_reader)


def read_one(path: str | PurePath, *, skipped: Report = ignore, fields: Fields = USUAL) -> Document:
    """The single document in a file; a file with none or several is a `ReadError`.

    A message is one document, whatever is attached to it. `skipped` is called with pages that could not be read.
    """
    check_paths([path])
    if Path(path).is_dir():
        raise ReadError(f"{path}: a folder; name the file of the query document")
    inside = f"{displayed(Path(path))}/"  # attachments

    def check(item: Skipped) -> None:
        if not item.partly and not item.path.startswith(inside):
            raise ReadError(str(item))
        skipped(item)

    with closing(_read(path, "queries", False, check, fields)) as documents:
        first = next(documents, None)
        second = None if first is None else next((one for one in documents if not is_attached(one, first)), None)
    if first is None:
        raise ReadError(f"{path}: contains no document")
    if second is not None:
        raise ReadError(f"{path}: contains more than one document; name a file with only the query document")
    return first


def _default_reader(_path: PurePath) -> Reader:
    return read_named


def _read(
    sources: Paths,
    beir_file: str,
    strict: bool,
    skipped: Report,
    fields: Fields,
    reader_of_file: FindReader = _default_reader,
) -> Generator[Document, None, None]:
    paths = list(map(Path, check_paths(sources)))
    for path in paths:
        try:
            path.stat()
        except FileNotFoundError as error:
            raise ReadError(f"{path}: no such file or folder") from error
        except (OSError, ValueError) as error:  # ValueError: a NUL character
            raise ReadError(f"{displayed(path)}: {reason(error)}") from error
    files = (file for path in paths for file in list_files(path, beir_file, reader_of_file))
    return _distinct(files, strict, skipped, fields)


def check_paths(sources: object) -> list[str | PurePath]:
    """Paths, or a `UsageError`."""
    paths = [sources] if isinstance(sources, str | PurePath) else sources
    if isinstance(paths, bytes) or not isinstance(paths, Iterable):
        raise UsageError(f"Expected the path of a file or folder, or a list of paths. Got {sources!r:.80}")
    paths = list(paths)
    for path in paths:
        if not isinstance(path, str | PurePath):
            raise UsageError(f"A path must be a string or a pathlib.Path. Got {path!r:.80}")
        if path == "":
            raise UsageError("The path is empty: name a file or folder, or . for the current folder")
    return paths


def _distinct(
    files: Iterable[SourceFile | Skipped], strict: bool, skipped: Report, fields: Fields
) -> Generator[Document, None, None]:
    """The documents of the files, each id once; everything else is reported."""
    places: dict[str, str] = {}
    for file, items in read_contents.get()(files, fields):
        for item in items:
            place = str(file.path)
            if isinstance(item, Document) and item.id in places:
                item = Skipped(place, f"the id {item.id!r} is already used by a document of {places[item.id]}")
            if isinstance(item, Document):
                places[item.id] = place
                yield item
            elif strict and not item.partly:
                raise ReadError(str(item))
            else:
                skipped(item)


# ---------------------------------------------------------------------------- which files


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of a source, with the id of the document that it may be."""

    path: Path
    id: str
    reader: Reader


def list_files(
    source: Path, beir_file: str = "corpus", reader_of_file: FindReader = _default_reader
) -> Iterator[SourceFile | Skipped]:
    """The files of a folder, by name, with ids relative to the folder.

    A source that is a file is read with `reader_of_file`.
    """
    if not source.is_dir():
        yield SourceFile(source, source.name, reader_of_file(source))
        return
    visited: set[tuple[int, int]] = set()
    stack = [(source, "")]
    while stack:
        path, id = stack.pop()
        try:
            status = path.stat()
            names = _names(path, beir_file) if S_ISDIR(status.st_mode) else []
        except OSError as error:
            yield Skipped(displayed(path), reason(error))
            continue
        inode = (status.st_dev, status.st_ino)
        if S_ISDIR(status.st_mode) and inode in visited:
            yield Skipped(displayed(path), "a link to a folder that is already being read")
        elif "catalog.sqlite" in names:
            yield Skipped(displayed(path), "an index, not documents")
        elif S_ISDIR(status.st_mode):
            visited.add(inode)
            stack.extend((path / name, f"{id}/{name}" if id else name) for name in reversed(names))
        elif not S_ISREG(status.st_mode):
            yield Skipped(displayed(path), "not a regular file")
        else:
            yield SourceFile(path, id, read_any)


def _names(folder: Path, beir_file: str) -> list[str]:
    names = sorted(name for name in os.listdir(folder) if not is_passed_over(name))  # noqa: PTH208  # only names are needed
    return [name for name in names if name in {f"{beir_file}.jsonl{end}" for end in ("", *COMPRESSED)}][:1] or names


# ---------------------------------------------------------------------------- one file


def contents_of(file: SourceFile | Skipped, fields: Fields = USUAL) -> Iterator[Document | Skipped]:
    """The documents of one file, read in this process."""
    if isinstance(file, Skipped):
        yield file
    else:
        yield from documents(file.reader, file.path, file.id, fields)


ReadContents = Callable[
    [Iterable[SourceFile | Skipped], Fields], Iterator[tuple[SourceFile | Skipped, Iterator[Document | Skipped]]]
]


def _in_this_process(
    files: Iterable[SourceFile | Skipped], fields: Fields
) -> Iterator[tuple[SourceFile | Skipped, Iterator[Document | Skipped]]]:
    return ((file, contents_of(file, fields)) for file in files)


# How files are read, each with its documents, in their order: the library reads them in the process that calls it, the
# command line in others (`rprs.read.bounded`).
read_contents: ContextVar[ReadContents] = ContextVar("read_contents", default=_in_this_process)


def documents(reader: Reader, path: Path, id: str, fields: Fields = USUAL) -> Iterator[Document | Skipped]:
    """The documents of one file, ready to be stored. Any problem with the file is a `Skipped`."""
    shown = displayed(path)
    try:
        with opened(path) as stream, _progress(path, shown) as advance:
            yield from storable(reader, Source(clean(id), shown, stream, fields, advance=advance), {"path": shown})
    # The one place where every exception is caught: format libraries raise all kinds on damaged or hostile files,
    # and one file must not stop the reading of ten thousand others. The reason is always reported.
    except Exception as error:
        yield Skipped(shown, reason(error))


def _progress(path: Path, shown: str) -> AbstractContextManager[Advance]:
    """A large file shows that it is being read, also where its reader can't tell how far it is."""
    progress = reading_progress.get() if path.stat().st_size >= LARGE else silent
    return progress(f"reading {shown}", unit="paragraphs")


def documents_of_stream(reader: Reader, raw: io.BufferedReader, name: str) -> Iterator[Document | Skipped]:
    """The documents of a file that has only a name, such as an upload; they have no path."""
    try:
        with unpacked(raw, PurePath(name)) as stream:
            yield from storable(reader, Source(clean(name), displayed(Path(name)), stream), {})
    except Exception as error:  # for the same reason as above
        yield Skipped(displayed(Path(name)), reason(error))
