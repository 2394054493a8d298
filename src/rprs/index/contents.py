"""The queries on the catalog of an index, which change nothing: its settings, segments, files and documents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.calibration import Calibration
from rprs.document import Document
from rprs.index.arguments import require_vector_type
from rprs.index.database import Database
from rprs.index.files import File
from rprs.index.rows import EncoderRow, SegmentRow, StoredDocument, label_checksum, text_checksum
from rprs.scoring.vectors import VectorType

__all__ = ["Contents"]

# SQLite reads an integer of hundreds of digits as infinite, which is no value to choose.
AT_A_TIME = 500  # ids in a query: SQLite allows at least 999 values

_LIVE_METADATA = """
FROM documents, json_each(documents.metadata) AS pair
WHERE removed = 0 AND pair.value IS NOT NULL AND pair.value NOT IN (9e999, -9e999)
"""


class Contents(Database):
    """What the catalog of one index lists."""

    # ------------------------------------------------------------------------ settings, encoder, segments, files

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
        files = [File(*row) for row in self.rows("SELECT path, bytes, sha256 FROM files ORDER BY path")]
        if not all(isinstance(file.path, str) for file in files):  # a changed bit can make a number of a text
            raise self._corrupt("a path is not a text")
        return files

    def block_sums(self) -> dict[str, bytes] | None:
        """The checksums of the blocks of all files, by path; None in an index of an earlier format."""
        if not self.has_sums:
            return None
        return dict(self.stream("SELECT path, sums FROM blocks", raw=True))

    @property
    def has_sums(self) -> bool:
        """Whether the index has checksums of blocks and of the listing."""
        return int(self.setting("format") or 0) >= 3

    @property
    def has_statistics(self) -> bool:
        """Whether the present documents were measured; those of an index with phrases have norms too."""
        return self.setting("language") is not None and (self.norms is not None or not self.phrases)

    @property
    def refit(self) -> tuple[int, str] | None:
        """The generation of a refit that is not finished, and a hash of the collection that it is for."""
        stored = self.setting("refit")
        return None if stored is None else (int(stored.split()[0]), stored.split()[1])

    # ------------------------------------------------------------------------ documents

    def labels(self, ids: Iterable[str]) -> dict[str, tuple[str, str, str]]:
        """Content hash, title and metadata by id; an id without a document is absent."""
        query = "SELECT id, content_hash, title, metadata FROM documents WHERE removed = 0 AND id = ?"
        return {row[0]: row[1:] for id in ids for row in self.rows(query, id)}

    def content_hashes_of(self, ids: Iterable[str]) -> list[str]:
        """The content hashes of some documents, in the order of their ids: a search asks for many."""
        wanted = list(dict.fromkeys(ids))
        found: dict[str, str] = {}
        for start in range(0, len(wanted), AT_A_TIME):
            some = wanted[start : start + AT_A_TIME]
            marks = ", ".join("?" * len(some))
            query = f"SELECT id, content_hash FROM documents WHERE removed = 0 AND id IN ({marks})"
            found.update(self.rows(query, *some))
        return [found[id] for id in wanted if id in found]

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

    def places(self) -> Iterator[tuple[str, int, int]]:
        """Id, segment and ordinal of all documents, by id."""
        return self.stream("SELECT id, segment, ordinal FROM documents WHERE removed = 0 ORDER BY id")

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

    def places_where(self, condition: str, values: Sequence[Any]) -> NDArray[np.int64]:
        """(documents, 2): segment and ordinal of documents that meet a condition, which `where.to_sql` makes."""
        rows = self.rows(f"SELECT segment << 32 | ordinal FROM documents WHERE removed = 0 AND ({condition})", *values)
        packed = np.fromiter((place for (place,) in rows), dtype=np.int64, count=len(rows))
        return np.stack([packed >> 32, packed & 0xFFFFFFFF], axis=1)

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

    def field_places(self, field: str) -> Iterator[tuple[int, int, Any]]:
        """Segment and ordinal of all documents with a metadata field, and its values."""
        return self.stream(f"SELECT segment, ordinal, pair.value {_LIVE_METADATA} AND pair.key = ?", field)

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


def _among(segments: Sequence[int]) -> str:
    """An SQL condition: the document is in one of the segments."""
    return f"segment IN ({', '.join(map(str, map(int, segments))) or 'NULL'})"
