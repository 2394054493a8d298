"""One file to be read: the input of a reader, its output, and the readers by suffix.

A reader is a function `(Source) -> Iterator[Document | Skipped]`. It yields the documents of one file and a
`Skipped` for each record that is not a valid document, and raises `ReadError` with the bare reason if the whole file
cannot be read. The built-in formats are such functions. Third parties add theirs through entry points in the group
`rprs.reader`, whose name is the file suffix and whose value is the function: `wpd = "package.module:read"`.
"""

from __future__ import annotations

import gzip
import io
import lzma
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path, PurePath
from typing import Any, TypeAlias, cast

from rprs.document import Document
from rprs.errors import ReadError
from rprs.progress import Advance, no_op
from rprs.read.encoding import decode

__all__ = [
    "COMPRESSED",
    "USUAL",
    "Budget",
    "Fields",
    "Reader",
    "Skipped",
    "Source",
    "buffered",
    "find_file",
    "find_reader",
    "is_plug_in",
    "opened",
    "stem_of",
    "suffix_of",
    "suffixes",
    "unpacked",
]

LIMIT = 256 * 2**20  # bytes of one document after decompression: more is a mistake or a decompression bomb
COMPRESSED = (".gz", ".xz")
_BUFFER = 2**16  # also the part of a long file from which its encoding is detected

_BUILT_IN = {
    suffix: target
    for target, names in {
        "rprs.read.archive:read_tar": "tar tbz2 tgz txz",
        "rprs.read.package:read_zip": "docm docx dotx epub odp ods odt otp ots ott potx ppsx pptm pptx xlsm xlsx zip",
        "rprs.read.html:read_html": "htm html xhtml",
        "rprs.read.mail:read_eml": "eml",
        "rprs.read.mail:read_mbox": "mbox",
        "rprs.read.ole:read_ole": "doc dot msg pot pps ppt xls xlt",
        "rprs.read.pdf:read_pdf": "pdf",
        "rprs.read.records:read_csv": "csv",
        "rprs.read.records:read_json": "json",
        "rprs.read.records:read_jsonl": "jsonl ndjson",
        "rprs.read.records:read_tsv": "tsv",
        "rprs.read.rtf:read_rtf": "rtf",
        "rprs.read.text:read_markdown": "markdown md",
        "rprs.read.text:read_text": "license text txt",
        "rprs.read.xml_files:read_xml": "nxml xml",
    }.items()
    for suffix in names.split()
}


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file, or a record in a file, that was not read, and why; `str()` gives one line for the user.

    A file of which some pages could not be read is `partly` skipped: it is a document all the same.
    """

    path: str
    reason: str
    partly: bool = False

    def __str__(self) -> str:
        return " ".join(f"{self.path}: {self.reason}".split())


@dataclass(frozen=True, slots=True)
class Fields:
    """The columns that hold the id, title and text of a record: for each, the first name that the record has."""

    id: tuple[str, ...] = ("id", "_id", "docno", "doc_id")
    title: tuple[str, ...] = ("title",)
    text: tuple[str, ...] = ("text", "contents", "body", "content")


USUAL = Fields()


@dataclass(slots=True)
class Budget:
    """What may still be read from the members of one file, however deeply archives and messages are nested."""

    members: int = 10_000  # in archives
    bytes: int = 2**30  # in archives, after decompression


@dataclass(frozen=True, slots=True)
class Source:
    """One decompressed file, the argument of a reader."""

    id: str  # the id of a document that is the whole file; the prefix of ids for records without one
    path: str  # for messages
    stream: io.BufferedReader
    fields: Fields = USUAL
    depth: int = 0  # of archives and messages around this file
    budget: Budget = field(default_factory=Budget)
    advance: Advance = no_op  # called with numbers of paragraphs, by readers of formats without pages or members

    def data(self) -> bytes:
        """All bytes of the file."""
        data = self.stream.read(LIMIT + 1)
        if len(data) > LIMIT:
            raise ReadError(f"larger than {LIMIT / 2**20:.0f} MB: split it into several documents")
        return data

    def text(self) -> str:
        """The whole text of the file, in whichever encoding it is stored."""
        return decode(self.data())

    def inside(self, name: str, data: bytes) -> Source:
        """A file inside of this one: a member of an archive or an attachment."""
        return replace(
            self,
            id=f"{self.id}/{name}",
            path=f"{self.path}/{name}",
            stream=buffered(data),
            depth=self.depth + 1,
            budget=self.budget,
        )


Reader: TypeAlias = Callable[[Source], Iterator[Document | Skipped]]


def _decompressed(path: PurePath) -> PurePath:
    return path.with_suffix("") if path.suffix.lower() in COMPRESSED else path


def suffix_of(path: PurePath) -> str:
    """The suffix that indicates the format, in lower case and without the dot: `html` for `Page.HTML.gz`."""
    return _decompressed(path).suffix[1:].lower()


def stem_of(path: PurePath) -> str:
    """The file name without suffixes: `Page` for `Page.HTML.gz`."""
    return _decompressed(path).stem


def find_file(path: Path) -> Path | None:
    """The path of an existing file, which may be compressed: `corpus.jsonl`, `corpus.jsonl.gz` or `corpus.jsonl.xz`."""
    candidates = (path.with_name(path.name + ending) for ending in ("", *COMPRESSED))
    return next((candidate for candidate in candidates if candidate.is_file()), None)


@cache
def _targets() -> dict[str, str]:
    plugins = {point.name.lstrip(".").lower(): point.value for point in entry_points(group="rprs.reader")}
    return {**plugins, **_BUILT_IN}


def suffixes() -> list[str]:
    """The supported file suffixes: `csv`, `docx`, …"""
    return sorted(_targets())


def is_plug_in(suffix: str) -> bool:
    """Whether the reader for a suffix comes from another package."""
    return suffix not in _BUILT_IN and suffix in _targets()


def find_reader(suffix: str) -> Reader | None:
    """The reader for a suffix such as `pdf` or `.pdf`; None if the suffix is not supported."""
    name = suffix.lstrip(".").lower()
    target = _BUILT_IN.get(name) or _targets().get(name)
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
    """The bytes of an open file, decompressed if its name ends in .gz or .xz."""
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


def buffered(data: bytes) -> io.BufferedReader:
    """Bytes as the stream of a `Source`."""
    return _buffered(io.BytesIO(data))
