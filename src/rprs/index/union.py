"""Several indexes as one: the same rankings, bit for bit, as an index of all their documents.

Nothing is copied: the segments of all indexes are used side by side, as those of one index are, and what depends on the
whole collection (document frequencies, norms, the mean length, the language, the bar for the same idea) is computed
over all of them. Where that cannot be exact, for example with two encoders, the union is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.calibration import FALLBACK, Calibration
from rprs.document import Document
from rprs.encode import Encoder
from rprs.errors import IndexMismatch
from rprs.index.arguments import require_document
from rprs.index.calibrate import measure_calibration
from rprs.index.dates import Dates
from rprs.index.fields import MOST_FREQUENT, Field
from rprs.index.language import knows_text, measure_language
from rprs.index.phrases import NO_PHRASES
from rprs.index.queries import KnownQueries
from rprs.index.reader import Index, Mask
from rprs.index.segment import Segment

__all__ = ["UnionIndex", "merge_fields", "why_not_together"]

EXAMPLES = 3  # ids in a message
SUFFIX = ".rprs"


def why_not_together(parts: Sequence[Index]) -> str | None:
    """Why indexes cannot be searched as if they were one; None if they can."""
    first = parts[0]
    for other in parts[1:]:
        names = f"{_name(first)} and {_name(other)}"
        for setting, what in (("splitter", "split sentences"), ("analyzer", "analyse words")):
            values = [_setting(part, setting) for part in (first, other)]
            if values[0] != values[1]:
                return f"{names} {what} differently: {values[0]} and {values[1]}"
        if first.vector_type != other.vector_type:
            return f"{names} store vectors differently: {first.vector_type} and {other.vector_type}"
        if first.has_phrases != other.has_phrases:
            without = _name(other if first.has_phrases else first)
            return f"{without} has no phrases: run `rprs upgrade`"
        if _encoder(first) != _encoder(other):
            return (
                f"{names} have different encoders, whose vectors cannot be compared: index them with the same one "
                "(--encoder onnx), or into one index"
            )
    if waiting := [part for part in parts if part.pending]:
        return f"{_name(waiting[0])} is not finished: {waiting[0].pending:,} documents are not encoded yet"
    return _shared_ids(parts)


def _shared_ids(parts: Sequence[Index]) -> str | None:
    seen: dict[str, Index] = {}
    for part in parts:
        shared = [id for id in part.ids if id in seen]
        if shared:
            examples = ", ".join(repr(id) for id in shared[:EXAMPLES])
            owner = _name(seen[shared[0]])
            return f"{owner} and {_name(part)} have documents with the same ids ({len(shared):,}, such as {examples})"
        seen |= dict.fromkeys(part.ids, part)
    return None


def _setting(index: Index, name: str) -> str:
    with index._lock:
        return str(index.catalog.setting(name))


def _encoder(index: Index) -> str | None:
    with index._lock:
        row = index.catalog.encoder()
    return None if row is None else row.fingerprint


def _name(index: Index) -> str:
    return index.path.resolve().name


class UnionIndex(Index):
    """Several open indexes as one. Closing it leaves them open."""

    def __init__(self, parts: Sequence[Index]) -> None:
        if reason := why_not_together(parts):
            raise IndexMismatch(f"These collections cannot be searched together: {reason}")
        self.parts = tuple(parts)
        self.path = Path(" + ".join(map(_name, parts)))
        self.catalog = parts[0].catalog  # for the settings that all of them share
        self.generation, self.pending = parts[0].generation, 0
        self._checked = self._labels_checked = False  # the parts check what they read
        self._lock = parts[0]._lock  # of that catalog
        self.known_queries = KnownQueries()
        self.known_phrases = NO_PHRASES
        self._dates: dict[str, Dates] = {}
        self._combine()

    def _combine(self) -> None:
        """Number the documents of all parts by id."""
        owners = {id: (place, number) for place, part in enumerate(self.parts) for number, id in enumerate(part.ids)}
        self.ids = sorted(owners)
        self._owner = np.array([owners[id][0] for id in self.ids], dtype=np.int64)
        self._local = local = np.array([owners[id][1] for id in self.ids], dtype=np.int64)
        self.segments, self.numbers = [], []
        self._segment, self._ordinal = np.zeros_like(local), np.zeros_like(local)
        for place, part in enumerate(self.parts):
            own = np.flatnonzero(self._owner == place)
            self._segment[own] = part._segment[local[own]] + len(self.segments)
            self._ordinal[own] = part._ordinal[local[own]]
            new_number = np.full(len(part.ids) + 1, -1, dtype=np.int64)  # the last is for -1, a removed document
            new_number[local[own]] = own
            self.segments += part.segments
            self.numbers += [new_number[numbers] for numbers in part.numbers]

    def __repr__(self) -> str:
        return f"<UnionIndex of {', '.join(map(_name, self.parts))}: {len(self):,} documents>"

    def close(self) -> None:
        """Nothing: the parts belong to others."""

    # ------------------------------------------------------------------------ what depends on all documents

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder that all parts share."""
        return self.parts[0].encoder

    @property
    def encoder_text(self) -> str:
        """The text of an encoder that gives the same vectors."""
        return self.parts[0].encoder_text

    @cached_property
    def _numbered(self) -> dict[int, Segment]:
        """The segments with numbers of their own, since those of the parts may be equal."""
        segments = {}
        for number, segment in enumerate(self.segments):
            segments[number] = copy(segment)
            segments[number].number = number
        return segments

    @cached_property
    def _language(self) -> dict[str, Any]:
        return measure_language(_Catalogs(self.parts), self._numbered, self.encoder)  # type: ignore[arg-type]  # it has what is used

    def knows_language(self, query: Document) -> bool:
        """Whether the encoder knows the script of the query, as measured on all parts."""
        return knows_text(self._language, query.text, lambda: self.encoder)

    @cached_property
    def calibration(self) -> Calibration:
        """The bar for sentences with the same idea, measured on all parts."""
        measured = measure_calibration(_Catalogs(self.parts), self._numbered, self.generation)  # type: ignore[arg-type]  # as above
        return measured if measured.bars else FALLBACK

    def _content_rows(self) -> list[tuple[str, str]]:
        """Those of all parts, so that the fingerprint is that of an index of all documents with the same encoder."""
        rows: list[tuple[str, str]] = []
        for part in self.parts:
            with part._lock:
                rows += part._content_rows()
        return sorted(rows)

    # ------------------------------------------------------------------------ documents

    def owner(self, id: str) -> Index:
        """The part that has a document."""
        return self.parts[int(self._owner[self._require_number(id)])]

    def collection_of(self, id: str) -> str:
        """The name of the part that has a document, without the suffix."""
        return _name(self.owner(id)).removesuffix(SUFFIX)

    def document(self, id: str) -> Document:
        """A document with its text and metadata."""
        return self.owner(id).document(id)

    def find(self, words: str, limit: int = 20) -> tuple[list[Document], int]:
        """Documents with all these words in their id or title, by part; and their total number."""
        lists = [part.find(words, limit) for part in self.parts]
        return [document for documents, _ in lists for document in documents][:limit], sum(count for _, count in lists)

    def same_content(self, document: Document) -> list[int]:
        """The numbers of documents with exactly the same text."""
        require_document(document)
        ids = [part.ids[number] for part in self.parts for number in part.same_content(document)]
        return sorted(self._require_number(id) for id in ids)

    def content_hashes(self, ids: Iterable[str]) -> list[str]:
        """The hashes of the texts of some documents."""
        return [self.owner(id).content_hashes([id])[0] for id in dict.fromkeys(ids)]

    def select(self, where: str | None) -> Mask:
        """Which documents a metadata filter selects."""
        return self._gathered([part.select(where) for part in self.parts], bool)

    def dates(self, field: str) -> Dates:
        """The dates of all documents in a metadata field."""
        each = [part.dates(field) for part in self.parts]
        return Dates(
            self._gathered([dates.first for dates in each], np.int64),
            self._gathered([dates.instant for dates in each], np.int64),
        )

    def _gathered(self, arrays: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
        """Values by the numbers of each part, as values by the numbers of the union."""
        values = np.zeros(len(self), dtype=dtype)
        for place, array in enumerate(arrays):
            own = self._owner == place
            values[own] = array[self._local[own]]
        return values

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The metadata fields of all parts; the number of distinct values is an upper bound."""
        return merge_fields([part.fields for part in self.parts])


def merge_fields(parts: Iterable[Iterable[Field]]) -> tuple[Field, ...]:
    """The metadata fields of several indexes as those of one; the number of distinct values is an upper bound."""
    by_name: dict[str, list[Field]] = {}
    for fields in parts:
        for each in fields:
            by_name.setdefault(each.name, []).append(each)
    return tuple(_merged(by_name[name]) for name in sorted(by_name))


def _merged(fields: Sequence[Field]) -> Field:
    if len(fields) == 1:
        return fields[0]
    kind = fields[0].kind if len({field.kind for field in fields}) == 1 else "text"
    counts: dict[Any, int] = {}
    for value, count in (pair for field in fields for pair in field.values):
        counts[value] = counts.get(value, 0) + count
    listed = sorted(counts.items(), key=lambda item: (-item[1], isinstance(item[0], str), item[0]))[:MOST_FREQUENT]
    bounds = [value for field in fields for value in (field.least, field.greatest)]
    ordered = sorted(bounds, key=lambda value: (isinstance(value, str), value))
    return Field(
        fields[0].name,
        kind,
        sum(field.documents for field in fields),
        sum(field.distinct for field in fields),
        ordered[0],
        ordered[-1],
        tuple(listed) if all(field.values for field in fields) else (),
    )


class _Catalogs:
    """The rows of several catalogs that samples are drawn from; the number of a row has the place of its catalog."""

    def __init__(self, parts: Sequence[Index]) -> None:
        self.parts = parts
        self._segments = [(place, segment.number) for place, part in enumerate(parts) for segment in part.segments]

    def segment_hashes(self, segment: int) -> list[tuple[int, int, str]]:
        """Row number, ordinal and content hash of a segment's documents."""
        place, number = self._segments[segment]
        with self.parts[place]._lock:
            rows = self.parts[place].catalog.segment_hashes(number)
        return [(row * len(self.parts) + place, ordinal, content_hash) for row, ordinal, content_hash in rows]

    def text(self, number: int) -> tuple[int, int, str]:
        """Segment, ordinal and text of a document by its row number."""
        row, place = divmod(number, len(self.parts))
        with self.parts[place]._lock:
            segment, ordinal, text = self.parts[place].catalog.text(row)
        return self._segments.index((place, segment)), ordinal, text
