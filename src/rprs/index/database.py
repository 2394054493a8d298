"""The SQLite file of an index: opening it, its schema, transactions, and one clear error where it is damaged."""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from textwrap import shorten
from threading import RLock
from time import monotonic, sleep
from typing import Any

from rprs.errors import DiskFull, IndexCorrupt, IndexLocked, IndexMismatch, InvalidIndex, RprsError
from rprs.files.atomic import is_durable, sync, sync_folder
from rprs.forks import forget, register
from rprs.index.files import file_mode, no_space, plain_reason
from rprs.progress import stopper

__all__ = ["FORMAT", "HISTORY", "NO_INDEX", "Database", "create_tables", "prepare_connection", "require_sqlite", "seal"]

FORMAT = 3
LEAST_SQLITE = (3, 37, 0)  # the first with STRICT tables
MOST_LOG = 256 * 2**20  # bytes: a writer waits, then refuses, if the log is larger and a reader needs it
PATIENCE, POLL = 10.0, 0.1  # seconds
READABLE = ("1", "2", "3")  # formats; 1 has no phrases, 1 and 2 have no checksums of blocks and of the listing
STEPS = 4000  # of the virtual machine of SQLite between two looks at whether to go on, a fraction of a millisecond
HISTORY = "history"  # the file with the number of the last commit
NO_INDEX = "There is no index at {0}: make one with `rprs index SOURCE --to {0}`"

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
CREATE TABLE blocks (path TEXT PRIMARY KEY, sums BLOB NOT NULL) STRICT;  -- of each file, for searches
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

_INHERITED: list[sqlite3.Connection] = []  # of the parent of this process, never closed: that could drop its locks

SEALED = """
SELECT key, value, '', '', '' FROM settings WHERE key <> 'seal'
UNION ALL SELECT * FROM encoders UNION ALL SELECT name, sql, '', '', '' FROM sqlite_master ORDER BY 1
"""


