"""One file on its way to become documents: what a reader is given, what it yields, and how readers are found.

A reader is a function `(Source) -> Iterator[Document | Skipped]`. It yields the documents of one file, a
`Skipped` for each record that cannot be one, and raises `ReadError` with the bare reason when the whole file
cannot be read. The built-in formats are such functions; third parties add theirs through entry points in the
group `rprs.reader`, whose name is the suffix and whose value is the function: `eml = "package.module:read"`.
"""

from __future__ import annotations

import gzip
import io
import lzma
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path, PurePath
from typing import Any, TypeAlias, cast

from rprs.document import Document
from rprs.errors import ReadError
from rprs.read.encoding import decode

__all__ = [
    "USUAL",
    "Fields",
    "Reader",
    "Skipped",
    "Source",
    "find_reader",
    "opened",
    "stem_of",
    "suffix_of",
    "suffixes",
    "unpacked",
]

LIMIT = 256 * 2**20  # bytes of one document once decompressed: more is a mistake or a decompression bomb
_BUFFER = 2**16  # also what the detection of an encoding gets to see of a long file

_BUILT_IN = {
    "csv": "rprs.read.records:read_csv",
    "docx": "rprs.read.docx:read_docx",
    "htm": "rprs.read.html:read_html",
    "html": "rprs.read.html:read_html",
    "json": "rprs.read.records:read_json",
    "jsonl": "rprs.read.records:read_jsonl",
    "license": "rprs.read.text:read_text",
    "markdown": "rprs.read.text:read_markdown",
    "md": "rprs.read.text:read_markdown",
    "ndjson": "rprs.read.records:read_jsonl",
    "pdf": "rprs.read.pdf:read_pdf",
    "rtf": "rprs.read.rtf:read_rtf",
    "tsv": "rprs.read.records:read_tsv",
    "txt": "rprs.read.text:read_text",
    "xhtml": "rprs.read.html:read_html",
}


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file, or a record of one, that is not read, and why. Its text is the one line for the user."""

    path: str
    reason: str

    def __str__(self) -> str:
        return " ".join(f"{self.path}: {self.reason}".split())


@dataclass(frozen=True, slots=True)
class Fields:
    """The columns of a record that are its id, title and text: of each, the first that the record has."""

    id: tuple[str, ...] = ("id", "_id", "docno", "doc_id")
    title: tuple[str, ...] = ("title",)
    text: tuple[str, ...] = ("text", "contents", "body", "content")


USUAL = Fields()


@dataclass(frozen=True, slots=True)
class Source:
    """One file, decompressed, as a reader gets it."""

    id: str  # the id of the document that is the whole file, and the beginning of a nameless record's id
    path: str  # where it is, for messages
    stream: io.BufferedReader
    fields: Fields = USUAL

    def data(self) -> bytes:
        """All its bytes."""
        data = self.stream.read(LIMIT + 1)
        if len(data) > LIMIT:
            raise ReadError(f"larger than {LIMIT / 2**20:.0f} MB: split it into several documents")
        return data

    def text(self) -> str:
        """All its text, in whichever encoding it is."""
        return decode(self.data())


Reader: TypeAlias = Callable[[Source], Iterator[Document | Skipped]]


def _decompressed(path: PurePath) -> PurePath:
    return path.with_suffix("") if path.suffix.lower() in (".gz", ".xz") else path


def suffix_of(path: PurePath) -> str:
    """The suffix that tells the format, in lower case and without dot: `html` of `Page.HTML.gz`."""
    return _decompressed(path).suffix[1:].lower()


def stem_of(path: PurePath) -> str:
    """The name without the suffixes: `Page` of `Page.HTML.gz`."""
    return _decompressed(path).stem


@cache
def _targets() -> dict[str, str]:
    plugged = {point.name.lstrip(".").lower(): point.value for point in entry_points(group="rprs.reader")}
    return {**plugged, **_BUILT_IN}


def suffixes() -> list[str]:
    """The kinds of files that are read: `csv`, `docx`, …"""
    return sorted(_targets())


def find_reader(suffix: str) -> Reader | None:
    """The reader of a suffix, `pdf` or `.pdf`, or None if that is not a kind of file that is read."""
    target = _targets().get(suffix.lstrip(".").lower())
    if target is None:
        return None
    module, _, attribute = target.partition(":")
    try:
        reader: Reader = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ReadError(f"the reader of .{suffix} files, {target}, cannot be loaded: {error}") from error
    return reader


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedReader]:
    """The bytes of a file, decompressed if its name ends in .gz or .xz."""
    with path.open("rb", _BUFFER) as raw, unpacked(cast("io.BufferedReader", raw), path) as stream:
        yield stream


@contextmanager
def unpacked(raw: io.BufferedReader, path: PurePath) -> Iterator[io.BufferedReader]:
    """The bytes of a file that is open already, decompressed if its name ends in .gz or .xz."""
    match path.suffix.lower():
        case ".gz":
            with gzip.GzipFile(fileobj=raw) as plain:
                yield _buffered(plain)
        case ".xz":
            with lzma.LZMAFile(raw) as plain:
                yield _buffered(plain)
        case _:
            yield raw


def _buffered(plain: Any) -> io.BufferedReader:
    return io.BufferedReader(plain, _BUFFER)
