"""Sources as parts that nodes read independently, and documents as lines of JSON by shard."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rprs.document import Document
from rprs.errors import ReadError
from rprs.read.bounded import parse_document
from rprs.read.files import SourceFile, check_paths, list_files
from rprs.read.kinds import read_any, read_named
from rprs.read.source import Skipped
from rprs.read.storable import displayed

__all__ = ["Listed", "Part", "documents_of", "lines_of", "list_parts", "shard_of", "source_files"]

LEAST, MOST = 2**20, 32 * 2**20  # bytes of the files of a part
SHARE = 16  # parts, if they are between these limits: so that several nodes read a small collection, too
PART_FILES = 2000


@dataclass(frozen=True, slots=True)
class Listed:
    """A file to read, or the reason why it is not read."""

    path: str
    id: str = ""
    named: bool = False  # whether it was named itself, not found in a folder
    stamp: tuple[int, int] = (0, 0)  # size and time of the last change
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """Files that one task reads, in their order."""

    files: tuple[Listed, ...]

    def key(self) -> list[Any]:
        """What the documents of the part depend on."""
        return [[file.path, file.id, file.named, *file.stamp, file.reason] for file in self.files]


def shard_of(id: str, shards: int) -> int:
    """The shard of a document: by a hash of its id, so that it is known without a directory."""
    return int.from_bytes(hashlib.sha256(id.encode("utf-8", "surrogatepass")).digest()[:8], "big") % shards


def list_parts(sources: Sequence[str | Path]) -> list[Part]:
    """The files of all sources, in the order in which `rprs index` reads them; every node must have them there."""
    parts: list[Part] = []
    files: list[Listed] = []
    filled, everything = 0, list(_listed(sources))
    size = max(LEAST, min(MOST, sum(listed.stamp[0] for listed in everything) // SHARE))
    for listed in everything:
        files.append(listed)
        filled += listed.stamp[0]
        if filled >= size or len(files) >= PART_FILES:
            parts.append(Part(tuple(files)))
            files, filled = [], 0
    return [*parts, Part(tuple(files))] if files else parts


def _listed(sources: Sequence[str | Path]) -> Iterator[Listed]:
    paths = [Path(path).absolute() for path in check_paths(sources)]
    for path in paths:
        if not path.exists():
            raise ReadError(f"{path}: no such file or folder")
    for path in paths:
        for item in list_files(path):
            if isinstance(item, Skipped):
                yield Listed(item.path, reason=item.reason)
                continue
            try:
                status = item.path.stat()
            except OSError as error:
                yield Listed(displayed(item.path), reason=error.strerror or str(error))
                continue
            stamp = (status.st_size, status.st_mtime_ns)
            yield Listed(str(item.path), item.id, item.reader is not read_any, stamp)


def source_files(part: Part) -> Iterator[SourceFile | Skipped]:
    """The files of a part, ready to be read."""
    for file in part.files:
        if file.reason:
            yield Skipped(file.path, file.reason)
        else:
            yield SourceFile(Path(file.path), file.id, read_named if file.named else read_any)


def lines_of(documents: Iterable[Document]) -> bytes:
    """Documents as lines of JSON, not compressed: that took longer than all else that is done to pass them on."""
    lines = (
        json.dumps({"id": one.id, "title": one.title, "text": one.text, "metadata": dict(one.metadata)})
        for one in documents
    )
    return "\n".join(lines).encode("ascii")


def documents_of(content: bytes) -> Iterator[Document]:
    """The documents in lines of JSON."""
    for line in content.splitlines():
        yield parse_document(json.loads(line))
