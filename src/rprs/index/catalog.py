"""The catalog: one SQLite file that says which documents, segments and files an index has.

A transaction on it is the only commit point. A file on disk that it does not name does not exist.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any

from rprs.document import Document
from rprs.errors import DiskFull, IndexCorrupt, IndexMismatch, InvalidIndex
from rprs.files.atomic import sync_folder
from rprs.index.files import File, no_space

__all__ = ["FORMAT", "Catalog", "SegmentRow", "label", "written"]

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
    label INTEGER NOT NULL,  -- the checksum of id, title and metadata, as content_hash is that of the text
    content_hash TEXT NOT NULL, segment INTEGER NOT NULL, ordinal INTEGER NOT NULL,
    tokens INTEGER NOT NULL, sentences INTEGER NOT NULL,
    removed INTEGER NOT NULL DEFAULT 0  -- a tombstone: the ordinal stays taken until the segment is rewritten
) STRICT;
CREATE TABLE texts (document INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;  -- apart, so that moving rows is cheap
CREATE UNIQUE INDEX live_id ON documents (id) WHERE removed = 0;
CREATE INDEX live_hash ON documents (content_hash) WHERE removed = 0;
CREATE UNIQUE INDEX place ON documents (segment, ordinal);
"""

SEALED = """
SELECT key, value, '', '', '' FROM settings WHERE key <> 'seal'
UNION ALL SELECT * FROM encoders UNION ALL SELECT name, sql, '', '', '' FROM sqlite_master ORDER BY 1
"""


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """A segment as the catalog knows it."""

    number: int
    documents: int
    sentences: int
    tokens: int
    generation: int | None


def written(document: Document) -> str:
    """The metadata of a document as the catalog keeps them; what is not a number in JSON is a missing value."""
    values = document.metadata.items()
    plain = {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in values}
    return json.dumps(plain, ensure_ascii=False)


def label(id: str, title: str, metadata: str) -> int:
    """The checksum of what a document is called."""
    return zlib.crc32(repr((id, title, metadata)).encode())


