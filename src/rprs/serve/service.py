"""The index behind the server: the newest snapshot for each request, one system, and one writer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from rprs import __version__
from rprs.document import Document
from rprs.errors import Busy, InvalidIndex, NoDocument
from rprs.index import Added, Index, Writer
from rprs.index.catalog import Catalog
from rprs.index.info import describe_encoder, encoder_info
from rprs.progress import Progress, silent
from rprs.rank import System
from rprs.search import Searcher
from rprs.serve.compaction import Compaction

__all__ = ["Service", "Snapshot", "system_texts"]

INTERVAL = 1.0  # seconds between two looks at the index
PATIENCE = 5.0  # seconds that a request to write waits for another


class Snapshot:
    """An index at one moment, kept open while requests use it."""

    def __init__(self, path: Path) -> None:
        self.index: Index = Index(path)
        self.fingerprint = self.index.fingerprint
        self.users = 0
        self.newest = True

    def check(self) -> None:
        """Raise an error if it cannot be searched at present."""

    def searcher(self, system: System, progress: Progress = silent) -> Searcher:
        """A system over this state of the index."""
        return Searcher(self.index, system, progress=progress)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Contents and components of the index."""
        catalog = self.index.catalog
        return {
            "version": __version__,
            "index": self.index.path.resolve().name,
            "documents": len(self.index),
            "sentences": int(self.index.sentence_counts.sum()),
            "fingerprint": self.fingerprint,
            "splitter": catalog.setting("splitter"),
            "analyzer": catalog.setting("analyzer"),
            "encoder": describe_encoder(encoder_info(catalog)),
            "vectors": self.index.vector_type,
            "pending": self.index.pending,
            "fields": [asdict(field) for field in self.index.fields],
        }


def system_texts(system: System) -> dict[str, Any]:
    """A system as plain values."""
    return {
        "first": str(system.first),
        "rerank": None if system.rerank is None else str(system.rerank),
        "depth": system.depth,
        "cutoff": None if system.cutoff is None else str(system.cutoff),
    }


class Service:
    """One index and one system. Changes to the index are visible to the next request."""

    writable = True

    def __init__(
        self, path: Path, system: System, progress: Progress = silent, log: Callable[[str], None] = lambda _line: None
    ) -> None:
        self.path, self.system = path.absolute(), system
        self._watch = Catalog(self.path, write=False)
        self._lock, self._writing, self._closing = Lock(), Lock(), Event()
        self._compaction = Compaction(self.path, self._writing, log)
        try:
            self._version: int | None = self._watch.version
            self._snapshot = Snapshot(self.path)
            self.system.load(progress)
            self._warm(progress)
            self._upkeep = Thread(target=self._keep_up, name="upkeep", daemon=True)
            self._upkeep.start()
        except BaseException:
            self._watch.close()
            raise

    def _warm(self, progress: Progress) -> None:
        """Load the encoder and compile the kernels, so that the first request does not have to wait."""
        with self.snapshot() as snapshot, progress("getting ready"):
            if len(snapshot.index):
                snapshot.searcher(self.system).search(Document("warm", "A sentence to warm up with."), 1)

    # ------------------------------------------------------------------------ reading

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """The newest state of the index, unchanged until the end of the block."""
        with self._lock:
            self._refresh()
            snapshot = self._snapshot
            snapshot.users += 1
        try:
            yield snapshot
        finally:
            with self._lock:
                snapshot.users -= 1
                self._close_unused(snapshot)

    def _refresh(self) -> None:
        if not self._watch.in_place:
            newer = Catalog(self.path, write=False)  # an error while the index is away; it may come back
            self._watch.close()
            self._watch, self._version = newer, None
        version = self._watch.version
        if version != self._version:
            newest = Snapshot(self.path)
            old, self._snapshot, self._version = self._snapshot, newest, version
            old.newest = False
            self._close_unused(old)

    def _keep_up(self) -> None:
        """Follow changes between requests, too: an old snapshot would keep removed text on disk."""
        while not self._closing.wait(INTERVAL):
            with suppress(InvalidIndex, OSError), self._lock:
                self._refresh()
                if not self._snapshot.users:
                    self._snapshot.index.catalog.renew_snapshot()
                    self._refresh()

    @staticmethod
    def _close_unused(snapshot: Snapshot) -> None:
        if not snapshot.newest and not snapshot.users:
            snapshot.index.close()

    @property
    def documents(self) -> int:
        """Number of documents in the newest snapshot."""
        with self._lock:
            return len(self._snapshot.index)

    @property
    def system_texts(self) -> dict[str, Any]:
        """The system as plain values."""
        return system_texts(self.system)

    # ------------------------------------------------------------------------ writing

    def add(self, documents: Iterable[Document], progress: Progress = silent) -> Added:
        """Add documents, replacing those with the same ids; one request of this server writes at a time.

        Many segments are merged afterwards, in a thread of their own: that may take longer than a request may.
        """
        with self._turn(), Writer(self.path, progress=progress, compact_automatically=False) as writer:
            added = writer.add(documents)
            many = writer.has_many_segments
        if many:
            self._compaction.start()
        return added

    def remove(self, id: str, check: Callable[[], None]) -> int:
        """Remove an existing document; `check` can still raise before the write begins."""
        with self._turn(), Writer(self.path) as writer:
            check()
            removed = writer.remove([id])
        if not removed:
            raise NoDocument(f"There is no document {id!r} in {self.path.name}")
        return removed

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait until no other request writes, but not for the end of a long one: that would keep searches waiting."""
        if not self._writing.acquire(timeout=PATIENCE):
            raise Busy("The index is being changed: try again in a minute")
        try:
            yield
        finally:
            self._writing.release()

    def close(self) -> None:
        """Close the index."""
        self._closing.set()
        self._upkeep.join()
        self._compaction.close()
        with self._lock:
            self._watch.close()
            self._snapshot.index.close()
