"""The catalog: one SQLite file that says which documents, segments and files an index has.

A transaction on it is the only commit point. A file on disk that it does not name does not exist.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rprs.document import Document
from rprs.errors import IndexCorrupt, IndexError_, IndexMismatch
from rprs.index.files import File, sync_folder

__all__ = ["FORMAT", "Catalog", "SegmentRow", "to_document"]

FORMAT = 1

SCHEMA = """
CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE encoders (
    generation INTEGER PRIMARY KEY, spec TEXT NOT NULL, fingerprint TEXT NOT NULL,
    dimension INTEGER NOT NULL, report TEXT NOT NULL
) STRICT;
CREATE TABLE segments (
    number INTEGER PRIMARY KEY, documents INTEGER NOT NULL, sentences INTEGER NOT NULL, tokens INTEGER NOT NULL,
    generation INTEGER  -- of its vectors; NULL until it is encoded
) STRICT;
CREATE TABLE files (path TEXT PRIMARY KEY, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL) STRICT;
CREATE TABLE documents (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL, title TEXT NOT NULL, metadata TEXT NOT NULL,
    content_hash TEXT NOT NULL, segment INTEGER NOT NULL, ordinal INTEGER NOT NULL,
    tokens INTEGER NOT NULL, sentences INTEGER NOT NULL,
    removed INTEGER NOT NULL DEFAULT 0  -- a tombstone: the ordinal stays taken until the segment is rewritten
) STRICT;
CREATE TABLE texts (document INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;  -- apart, so that moving rows is cheap
CREATE UNIQUE INDEX live_id ON documents (id) WHERE removed = 0;
CREATE INDEX live_hash ON documents (content_hash) WHERE removed = 0;
CREATE UNIQUE INDEX place ON documents (segment, ordinal);
"""


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """A segment as the catalog knows it."""

    number: int
    documents: int
    sentences: int
    tokens: int
    generation: int | None


def to_document(row: tuple[str, str, str, str]) -> Document:
    """A document from its columns id, title, text, metadata."""
    return Document(id=row[0], title=row[1], text=row[2], metadata=json.loads(row[3]))


class Catalog:
    """A connection to the catalog of one index."""

    def __init__(self, root: Path, *, write: bool) -> None:
        self.path = root / "catalog.sqlite"
        if not self.path.is_file():
            raise IndexError_(f"There is no index at {root}: make one with `rprs index SOURCE --to {root}`")
        self.connection = self._connect("rw" if write else "ro")
        self._check_format(root)

    @classmethod
    def create(cls, root: Path, settings: dict[str, str]) -> None:
        """Make a new catalog: complete under its name, or not there at all."""
        draft = root / "catalog.draft"
        for leftover in root.glob("catalog.draft*"):
            leftover.unlink()
        connection = sqlite3.connect(draft, isolation_level=None)
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.executescript(SCHEMA)
        rows = {"format": str(FORMAT), **settings}.items()
        connection.executemany("INSERT INTO settings VALUES (?, ?)", rows)
        connection.close()
        draft.replace(root / "catalog.sqlite")
        sync_folder(root)

    def _connect(self, mode: str) -> sqlite3.Connection:
        place = self.path.absolute().as_uri()
        connection = sqlite3.connect(f"{place}?mode={mode}", uri=True, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA busy_timeout = 10000")
        try:
            if mode == "rw":
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("PRAGMA secure_delete = ON")
            else:
                connection.execute("SELECT count(*) FROM settings").fetchone()
        except sqlite3.DatabaseError as error:
            connection.close()
            if mode == "ro" and "unable to open" in str(error):  # a read-only disk: then nobody writes either
                return sqlite3.connect(f"{place}?immutable=1", uri=True, isolation_level=None, check_same_thread=False)
            if isinstance(error, sqlite3.OperationalError) and "full" in str(error):
                raise
            raise IndexCorrupt(f"{self.path} cannot be opened as an index ({error})") from error
        return connection

    def _check_format(self, root: Path) -> None:
        found = self.setting("format")
        if found != str(FORMAT):
            self.close()
            raise IndexMismatch(f"{root} has the index format {found}, this version of rprs reads {FORMAT}: index anew")

    def close(self) -> None:
        """Let go of the file."""
        self.connection.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, and durable when it is over."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield self.connection
            self.connection.execute("COMMIT")
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise

    # ------------------------------------------------------------------------ reading

    def rows(self, query: str, *values: Any) -> list[Any]:
        """All rows of a query."""
        return self.connection.execute(query, values).fetchall()

    def one(self, query: str, *values: Any) -> Any:
        """The first column of the first row, or None."""
        row = self.connection.execute(query, values).fetchone()
        return row[0] if row else None

    def setting(self, key: str) -> str | None:
        """One of the settings."""
        value: str | None = self.one("SELECT value FROM settings WHERE key = ?", key)
        return value

    @property
    def generation(self) -> int | None:
        """The number of the encoder in force; None until there is one."""
        value = self.setting("generation")
        return None if value is None else int(value)

    def segments(self) -> list[SegmentRow]:
        """Every segment, oldest first."""
        query = "SELECT number, documents, sentences, tokens, generation FROM segments ORDER BY number"
        return [SegmentRow(*row) for row in self.rows(query)]

    def files(self) -> list[File]:
        """Every file with its checksum."""
        return [File(*row) for row in self.rows("SELECT path, bytes, sha256 FROM files ORDER BY path")]

    def known(self, ids: Iterable[str]) -> dict[str, tuple[str, str, str]]:
        """Of the live documents among the ids: content hash, title and metadata."""
        query = "SELECT id, content_hash, title, metadata FROM documents WHERE removed = 0 AND id = ?"
        found = (self.connection.execute(query, (id,)).fetchone() for id in ids)
        return {row[0]: row[1:] for row in found if row}

    def document(self, id: str) -> Document | None:
        """A live document."""
        query = "SELECT id, title, text, metadata FROM documents JOIN texts ON document = number"
        rows = self.rows(f"{query} WHERE removed = 0 AND id = ?", id)
        return to_document(rows[0]) if rows else None

    def texts(self, segment: int) -> Iterator[tuple[int, str]]:
        """Ordinal and text of a segment's documents; a tombstone's text is empty."""
        query = (
            "SELECT ordinal, coalesce(text, '') FROM documents LEFT JOIN texts ON document = number "
            "WHERE segment = ? ORDER BY ordinal"
        )
        yield from self.connection.execute(query, (segment,))

    # ------------------------------------------------------------------------ within a transaction

    def set(self, key: str, value: str) -> None:
        """Change one of the settings."""
        self.connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (key, value))

    def add_files(self, files: Iterable[File]) -> None:
        """Name files that are on disk and synced."""
        rows = [(file.path, file.bytes, file.sha256) for file in files]
        self.connection.executemany("INSERT INTO files VALUES (?, ?, ?)", rows)

    def forget_files(self, pattern: str) -> None:
        """No longer name the files whose path matches a GLOB pattern."""
        self.connection.execute("DELETE FROM files WHERE path GLOB ?", (pattern,))

    def add_segment(self, row: SegmentRow) -> None:
        """Name a segment whose files are on disk and synced."""
        values = (row.number, row.documents, row.sentences, row.tokens, row.generation)
        self.connection.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?)", values)

    def add_document(
        self, document: Document, content_hash: str, place: tuple[int, int], size: tuple[int, int]
    ) -> None:
        """Add a document: place is segment and ordinal, size is words and sentences."""
        metadata = json.dumps(dict(document.metadata), ensure_ascii=False)
        columns = "id, title, metadata, content_hash, segment, ordinal, tokens, sentences"
        values = (document.id, document.title, metadata, content_hash, *place, *size)
        row = self.connection.execute(f"INSERT INTO documents ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
        self.connection.execute("INSERT INTO texts VALUES (?, ?)", (row.lastrowid, document.text))

    def relabel(self, document: Document) -> None:
        """Change title and metadata of a live document whose text stays."""
        metadata = json.dumps(dict(document.metadata), ensure_ascii=False)
        query = "UPDATE documents SET title = ?, metadata = ? WHERE id = ? AND removed = 0"
        self.connection.execute(query, (document.title, metadata, document.id))

    def bury(self, ids: Iterable[str]) -> int:
        """Put tombstones on live documents and wipe what they said; the number of those found."""
        wipe = "DELETE FROM texts WHERE document = (SELECT number FROM documents WHERE id = ? AND removed = 0)"
        mark = (
            "UPDATE documents SET removed = 1, title = '', metadata = '{}', content_hash = '' "
            "WHERE id = ? AND removed = 0"
        )
        found = 0
        for id in ids:
            self.connection.execute(wipe, (id,))
            found += self.connection.execute(mark, (id,)).rowcount
        return found
