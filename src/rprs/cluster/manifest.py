"""What a generation of a cluster consists of: one JSON file, which is published once and never changes.

A file of a shard is stored under its SHA-256, so that generations share the files that did not change, and a shard is
the same whoever has built it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, get_type_hints

from rprs.errors import StoreError

__all__ = [
    "FORMAT",
    "FileEntry",
    "Manifest",
    "ShardEntry",
    "blob_path",
    "generation_path",
    "parse_files",
    "parse_manifest",
    "parse_shard",
]

FORMAT = 1


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file: its path within the shard, its size and its SHA-256, under which it is stored."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ShardEntry:
    """A shard: an ordinary index of the documents whose ids have the same hash."""

    name: str
    documents: int
    words: int
    sentences: int
    files: tuple[FileEntry, ...]

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(file.bytes for file in self.files)


@dataclass(frozen=True, slots=True)
class Manifest:
    """A generation: its settings, its shards, and what was measured on all documents (`statistics`, as files)."""

    generation: int
    source: str  # a hash of all that it was made of
    splitter: str
    analyzer: str
    encoder: str  # as the user gave it, such as fitted
    phrases: bool
    vectors: str
    encoder_used: str  # the one that made the vectors; the teacher if there are few sentences; "" if there are none
    fingerprint: str  # of its weights
    shards: tuple[ShardEntry, ...]
    statistics: tuple[FileEntry, ...] = ()
    format: int = FORMAT

    @property
    def documents(self) -> int:
        """The number of documents in all shards."""
        return sum(shard.documents for shard in self.shards)

    @property
    def words(self) -> int:
        """The number of words in all shards."""
        return sum(shard.words for shard in self.shards)

    @property
    def sentences(self) -> int:
        """The number of sentences in all shards."""
        return sum(shard.sentences for shard in self.shards)

    @property
    def files(self) -> Iterable[FileEntry]:
        """All files that the generation needs."""
        yield from self.statistics
        for shard in self.shards:
            yield from shard.files

    def to_json(self) -> bytes:
        """The manifest as it is published."""
        return (json.dumps(asdict(self), indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode()


def blob_path(sha256: str) -> str:
    """Where a store keeps a file."""
    return f"files/{sha256[:2]}/{sha256}"


def generation_path(generation: int) -> str:
    """Where a store keeps a manifest."""
    return f"generations/{generation:08d}.json"


def parse_manifest(data: bytes, where: str) -> Manifest:
    """The manifest in a file; whatever is wrong with it is one `StoreError`."""
    try:
        table = json.loads(data)
        if table.get("format") != FORMAT:
            raise StoreError(
                f"{where} has the cluster format {table.get('format')!r}, and this version of rprs reads {FORMAT}: "
                "use the version of rprs that published it, or build the cluster anew"
            )
        shards = tuple(parse_shard(each) for each in table["shards"])
        manifest: Manifest = _filled(Manifest, table, shards=shards, statistics=parse_files(table["statistics"]))
        manifest.to_json()  # refuses half a surrogate pair, which cannot be written
        return manifest
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise StoreError(f"{where} is damaged ({error}): restore it, or build the cluster anew") from error


def parse_shard(table: Mapping[str, Any]) -> ShardEntry:
    """A shard from its JSON form."""
    shard: ShardEntry = _filled(ShardEntry, table, files=parse_files(table["files"]))
    return shard


def parse_files(tables: Iterable[Mapping[str, Any]]) -> tuple[FileEntry, ...]:
    """The files of a shard from their JSON form; a path that leaves its folder is refused."""
    entries: tuple[FileEntry, ...] = tuple(_filled(FileEntry, table) for table in tables)
    for entry in entries:
        parts = entry.path.split("/")
        if not all(parts) or ".." in parts or "." in parts or "\\" in entry.path:
            raise ValueError(f"the path {entry.path!r} leaves its folder")
        if len(entry.sha256) != 64 or not set(entry.sha256) <= set("0123456789abcdef"):
            raise ValueError(f"{entry.sha256!r} is no SHA-256")
    return entries


def _filled(cls: Any, table: Mapping[str, Any], **parsed: Any) -> Any:
    """A dataclass from a table that has exactly its fields, each of the right type."""
    names, hints = {field.name for field in fields(cls)}, get_type_hints(cls)
    if set(table) != names:
        raise ValueError(f"the keys differ: {', '.join(sorted(map(repr, names.symmetric_difference(table))))}"[:200])
    for name in names - parsed.keys():
        if type(table[name]) is not hints[name]:
            raise TypeError(f"{name} is {table[name]!r:.80}")
    return cls(**{**table, **parsed})
