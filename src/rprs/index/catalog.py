"""The catalog of an index: which documents, segments, files and encoder it has, and how these change.

All SQL is here and in `contents`, but that of filters (`where`) and of synchronised folders (`sources`).

A transaction on it is the only commit point: a file that it does not list does not belong to the index.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from typing import Any

from rprs.alignment.calibration import Calibration
from rprs.document import Document
from rprs.index.contents import Contents
from rprs.index.database import FORMAT
from rprs.index.files import File
from rprs.index.rows import EncoderRow, SegmentRow, label_checksum, metadata_json, place_checksum, places_checksum
from rprs.index.sources import forget_origins, has_sources

__all__ = ["FORMAT", "Catalog"]


class Catalog(Contents):
    """A connection to the catalog of one index.

    From format 3 on, the settings hold checksums of the listing: `segments`, of the rows of the segments, and `places`,
    the sum of those of all documents. A change updates the sum by its own rows alone, so that damage to others stays.
    """

    # ------------------------------------------------------------------------ checksums of the listing

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

    def check_places(self, checksum: int | None = None) -> None:
        """Raise `IndexCorrupt` if the places of documents have changed; `checksum` is the sum over all, if known."""
        if checksum is None:
            checksum = places_checksum(self.places())
        if str(checksum % 2**64) != self.setting("places"):
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
        self.change_setting("places", str(places_checksum(rows) % 2**64))

    def _segment_rows(self) -> str:
        rows = self.rows("SELECT number, documents, sentences, tokens, generation FROM segments ORDER BY number")
        return str(zlib.crc32(repr(rows).encode()))

    def _add_sums(self, files: Iterable[File]) -> None:
        if self.has_sums:
            rows = [(file.path, file.sums) for file in files]
            self.connection.executemany("INSERT OR REPLACE INTO blocks VALUES (?, ?)", rows)

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

    def add_vectors(self, segment: int, generation: int, file: File) -> None:
        """List the vectors of a segment, made by the encoder of that generation."""
        self.add_files([file])
        self.connection.execute("UPDATE segments SET generation = ? WHERE number = ?", (generation, segment))

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

    def replace_segments(
        self, old: Sequence[int], new: Sequence[tuple[SegmentRow, Iterable[File]]], first: int, size: int
    ) -> None:
        """List new segments, numbered from `first` on, instead of some old ones.

        They hold the documents of these, without removed ones, in the same order, and `size` documents each; the last
        one may have fewer.
        """
        numbers = ", ".join(map(str, map(int, old)))
        self.connection.execute(f"DELETE FROM documents WHERE removed = 1 AND segment IN ({numbers})")
        self.connection.execute(f"DELETE FROM segments WHERE number IN ({numbers})")
        for number in old:
            self.forget_files(f"segments/{number:06d}/*")
        for row, files in new:
            self.add_segment(row, files)
        self.connection.execute(
            "UPDATE documents SET segment = ? + place / ?, ordinal = place % ? FROM (SELECT number AS moved, "
            f"row_number() OVER (ORDER BY segment, ordinal) - 1 AS place FROM documents WHERE segment IN ({numbers})) "
            "WHERE moved = number",
            (first, size, size),
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
