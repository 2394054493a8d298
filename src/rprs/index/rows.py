"""What the catalog of an index stores of a document, a segment and an encoder, and the checksums of these."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rprs.document import Document

__all__ = [
    "EncoderRow",
    "SegmentRow",
    "StoredDocument",
    "label_checksum",
    "metadata_json",
    "place_checksum",
    "places_checksum",
    "stored_document",
    "text_checksum",
]


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """A segment as the catalog lists it."""

    number: int
    documents: int
    sentences: int
    tokens: int
    generation: int | None


@dataclass(frozen=True, slots=True)
class EncoderRow:
    """An encoder as the catalog lists it."""

    generation: int
    spec: str
    fingerprint: str
    dimension: int
    report: str  # JSON

    @property
    def measurements(self) -> dict[str, Any]:
        """What was measured when the encoder was fitted; empty for others."""
        return dict(json.loads(self.report))


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """Everything that the catalog stores of a document, for checks."""

    id: str
    title: str
    metadata: str
    label: int
    ordinal: int
    content_hash: str
    text: str | None
    words: int
    sentences: int


def stored_document(stored: StoredDocument) -> Document:
    """The document itself."""
    return Document(stored.id, stored.text or "", stored.title, json.loads(stored.metadata))


def metadata_json(document: Document) -> str:
    """The metadata of a document as the catalog stores them; NaN and infinities become null."""
    values = document.metadata.items()
    finite = {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in values}
    return json.dumps(finite, ensure_ascii=False)


def label_checksum(id: str, title: str, metadata: str) -> int:
    """The checksum of a document's id, title and metadata."""
    return zlib.crc32(repr((id, title, metadata)).encode())


def text_checksum(text: str) -> str:
    """The checksum of a document's text: its content hash."""
    return Document("", text).content_hash


def place_checksum(id: str, segment: int, ordinal: int) -> int:
    """The checksum of the place of a document."""
    return zlib.crc32(repr((id, segment, ordinal)).encode())


def places_checksum(places: Iterable[tuple[str, int, int]]) -> int:
    """The sum of the checksums of many places, several times as fast as one by one: an index is opened with it."""
    return sum(map(zlib.crc32, map(str.encode, map(repr, places))))