class Database:
    """A connection to the SQLite file of one index.

    SQLite's locks are lost in a forked process, and it does not notice. A connection for reading is therefore closed
    before a fork, and both processes open their own; one for writing stays with the parent alone.
    """

    def __init__(self, root: Path, *, write: bool) -> None:
        self.path = root / "catalog.sqlite"
        if not self.path.is_file():
            raise InvalidIndex(NO_INDEX.format(root))
        require_sqlite()
        self._file = self.path.stat()
        self._write = write
        self._prepare(self._connect("mode=rw" if write else "mode=ro"))
        try:
            self._check_format(root)
        except BaseException:
            self.close()
            raise

    def _prepare(self, connection: sqlite3.Connection) -> None:
        self._connection, self._lost = connection, ""
        self.in_doubt = False  # whether the last commit failed, so that it may be seen or not when the index is opened
        self._snapshot: str | None = None  # the number of the commit that a snapshot shows
        self.lock = RLock()  # held by a thread that uses the connection
        register(self)

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection of this process."""
        if self._lost:
            raise InvalidIndex(self._lost)
        return self._connection

    @classmethod
    def create(cls, root: Path, settings: Mapping[str, str]) -> None:
        """Create an empty database; it appears under its name only when it is complete."""
        require_sqlite()
        draft = root / "catalog.draft"
        for leftover in root.glob("catalog.draft*"):
            leftover.unlink()
        draft.touch(file_mode(root))  # SQLite gives its log the same mode
        with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            create_tables(connection, settings)
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
            if mode == "mode=ro" and "readonly" in str(error) and os.access(self.path, os.W_OK):
                return self._connect_after_recovery()
            kind = IndexCorrupt if _damaged(error) else InvalidIndex
            raise kind(f"{self.path} cannot be opened as an index ({self._reason(error)})") from error

    def _reason(self, error: Exception) -> str:
        """Why the file cannot be opened: SQLite does not say that too many files are open, or who may read it."""
        try:
            with ExitStack() as opened:
                for _ in range(3):  # the catalog, its log and the index of that
                    opened.enter_context(self.path.open("rb"))
        except OSError as cause:
            return plain_reason(cause)
        return _brief(error)

    def _connect_unchanging(self) -> sqlite3.Connection:
        """Open without locks, on a read-only disk: nobody writes there, and nothing can be recovered."""
        log = self.path.with_name("catalog.sqlite-wal")
        if log.exists() and log.stat().st_size:
            raise InvalidIndex(f"{log} holds changes not merged yet: open the index once where it can be written to")
        return self._connect("immutable=1")

    def _connect_after_recovery(self) -> sqlite3.Connection:
        """Let SQLite undo what a writer had begun outside of the log, which it cannot do for a reader."""
        with suppress(sqlite3.Error), closing(sqlite3.connect(self.path)) as connection:
            connection.execute("SELECT count(*) FROM settings").fetchone()
        try:
            return _connection(f"{self.path.absolute().as_uri()}?mode=ro")
        except sqlite3.DatabaseError as error:
            raise InvalidIndex(f"{self.path} cannot be opened as an index ({self._reason(error)})") from error

    def _check_format(self, root: Path) -> None:
        stored = self.setting("format")
        if stored not in READABLE:
            newer = (stored or "").isdecimal() and int(stored or "") > FORMAT
            advice = "a newer version has made it, so update rprs" if newer else "index anew"
            raise IndexMismatch(
                f"{root} has the index format {stored}, this version of rprs reads 1 to {FORMAT}: {advice}"
            )
        self.connection.execute("BEGIN")  # a writer may commit between the two reads
        try:
            if self.setting("seal") != _checksum(self.rows(SEALED)):
                raise self._corrupt("its settings have changed")
        finally:
            if self.connection.in_transaction:  # SQLite ends it by itself after some errors
                self.connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close the connection; what a writer could not merge because this reader was open is merged now."""
        forget(self)
        if not self._lost:
            self._connection.close()
        if not self._write:
            self._merge_log()

    # ------------------------------------------------------------------------ the log of SQLite

    @property
    def log_bytes(self) -> int:
        """The size of SQLite's log, where commits stay until they are merged into the catalog."""
        try:
            return self.path.with_name("catalog.sqlite-wal").stat().st_size
        except FileNotFoundError:
            return 0

    def merge(self) -> bool:
        """Merge the log into the catalog and empty it, for a writer; False if a reader still needs it.

        A page with removed text is overwritten in the catalog only then.
        """
        self.connection.execute("PRAGMA busy_timeout = 0")  # a reader may stay for days
        try:
            busy, *_ = self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            self.connection.execute("PRAGMA busy_timeout = 10000")
        return not busy

    def renew_snapshot(self) -> None:
        """Let go of the snapshot for a moment, so that the log can be merged; if others have committed, it is gone."""
        with self.lock:
            if self.log_bytes and not self._lost:
                self._connection.close()
                self._merge_log()
                self._connect_again()

    def _merge_log(self) -> None:
        """Merge the log over a connection of its own, as a reader: the last one to close an index finishes it."""
        if not self.log_bytes or not os.access(self.path, os.W_OK) or not os.access(self.path.parent, os.W_OK):
            return
        with (
            suppress(sqlite3.Error),
            closing(sqlite3.connect(self.path, isolation_level=None, timeout=0)) as connection,
        ):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def _bound_log(self) -> None:
        """Wait until readers let the log be merged if it is large; refuse to let it grow without end."""
        deadline = monotonic() + PATIENCE
        while self.log_bytes > MOST_LOG and not self.merge():
            if monotonic() > deadline:
                raise IndexLocked(
                    f"{self.path.name}-wal has {self.log_bytes / 2**20:,.0f} MB because a program has kept an old "
                    f"state of {self.path.parent} open: close the index there, or open it again"
                )
            sleep(POLL)

    # ------------------------------------------------------------------------ forked processes

    def before_fork(self) -> None:
        """Wait until no thread uses the connection; close it if it is for reading."""
        self.lock.acquire()
        if not self._write:
            self._connection.close()

    def after_fork(self, child: bool) -> None:
        """Open another connection to the same state; if that state is gone, each use of it says so."""
        try:
            if not self._write:
                self._connect_again()
            elif child:
                _INHERITED.append(self._connection)
                self._lost = f"{self.path.parent} was opened for writing before this process was forked: open it again"
        except (InvalidIndex, sqlite3.Error) as error:
            self._lost = f"{self.path.parent} cannot be used after a fork ({_brief(error)}): open the index again"
        finally:
            self.lock.release()

    def _connect_again(self) -> None:
        if self._lost:
            return
        self._connection = self._connect("mode=ro")
        if self._snapshot is not None:
            snapshot = self._snapshot
            self.begin_snapshot()
            if self._snapshot != snapshot:
                self._connection.close()
                self._lost = f"{self.path.parent} changed while a process was forked: open the index again"

    # ------------------------------------------------------------------------ writing

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit all changes of the block durably, or none of them; commits are numbered."""
        self._bound_log()
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield self.connection
            number = max(self.commit, self.recorded) + 1
            self.change_setting("commit", str(number))
            seal(self.connection)
            self.in_doubt = True
            self.connection.execute("COMMIT")
            self.in_doubt = False
        except BaseException:
            with suppress(sqlite3.Error):  # the first error says more
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
            raise
        with suppress(sqlite3.Error, OSError):  # the commit is durable; the next one tries again
            self.record(number)
            self.merge()

    def settle(self) -> None:
        """Overwrite what a commit that failed may have left in the log: SQLite would find it there after a crash."""
        if self.in_doubt:
            with self.transaction():
                pass

    # ------------------------------------------------------------------------ the history

    @property
    def recorded(self) -> int:
        """The number of the last commit by the file `history`, which is apart from SQLite's own files."""
        try:
            return int(self.path.with_name(HISTORY).read_text("ascii"))
        except (FileNotFoundError, ValueError):
            return 0
        except OSError as error:
            raise InvalidIndex(f"{error.filename} cannot be opened: {plain_reason(error)}") from error

    def record(self, number: int) -> None:
        """Note a commit in the history, in place: it fits into a sector of the disk."""
        flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        handle = os.open(self.path.with_name(HISTORY), flags, file_mode(self.path.parent))
        try:
            line = f"{number:020d}\n".encode("ascii")
            if os.pwrite(handle, line, 0) < len(line):
                os.pwrite(handle, line, 0)
            sync(handle)
        finally:
            os.close(handle)

    def check_history(self, recorded: int) -> None:
        """Raise `IndexCorrupt` if commits are missing; `recorded` must have been read before the present state was."""
        commit = self.commit
        if recorded > commit:
            raise IndexCorrupt(
                f"{self.path} has lost the commits {commit + 1} to {recorded}: was it copied without its log "
                f"catalog.sqlite-wal, or is that damaged? Restore both, or accept the loss by `rprs repair "
                f"{self.path.parent}`"
            )

    def change_setting(self, key: str, value: str) -> None:
        """Change a setting, within a transaction."""
        self.connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (key, value))

    # ------------------------------------------------------------------------ reading

    def stream(self, query: str, *values: Any, raw: bool = False) -> Iterator[Any]:
        """The rows of a query, one at a time; `raw` if a column holds bytes."""
        try:
            for row in self.connection.execute(query, values):
                if not raw and bytes in map(type, row):  # instead of text: the page is damaged
                    raise self._corrupt("a text is not valid")
                yield row
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if _damaged(error):
                raise self._corrupt(error) from error
            if self._write or "disk I/O" not in str(error):  # a writer says more, and the disk may be full
                raise
            raise InvalidIndex(f"{self.path} cannot be read ({_brief(error)}): check the disk") from error

    def _corrupt(self, reason: object) -> IndexCorrupt:
        return IndexCorrupt(f"{self.path} is damaged ({_brief(reason)}): run `rprs verify {self.path.parent}`")

    def rows(self, query: str, *values: Any) -> list[Any]:
        """All rows of a query, which ends when the computation of this context is cancelled."""
        stop = stopper.get()
        with self.lock:
            self.connection.set_progress_handler(_interruption(stop), STEPS)
            try:
                return list(self.stream(query, *values))
            except sqlite3.OperationalError as error:
                if "interrupted" in str(error):
                    stop()
                raise
            finally:
                self.connection.set_progress_handler(None, STEPS)

    def one(self, query: str, *values: Any) -> Any:
        """The first column of the first row, or None."""
        rows = self.rows(query, *values)
        return rows[0][0] if rows else None

    def setting(self, key: str) -> str | None:
        """The value of a setting, or None."""
        value: str | None = self.one("SELECT value FROM settings WHERE key = ?", key)
        return value

    @property
    def version(self) -> int:
        """A number that changes when another connection commits; read it outside a transaction."""
        return int(self.one("PRAGMA data_version"))

    @property
    def in_place(self) -> bool:
        """Whether the path still names the open file: an index can be moved away and another put in its place."""
        try:
            return os.path.samestat(self.path.stat(), self._file)
        except FileNotFoundError:
            return False

    @property
    def commit(self) -> int:
        """The number of the last commit; 0 in an index of an earlier version that was not written to since."""
        return int(self.setting("commit") or 0)

    def begin_snapshot(self) -> None:
        """Let all later reads see the present state, whoever writes meanwhile."""
        self.connection.execute("BEGIN")
        self._snapshot = self.setting("commit") or ""


