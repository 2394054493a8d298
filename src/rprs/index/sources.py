"""Which folders an index is kept in sync with, what was read from each of their files, and which documents are whose.

The tables are made by the first `rprs sync`. Their rows change in the same transactions as the documents, so that an
interrupted synchronisation is a smaller one: what it has recorded is in the index, and the rest is found again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from rprs.index.database import Database

__all__ = ["FileRow", "Origin", "Sources", "forget_origins", "has_sources"]

_TABLES = (
    "CREATE TABLE IF NOT EXISTS roots (name TEXT PRIMARY KEY, folder TEXT NOT NULL) STRICT",
    "CREATE TABLE IF NOT EXISTS sources (root TEXT NOT NULL, path TEXT NOT NULL, state TEXT NOT NULL, "
    "sha256 TEXT NOT NULL, copies TEXT NOT NULL, problems TEXT NOT NULL, PRIMARY KEY (root, path)) STRICT",
    "CREATE TABLE IF NOT EXISTS origins (id TEXT PRIMARY KEY, root TEXT NOT NULL, path TEXT NOT NULL) STRICT",
    "CREATE INDEX IF NOT EXISTS origin_path ON origins (root, path)",
)


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file that was read completely, or a copy of such a file."""

    path: str  # within the root
    state: str  # size and times, by which an unchanged file is recognised; empty if they prove nothing
    sha256: str  # of its bytes; empty if the file must be read again
    copies: tuple[str, ...] = ()  # the other files with the same bytes, if this one stands for them
    problems: tuple[tuple[str, str, bool], ...] = ()  # path, reason and whether it was read partly


@dataclass(frozen=True, slots=True)
class Origin:
    """The file that a document was read from."""

    root: str
    path: str


class Sources:
    """The records of one root in the catalog of an index."""

    def __init__(self, catalog: Database, root: str) -> None:
        self.catalog, self.root = catalog, root
        self._exists = has_sources(catalog)

    @property
    def folder(self) -> str | None:
        """The folder or file that the root was synchronised with; None before the first time."""
        rows = self._rows("SELECT folder FROM roots WHERE name = ?", self.root)
        return str(rows[0][0]) if rows else None

    def roots(self) -> dict[str, str]:
        """All roots with their folders, by name."""
        return {row[0]: row[1] for row in self._rows("SELECT name, folder FROM roots ORDER BY name")}

    def files(self) -> dict[str, FileRow]:
        """The recorded files, by path."""
        query = "SELECT path, state, sha256, copies, problems FROM sources WHERE root = ?"
        return {
            path: FileRow(path, state, sha256, tuple(json.loads(copies)), tuple(map(_problem, json.loads(problems))))
            for path, state, sha256, copies, problems in self._rows(query, self.root)
        }

    def origins(self) -> dict[str, Origin]:
        """The origin of every document that was read by `rprs sync`, of all roots."""
        return {id: Origin(root, path) for id, root, path in self._rows("SELECT id, root, path FROM origins")}

    def _rows(self, query: str, *values: str) -> list[tuple[str, ...]]:
        return self.catalog.rows(query, *values) if self._exists else []

    # ------------------------------------------------------------------------ within a transaction

    def use_folder(self, folder: str) -> None:
        """Record the folder of the root; make the tables if there are none."""
        for statement in _TABLES:
            self.catalog.connection.execute(statement)
        self._exists = True
        self.catalog.connection.execute("INSERT OR REPLACE INTO roots VALUES (?, ?)", (self.root, folder))

    def record(self, rows: Iterable[FileRow]) -> None:
        """Record files."""
        values = [
            (self.root, row.path, row.state, row.sha256, json.dumps(row.copies), json.dumps(row.problems))
            for row in rows
        ]
        self.catalog.connection.executemany("INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?, ?, ?)", values)

    def forget(self, paths: Iterable[str]) -> None:
        """No longer record files."""
        values = [(self.root, path) for path in paths]
        self.catalog.connection.executemany("DELETE FROM sources WHERE root = ? AND path = ?", values)

    def own(self, paths: Iterable[tuple[str, str]]) -> None:
        """Record the files of documents, as pairs of id and path."""
        values = [(id, self.root, path) for id, path in paths]
        self.catalog.connection.executemany("INSERT OR REPLACE INTO origins VALUES (?, ?, ?)", values)


def has_sources(catalog: Database) -> bool:
    """Whether the index was ever synchronised with a folder."""
    return bool(catalog.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'origins'"))


def forget_origins(catalog: Database, ids: Iterable[str], *, gone: bool) -> None:
    """Documents change in a transaction that may not be one of `rprs sync`: their files must be read again.

    A document that is `gone` leaves no trace of its id, which most often is the path of its file.
    """
    unsettle = "UPDATE sources SET state = '', sha256 = '' WHERE root = ? AND path = ?"
    forget = (
        "DELETE FROM sources WHERE root = ? AND path = ? "
        "AND NOT EXISTS (SELECT 1 FROM origins WHERE origins.root = sources.root AND origins.path = sources.path)"
    )
    places = set[tuple[str, str]]()
    for id in ids:
        found = catalog.connection.execute("SELECT root, path FROM origins WHERE id = ?", (id,)).fetchall()
        catalog.connection.executemany(unsettle, found)
        if gone:
            catalog.connection.execute("DELETE FROM origins WHERE id = ?", (id,))
            places.update(found)
    catalog.connection.executemany(forget, places)
    _forget_copies(catalog, places)


def _forget_copies(catalog: Database, places: set[tuple[str, str]]) -> None:
    """Files that are recorded as copies of any of these must be read again, too."""
    rows = catalog.rows("SELECT root, path, copies FROM sources WHERE copies <> '[]'") if places else []
    named = [(root, path) for root, path, copies in rows if any((root, copy) in places for copy in json.loads(copies))]
    query = "UPDATE sources SET state = '', sha256 = '', copies = '[]' WHERE root = ? AND path = ?"
    catalog.connection.executemany(query, named)


def _problem(stored: list[object]) -> tuple[str, str, bool]:
    path, reason, partly = stored
    return str(path), str(reason), bool(partly)