class Catalog:
    """A connection to the catalog of one index."""

    def __init__(self, root: Path, *, write: bool) -> None:
        self.path = root / "catalog.sqlite"
        if not self.path.is_file():
            raise InvalidIndex(f"There is no index at {root}: make one with `rprs index SOURCE --to {root}`")
        self._file = self.path.stat()
        self.connection = self._connect("mode=rw" if write else "mode=ro")
        try:
            self._check_format(root)
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, root: Path, settings: dict[str, str]) -> None:
        """Make a new catalog: complete under its name, or not there at all."""
        draft = root / "catalog.draft"
        for leftover in root.glob("catalog.draft*"):
            leftover.unlink()
        with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.executescript(f"BEGIN; {SCHEMA}")
            rows = {"format": str(FORMAT), **settings}.items()
            connection.executemany("INSERT INTO settings VALUES (?, ?)", rows)
            _seal(connection)
            connection.execute("COMMIT")
        draft.replace(root / "catalog.sqlite")
        sync_folder(root)

    def _connect(self, mode: str) -> sqlite3.Connection:
        try:
            return _connection(f"{self.path.absolute().as_uri()}?{mode}")
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if no_space(error, self.path.parent):
                raise DiskFull(f"No space left to open {self.path.parent}: free some space and try again") from error
            if mode == "mode=ro" and "unable to open" in str(error) and not os.access(self.path.parent, os.W_OK):
                return self._connect_unchanging()
            kind = IndexCorrupt if _damaged(error) else InvalidIndex
            raise kind(f"{self.path} cannot be opened as an index ({_brief(error)})") from error

    def _connect_unchanging(self) -> sqlite3.Connection:
        """On a read-only disk nobody writes, so nothing need be locked; but nothing can be recovered either."""
        log = self.path.with_name("catalog.sqlite-wal")
        if log.exists() and log.stat().st_size:
            raise InvalidIndex(f"{log} holds changes not merged yet: open the index once where it can be written to")
        return self._connect("immutable=1")

    def _check_format(self, root: Path) -> None:
        found = self.setting("format")
        if found != str(FORMAT):
            raise IndexMismatch(f"{root} has the index format {found}, this version of rprs reads {FORMAT}: index anew")
        if self.setting("seal") != _checksum(self.rows(SEALED)):
            raise self._corrupt("its settings have changed")

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

    def stream(self, query: str, *values: Any) -> Iterator[Any]:
        """The rows of a query, one by one."""
        try:
            for row in self.connection.execute(query, values):
                if bytes in map(type, row):  # a damaged text
                    raise self._corrupt("a text is not one")
                yield row
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if not _damaged(error):
                raise
            raise self._corrupt(error) from error

    def _corrupt(self, reason: object) -> IndexCorrupt:
        return IndexCorrupt(f"{self.path} is damaged ({_brief(reason)}): run `rprs verify {self.path.parent}`")

    def rows(self, query: str, *values: Any) -> list[Any]:
        """All rows of a query."""
        return list(self.stream(query, *values))

    def one(self, query: str, *values: Any) -> Any:
        """The first column of the first row, or None."""
        rows = self.rows(query, *values)
        return rows[0][0] if rows else None

    def setting(self, key: str) -> str | None:
        """One of the settings."""
        value: str | None = self.one("SELECT value FROM settings WHERE key = ?", key)
        return value

    @property
    def generation(self) -> int | None:
        """The number of the encoder in force; None until there is one."""
        value = self.setting("generation")
        return None if value is None else int(value)

    @property
    def version(self) -> int:
        """Another number whenever somebody else has committed since the last look, outside of a transaction."""
        return int(self.one("PRAGMA data_version"))

    @property
    def in_place(self) -> bool:
        """Whether this is still the file of that name: an index can be moved away, and another put in its place."""
        try:
            return os.path.samestat(self.path.stat(), self._file)
        except FileNotFoundError:
            return False

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
        return {row[0]: row[1:] for id in ids for row in self.rows(query, id)}

    def document(self, id: str) -> Document | None:
        """A live document."""
        query = "SELECT id, title, metadata, label, text FROM documents JOIN texts ON document = number"
        for found, title, metadata, checksum, text in self.rows(f"{query} WHERE removed = 0 AND id = ?", id):
            if label(found, title, metadata) != checksum:
                raise self._corrupt(f"the title or the metadata of {id!r} have changed")
            return Document(id, text, title, json.loads(metadata))
        return None

    def texts(self, segment: int) -> Iterator[tuple[int, str]]:
        """Ordinal and text of a segment's documents; a tombstone's text is empty."""
        query = (
            "SELECT ordinal, coalesce(text, '') FROM documents LEFT JOIN texts ON document = number "
            "WHERE segment = ? ORDER BY ordinal"
        )
        return self.stream(query, segment)

    # ------------------------------------------------------------------------ within a transaction

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
        names = (document.id, document.title, written(document))
        columns = "id, title, metadata, label, content_hash, segment, ordinal, tokens, sentences"
        values = (*names, label(*names), content_hash, *place, *size)
        row = self.connection.execute(f"INSERT INTO documents ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        self.connection.execute("INSERT INTO texts VALUES (?, ?)", (row.lastrowid, document.text))

    def relabel(self, document: Document) -> None:
        """Change title and metadata of a live document whose text stays."""
        metadata = written(document)
        query = "UPDATE documents SET title = ?, metadata = ?, label = ? WHERE id = ? AND removed = 0"
        checksum = label(document.id, document.title, metadata)
        self.connection.execute(query, (document.title, metadata, checksum, document.id))

    def add_encoder(self, row: tuple[int, str, str, int, str], files: Iterable[File]) -> None:
        """Put an encoder in force, instead of any other: generation, spec, fingerprint, dimension and report."""
        self.connection.execute("DELETE FROM encoders")
        self.forget_files("encoders/*")
        self.connection.execute("INSERT INTO encoders VALUES (?, ?, ?, ?, ?)", row)
        self.add_files(files)
        self.connection.execute("INSERT OR REPLACE INTO settings VALUES ('generation', ?)", (str(row[0]),))
        _seal(self.connection)

    def bury(self, ids: Iterable[str]) -> int:
        """Put tombstones on live documents and wipe what they said; the number of those found."""
        wipe = "DELETE FROM texts WHERE document = (SELECT number FROM documents WHERE id = ? AND removed = 0)"
        mark = (
            "UPDATE documents SET removed = 1, title = '', metadata = '{}', label = 0, content_hash = '' "
            "WHERE id = ? AND removed = 0"
        )
        found = 0
        for id in ids:
            self.connection.execute(wipe, (id,))
            found += self.connection.execute(mark, (id,)).rowcount
        return found


def _connection(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA busy_timeout = 10000")
        connection.create_function("casefold", 1, _casefold, deterministic=True)  # SQLite's lower() knows ASCII only
        if uri.endswith("mode=rw"):
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = ON")
        connection.execute("SELECT count(*) FROM settings").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _brief(reason: object) -> str:
    """One line: SQLite may quote the whole of a damaged schema."""
    return shorten(str(reason), 120, placeholder="…")


def _seal(connection: sqlite3.Connection) -> None:
    """Keep a checksum of settings, encoder and schema, for what a damaged one would do is hard to foresee."""
    checksum = _checksum(connection.execute(SEALED).fetchall())
    connection.execute("INSERT OR REPLACE INTO settings VALUES ('seal', ?)", (checksum,))


def _checksum(rows: list[Any]) -> str:
    return str(zlib.crc32(repr(rows).encode()))


def _casefold(value: str | float | None) -> str | None:
    return None if value is None else str(value).casefold()


def _damaged(error: Exception) -> bool:
    """Whether SQLite complains of the file rather than of a question, a lock or the disk."""
    unreadable = type(error) is sqlite3.DatabaseError or isinstance(error, UnicodeDecodeError)
    return unreadable or any(sign in str(error) for sign in ("decode", "malformed", "no such"))