def create_tables(connection: sqlite3.Connection, settings: Mapping[str, str]) -> None:
    """Create the tables of an empty index with these settings."""
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.executescript(f"BEGIN; {SCHEMA}")
    rows = {"format": str(FORMAT), "segments": str(zlib.crc32(b"[]")), "places": "0", **settings}.items()
    connection.executemany("INSERT INTO settings VALUES (?, ?)", rows)
    seal(connection)
    connection.execute("COMMIT")


def prepare_connection(connection: sqlite3.Connection) -> None:
    """Add the functions that the queries of the catalog use."""
    connection.create_function("casefold", 1, _casefold, deterministic=True)  # SQLite's lower() knows ASCII only


def require_sqlite() -> None:
    """Raise `InvalidIndex` if the SQLite of this Python is too old."""
    if sqlite3.sqlite_version_info < LEAST_SQLITE:
        least = ".".join(map(str, LEAST_SQLITE))
        raise InvalidIndex(
            f"An index needs SQLite {least} or later, and this Python has {sqlite3.sqlite_version}: use a newer Python"
        )


def _connection(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA busy_timeout = 10000")
        prepare_connection(connection)
        if uri.endswith("mode=rw"):
            if connection.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):  # SQLite does not say why
                raise sqlite3.OperationalError("the file system does not support the log of SQLite")
            connection.execute(f"PRAGMA synchronous = {'FULL' if is_durable() else 'OFF'}")
            connection.execute("PRAGMA secure_delete = ON")
        connection.execute("SELECT count(*) FROM settings").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _interruption(stop: Callable[[], None]) -> Callable[[], bool]:
    """For SQLite: whether to interrupt a query, because the computation was cancelled."""

    def interrupt() -> bool:
        try:
            stop()
        except RprsError:
            return True
        return False

    return interrupt


def _brief(reason: object) -> str:
    """A reason in one line: SQLite may quote a complete damaged schema."""
    return shorten(str(reason), 120, placeholder="…")


def seal(connection: sqlite3.Connection) -> None:
    """Store a checksum of settings, encoder and schema: the effects of damage to them are hard to foresee."""
    checksum = _checksum(connection.execute(SEALED).fetchall())
    connection.execute("INSERT OR REPLACE INTO settings VALUES ('seal', ?)", (checksum,))


def _checksum(rows: list[Any]) -> str:
    return str(zlib.crc32(repr(rows).encode()))


def _casefold(value: str | float | None) -> str | None:
    return None if value is None else str(value).casefold()


def _damaged(error: Exception) -> bool:
    """Whether an error is about the content of the file, not about a query, a lock or the disk."""
    unreadable = type(error) is sqlite3.DatabaseError or isinstance(error, UnicodeDecodeError)
    return unreadable or any(sign in str(error) for sign in ("decode", "malformed", "no such"))
