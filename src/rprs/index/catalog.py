"""The catalog of an index: which documents, segments, files and encoder it has.

All SQL is here, but that of filters (`where`) and of synchronised folders (`sources`).

A transaction on it is the only commit point: a file that it does not list does not belong to the index.
"""

from __future__ import annotations

import json
import math
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from typing import Any

from rprs.alignment.calibration import Calibration
from rprs.document import Document
from rprs.index.arguments import require_vector_type
from rprs.index.database import FORMAT, Database
from rprs.index.files import File
from rprs.index.sources import forget_origins, has_sources
from rprs.scoring.vectors import VectorType

__all__ = [
    "FORMAT",
    "Catalog",
    "EncoderRow",
    "SegmentRow",
    "StoredDocument",
    "label_checksum",
    "metadata_json",
    "place_checksum",
    "stored_document",
    "text_checksum",
]

# SQLite reads an integer of hundreds of digits as infinite, which is no value to choose.
_LIVE_METADATA = """
FROM documents, json_each(documents.metadata) AS pair
WHERE removed = 0 AND pair.value IS NOT NULL AND pair.value NOT IN (9e999, -9e999)
"""


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


class Catalog(Database):
    """A connection to the catalog of one index.

    From format 3 on, the settings hold checksums of the listing: `segments`, of the rows of the segments, and `places`,
    the sum of those of all documents. A change updates the sum by its own rows alone, so that damage to others stays.
    """

    # ------------------------------------------------------------------------ encoder, segments, files

    @property
    def generation(self) -> int | None:
        """The number of the encoder in use; None until there is one."""
        value = self.setting("generation")
        return None if value is None else int(value)

    @property
    def phrases(self) -> bool:
        """Whether the segments have phrases."""
        return self.setting("phrases") == "yes"

    @property
    def vectors(self) -> VectorType:
        """The type of the stored vectors."""
        return require_vector_type(self.setting("vectors") or "float16")

    @property
    def language(self) -> dict[str, Any]:
        """How familiar the encoder is with the language of the collection; empty where that was not measured."""
        return dict(json.loads(self.setting("language") or "{}"))

    @property
    def calibration(self) -> Calibration | None:
        """The bar for sentences with the same idea, if it was measured with the encoder in use."""
        stored = self.setting("calibration")
        calibration = None if stored is None else Calibration.from_object(json.loads(stored))
        return calibration if calibration is not None and calibration.generation == self.generation else None

    @property
    def norms(self) -> str | None:
        """The path of the documents' norms; None where they do not fit the present documents."""
        return self.setting("norms")

    def encoder(self, generation: int | None = None) -> EncoderRow | None:
        """The encoder in use, or that of another generation; None if there is none."""
        query = "SELECT generation, spec, fingerprint, dimension, report FROM encoders WHERE generation = ?"
        rows = self.rows(query, self.generation if generation is None else generation)
        return EncoderRow(*rows[0]) if rows else None

    def segments(self) -> list[SegmentRow]:
        """Every segment, oldest first."""
        query = "SELECT number, documents, sentences, tokens, generation FROM segments ORDER BY number"
        return [SegmentRow(*row) for row in self.rows(query)]

    def next_segment(self) -> int:
        """The number of the next segment."""
        return int(self.one("SELECT max(number) FROM segments") or 0) + 1

    def files(self) -> list[File]:
        """Every file with its checksum."""
        return [File(*row) for row in self.rows("SELECT path, bytes, sha256 FROM files ORDER BY path")]

    def block_sums(self) -> dict[str, bytes] | None:
        """The checksums of the blocks of all files, by path; None in an index of an earlier format."""
        if not self.has_sums:
            return None
        return dict(self.stream("SELECT path, sums FROM blocks", raw=True))

    # ------------------------------------------------------------------------ checksums of the listing

    @property
    def has_sums(self) -> bool:
        """Whether the index has checksums of blocks and of the listing."""
        return int(self.setting("format") or 0) >= 3

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit all changes of the block durably, or none of them, and keep the checksums up to date."""
        with self.unchecked_transaction() as connection:
            if self.has_sums:
                self.check_segments()
            yield connection

    @contextmanager
    def unchecked_transaction(self) -> Iterator[sqlite3.Connection]:
        """The same, whatever the list of segments is: for repairs."""
        with super().transaction() as connection:
            self._added = self._dropped = 0
            yield connection
            if self.has_sums:
                self.change_setting("segments", self._segment_rows())
                places = int(self.setting("places") or 0) + self._added - self._dropped
                self.change_setting("places", str(places % 2**64))

    def check_segments(self) -> None:
        """Raise `IndexCorrupt` if the rows of the segments have changed."""
        if self.setting("segments") != self._segment_rows():
            raise self._corrupt("the list of segments has changed")

    def check_places(self, places: Iterable[tuple[str, int, int]]) -> None:
        """Raise `IndexCorrupt` unless these are the places of all documents."""
        if str(sum(place_checksum(*place) for place in places) % 2**64) != self.setting("places"):
            raise self._corrupt("the ids or the places of documents have changed")

    def check_labels(self) -> None:
        """Raise `IndexCorrupt` if the id, the title or the metadata of a document have changed."""
        query = "SELECT id, title, metadata, label FROM documents WHERE removed = 0"
        for id, title, metadata, label in self.stream(query):
            if label_checksum(id, title, metadata) != label:
                raise self._corrupt(f"the title or the metadata of {id!r} have changed")

    def store_sums(self, files: Iterable[File]) -> None:
        """Store the checksums of all files and of the listing: the index then has the present format."""
        self.connection.execute("CREATE TABLE IF NOT EXISTS blocks (path TEXT PRIMARY KEY, sums BLOB NOT NULL) STRICT")
        self.connection.execute("DELETE FROM blocks")
        self.change_setting("format", str(FORMAT))
        self._add_sums(files)
        self.reset_places()

    def reset_places(self) -> None:
        """Compute the checksum of the places from the rows as they are."""
        rows = self.rows("SELECT id, segment, ordinal FROM documents WHERE removed = 0")
        self._added = self._dropped = 0
        self.change_setting("places", str(sum(place_checksum(*row) for row in rows) % 2**64))

    def _segment_rows(self) -> str:
        rows = self.rows("SELECT number, documents, sentences, tokens, generation FROM segments ORDER BY number")
        return str(zlib.crc32(repr(rows).encode()))

    def _add_sums(self, files: Iterable[File]) -> None:
        if self.has_sums:
            rows = [(file.path, file.sums) for file in files]
            self.connection.executemany("INSERT OR REPLACE INTO blocks VALUES (?, ?)", rows)

    # ------------------------------------------------------------------------ documents

    def labels(self, ids: Iterable[str]) -> dict[str, tuple[str, str, str]]:
        """Content hash, title and metadata by id; an id without a document is absent."""
        query = "SELECT id, content_hash, title, metadata FROM documents WHERE removed = 0 AND id = ?"
        return {row[0]: row[1:] for id in ids for row in self.rows(query, id)}

    def document(self, id: str) -> Document | None:
        """A document, or None."""
        columns = "id, title, metadata, label, content_hash, text"
        query = f"SELECT {columns} FROM documents LEFT JOIN texts ON document = number WHERE removed = 0 AND id = ?"
        for stored_id, title, metadata, checksum, content_hash, text in self.rows(query, id):
            if label_checksum(stored_id, title, metadata) != checksum:
                raise self._corrupt(f"the title or the metadata of {id!r} have changed")
            return Document(id, self._unchanged(text, content_hash, id), title, json.loads(metadata))
        return None

    def _unchanged(self, text: str | None, content_hash: str, id: str) -> str:
        """The text of a document, if it is the one that was stored."""
        if text is None or text_checksum(text) != content_hash:
            raise self._corrupt(f"the text of {id!r} has changed")
        return text

    def places(self) -> list[tuple[str, int, int]]:
        """Id, segment and ordinal of all documents, by id."""
        return self.rows("SELECT id, segment, ordinal FROM documents WHERE removed = 0 ORDER BY id")

    def ordinals(self, segment: int) -> list[int]:
        """The ordinals of a segment's documents, without removed ones."""
        query = "SELECT ordinal FROM documents WHERE segment = ? AND removed = 0"
        return [ordinal for (ordinal,) in self.rows(query, segment)]

    def texts(self, segment: int) -> Iterator[tuple[int, str]]:
        """Ordinal and text of a segment's documents; the text of a removed one is empty."""
        query = (
            "SELECT ordinal, id, text, content_hash, removed FROM documents LEFT JOIN texts ON document = number "
            "WHERE segment = ? ORDER BY ordinal"
        )
        for ordinal, id, text, content_hash, removed in self.stream(query, segment):
            yield ordinal, "" if removed else self._unchanged(text, content_hash, id)

    def text(self, number: int) -> tuple[int, int, str]:
        """Segment, ordinal and text of a document by its row number."""
        columns = "segment, ordinal, id, text, content_hash"
        query = f"SELECT {columns} FROM documents LEFT JOIN texts ON document = number WHERE number = ?"
        segment, ordinal, id, text, content_hash = self.rows(query, number)[0]
        return segment, ordinal, self._unchanged(text, content_hash, id)

    def content_hashes(self) -> list[tuple[str, str]]:
        """Id and content hash of every document, by id."""
        return self.rows("SELECT id, content_hash FROM documents WHERE removed = 0 ORDER BY id")

    def segment_hashes(self, segment: int) -> list[tuple[int, int, str]]:
        """Row number, ordinal and content hash of a segment's documents."""
        query = "SELECT number, ordinal, content_hash FROM documents WHERE segment = ? AND removed = 0"
        return self.rows(query, segment)

    def stored_documents(self, segment: int) -> Iterator[StoredDocument]:
        """Everything stored of a segment's documents."""
        query = (
            "SELECT id, title, metadata, label, ordinal, content_hash, text, tokens, sentences FROM documents "
            "LEFT JOIN texts ON document = number WHERE segment = ? AND removed = 0"
        )
        return (StoredDocument(*row) for row in self.stream(query, segment))

    # ------------------------------------------------------------------------ finding documents

    def ids_with_content(self, content_hash: str) -> list[str]:
        """The ids of documents with that content hash."""
        query = "SELECT id FROM documents WHERE removed = 0 AND content_hash = ?"
        return [id for (id,) in self.rows(query, content_hash)]

    def ids_where(self, condition: str, values: Sequence[Any]) -> list[str]:
        """The ids of documents that meet an SQL condition, which `where.to_sql` makes of a filter."""
        return [id for (id,) in self.rows(f"SELECT id FROM documents WHERE removed = 0 AND ({condition})", *values)]

    def find(self, words: Sequence[str], segments: Sequence[int], limit: int) -> tuple[list[Document], int]:
        """Documents of some segments with all words in id or title, without their texts; and their total number."""
        condition = f"removed = 0 AND {_among(segments)}" + " AND instr(casefold(id || ' ' || title), ?)" * len(words)
        matches = self.rows(f"SELECT number FROM documents WHERE {condition} ORDER BY id", *words)
        query = "SELECT id, title, metadata FROM documents WHERE number = ?"  # of a million, only the first few
        rows = [row for (number,) in matches[:limit] for row in self.rows(query, number)]
        return [Document(id, "", title, json.loads(metadata)) for id, title, metadata in rows], len(matches)

    def metadata_fields(self) -> list[tuple[str, int, int, Any, Any, int, int]]:
        """By field: name, documents, distinct values, least and greatest value, number of texts, of truth values."""
        return self.rows(
            "SELECT pair.key, count(*), count(DISTINCT pair.value), min(pair.value), max(pair.value), "
            "sum(typeof(pair.value) = 'text'), sum(pair.type IN ('true', 'false')) "
            f"{_LIVE_METADATA} GROUP BY pair.key ORDER BY pair.key"
        )

    def metadata_values(self, field: str, limit: int) -> list[tuple[Any, str, int]]:
        """The most frequent values of a field: value, JSON type, documents."""
        return self.rows(
            f"SELECT pair.value, pair.type, count(*) AS many {_LIVE_METADATA} AND pair.key = ? "
            "GROUP BY pair.value, pair.type ORDER BY many DESC, pair.value LIMIT ?",
            field,
            limit,
        )

    def field_values(self, field: str) -> Iterator[tuple[str, Any]]:
        """The ids of all documents with a metadata field, and its values."""
        return self.stream(f"SELECT documents.id, pair.value {_LIVE_METADATA} AND pair.key = ?", field)

    # ------------------------------------------------------------------------ counts and checks

    def totals(self) -> tuple[int, int, int]:
        """Documents, sentences and words of the collection."""
        query = (
            "SELECT count(*), coalesce(sum(sentences), 0), coalesce(sum(tokens), 0) FROM documents WHERE removed = 0"
        )
        documents, sentences, words = self.rows(query)[0]
        return documents, sentences, words

    def removed(self) -> int:
        """The number of removed documents whose sentences and terms are still in a segment."""
        return int(self.one("SELECT count(*) FROM documents WHERE removed = 1"))

    def live(self, segments: Sequence[int]) -> int:
        """The number of documents in some segments, without removed ones."""
        return int(self.one(f"SELECT count(*) FROM documents WHERE removed = 0 AND {_among(segments)}"))

    def rows_of_segment(self, segment: int) -> int:
        """The number of documents in a segment, removed ones included."""
        return int(self.one("SELECT count(*) FROM documents WHERE segment = ?", segment))

    def ids_without_segment(self) -> list[str]:
        """The ids of documents that no listed segment holds."""
        query = "SELECT id FROM documents WHERE segment NOT IN (SELECT number FROM segments)"
        return [id for (id,) in self.rows(query)]

    def integrity_problems(self) -> list[str]:
        """SQLite's own check of the file, one line per problem."""
        return [line for (line,) in self.rows("PRAGMA integrity_check") if line != "ok"]

    # ------------------------------------------------------------------------ within a transaction

    def add_files(self, files: Iterable[File]) -> None:
        """List files that are on disk and synced."""
        files = list(files)
        rows = [(file.path, file.bytes, file.sha256) for file in files]
        self.connection.executemany("INSERT INTO files VALUES (?, ?, ?)", rows)
        self._add_sums(files)

    def drop_segments(self, numbers: Iterable[int]) -> None:
        """No longer list segments of which all documents are removed."""
        for number in numbers:
            self.connection.execute("DELETE FROM documents WHERE segment = ?", (number,))
            self.connection.execute("DELETE FROM segments WHERE number = ?", (number,))
            self.forget_files(f"segments/{number:06d}/*")

    def forget_files(self, pattern: str) -> None:
        """No longer list the files whose path matches a GLOB pattern."""
        self.connection.execute("DELETE FROM files WHERE path GLOB ?", (pattern,))
        if self.has_sums:
            self.connection.execute("DELETE FROM blocks WHERE path GLOB ?", (pattern,))

    def add_segment(self, row: SegmentRow, files: Iterable[File]) -> None:
        """List a segment whose files are on disk and synced."""
        values = (row.number, row.documents, row.sentences, row.tokens, row.generation)
        self.connection.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?)", values)
        self.add_files(files)

    def use_phrases(self) -> None:
        """All segments have phrases now: the index is of format 2, unless it is of a later one."""
        self.change_setting("format", str(max(2, int(self.setting("format") or 0))))
        self.change_setting("phrases", "yes")

    def use_statistics(self, language: dict[str, Any], norms: File | None) -> None:
        """Store what was measured on the present documents."""
        self.forget_statistics()
        self.connection.execute("INSERT INTO settings VALUES ('language', ?)", (json.dumps(language),))
        if norms is not None:
            self.add_files([norms])
            self.connection.execute("INSERT INTO settings VALUES ('norms', ?)", (norms.path,))

    def use_calibration(self, calibration: Calibration) -> None:
        """Store the bar for sentences with the same idea."""
        self.change_setting("calibration", json.dumps(calibration.object()))

    def forget_statistics(self) -> None:
        """Drop what was measured on the documents, because they change; the calibration stays until it is replaced."""
        self.connection.execute("DELETE FROM settings WHERE key = 'language'")
        self.forget_norms()

    def forget_norms(self) -> None:
        """Drop the norms of the documents."""
        self.connection.execute("DELETE FROM settings WHERE key = 'norms'")
        self.forget_files("norms/*")

    @property
    def has_statistics(self) -> bool:
        """Whether the present documents were measured; those of an index with phrases have norms too."""
        return self.setting("language") is not None and (self.norms is not None or not self.phrases)

    def add_vectors(self, segment: int, generation: int, file: File) -> None:
        """List the vectors of a segment, made by the encoder of that generation."""
        self.add_files([file])
        self.connection.execute("UPDATE segments SET generation = ? WHERE number = ?", (generation, segment))

    @property
    def refit(self) -> tuple[int, str] | None:
        """The generation of a refit that is not finished, and a hash of the collection that it is for."""
        stored = self.setting("refit")
        return None if stored is None else (int(stored.split()[0]), stored.split()[1])

    def begin_refit(self, row: EncoderRow, files: Iterable[File], collection: str) -> None:
        """List an encoder that is not in use yet, and whose vectors are listed segment by segment."""
        self.connection.execute("INSERT INTO encoders VALUES (?, ?, ?, ?, ?)", astuple(row))
        self.add_files(files)
        self.change_setting("refit", f"{row.generation} {collection}")

    def end_refit(self, *, use: bool) -> None:
        """Use the encoder of a refit and its vectors, which all segments have, or forget them."""
        if self.refit is None:
            return
        generation, _ = self.refit
        other = "<>" if use else "="
        for (number,) in self.rows(f"SELECT generation FROM encoders WHERE generation {other} ?", generation):
            self.forget_files(f"encoders/{number:06d}/*")
            self.forget_files(f"segments/*/vectors.{number:06d}.npy")
        self.connection.execute(f"DELETE FROM encoders WHERE generation {other} ?", (generation,))
        self.connection.execute("DELETE FROM settings WHERE key = 'refit'")
        if use:
            self.connection.execute("UPDATE segments SET generation = ?", (generation,))
            self.change_setting("generation", str(generation))

    def replace_segments(self, row: SegmentRow, files: Iterable[File]) -> None:
        """List one segment instead of all others; it holds their documents, without removed ones, in the same order."""
        self.connection.execute("DELETE FROM documents WHERE removed = 1")
        self.connection.execute("DELETE FROM segments")
        self.forget_files("segments/*")
        self.add_segment(row, files)
        self.connection.execute(
            "UPDATE documents SET segment = ?, ordinal = place FROM (SELECT number AS moved, "
            "row_number() OVER (ORDER BY segment, ordinal) - 1 AS place FROM documents) WHERE moved = number",
            (row.number,),
        )
        if self.has_sums:
            self.reset_places()

    def add_document(self, document: Document, place: tuple[int, int], size: tuple[int, int]) -> None:
        """Add a document: place is segment and ordinal, size is words and sentences."""
        label = (document.id, document.title, metadata_json(document))
        columns = "id, title, metadata, label, content_hash, segment, ordinal, tokens, sentences"
        values = (*label, label_checksum(*label), document.content_hash, *place, *size)
        self._added += place_checksum(document.id, *place)
        row = self.connection.execute(f"INSERT INTO documents ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        self.connection.execute("INSERT INTO texts VALUES (?, ?)", (row.lastrowid, document.text))

    def relabel(self, document: Document) -> None:
        """Change title and metadata of a document whose text stays."""
        metadata = metadata_json(document)
        if has_sources(self):
            forget_origins(self, [document.id], gone=False)
        query = "UPDATE documents SET title = ?, metadata = ?, label = ? WHERE id = ? AND removed = 0"
        checksum = label_checksum(document.id, document.title, metadata)
        self.connection.execute(query, (document.title, metadata, checksum, document.id))

    def rename(self, old: str, document: Document) -> None:
        """Give a document whose text stays another id, title and metadata; the norms, which are by id, are dropped."""
        label = (document.id, document.title, metadata_json(document))
        query = (
            "UPDATE documents SET id = ?, title = ?, metadata = ?, label = ? WHERE id = ? AND removed = 0 "
            "RETURNING segment, ordinal"
        )
        for place in self.connection.execute(query, (*label, label_checksum(*label), old)).fetchall():
            self._dropped += place_checksum(old, *place)
            self._added += place_checksum(document.id, *place)
        if has_sources(self):
            forget_origins(self, [old], gone=True)
        self.forget_norms()

    def use_encoder(self, row: EncoderRow, files: Iterable[File]) -> None:
        """Use an encoder instead of any other."""
        self.end_refit(use=False)
        self.connection.execute("DELETE FROM encoders")
        self.forget_files("encoders/*")
        self.connection.execute("INSERT INTO encoders VALUES (?, ?, ?, ?, ?)", astuple(row))
        self.add_files(files)
        self.change_setting("generation", str(row.generation))

    def forget_encoder(self) -> None:
        """Drop the encoder and all vectors: they are made again as in a new index."""
        self.connection.execute("DELETE FROM settings WHERE key = 'refit'")
        self.connection.execute("DELETE FROM encoders")
        self.connection.execute("DELETE FROM settings WHERE key = 'generation'")
        self.connection.execute("UPDATE segments SET generation = NULL")
        self.forget_files("encoders/*")
        self.forget_files("segments/*/vectors.*")

    def remove(self, ids: Iterable[str]) -> int:
        """Erase the text, id, title and metadata of documents and mark them as removed; how many there were."""
        erase = "DELETE FROM texts WHERE document = (SELECT number FROM documents WHERE id = ? AND removed = 0)"
        mark = (
            "UPDATE documents SET removed = 1, id = '', title = '', metadata = '{}', label = 0, content_hash = '' "
            "WHERE id = ? AND removed = 0 RETURNING segment, ordinal"
        )
        count, ids = 0, list(ids)
        if has_sources(self):
            forget_origins(self, ids, gone=True)
        for id in ids:
            self.connection.execute(erase, (id,))
            for segment, ordinal in self.connection.execute(mark, (id,)).fetchall():
                self._dropped += place_checksum(id, segment, ordinal)
                count += 1
        return count

    def free_space(self) -> None:
        """Give unused pages back to the disk, outside a transaction."""
        self.connection.executescript("PRAGMA incremental_vacuum")  # `execute` would free a single page
        self.merge()


def _among(segments: Sequence[int]) -> str:
    """An SQL condition: the document is in one of the segments."""
    return f"segment IN ({', '.join(map(str, map(int, segments))) or 'NULL'})"
