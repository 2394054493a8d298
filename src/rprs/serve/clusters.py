"""A cluster behind the server: each request sees one generation from its beginning to its end.

A cluster is read-only: `rprs cluster add` and `remove` publish generations, which are used from the next request on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, NoReturn

from rprs import __version__
from rprs.cluster.cluster import Cluster, Opened
from rprs.document import Document
from rprs.errors import NotAllowed, ShardUnavailable
from rprs.index import Added
from rprs.progress import Progress, silent
from rprs.rank import System
from rprs.search import Searcher
from rprs.serve.service import Snapshot, system_texts

__all__ = ["ClusterService"]

CHECKED = 1.0  # seconds that a look at all replicas is valid
READ_ONLY = "This server searches a cluster, which it cannot change: use `rprs cluster add` and `rprs cluster remove`"


class _Generation(Snapshot):
    """A generation as a snapshot."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self.index = opened.index
        self.fingerprint = opened.statistics.fingerprint
        self.users, self.newest = 0, True
        self._looking, self._looked = Lock(), float("-inf")
        self._problem: ShardUnavailable | None = None

    def check(self) -> None:
        """Raise an error unless a replica of each shard is there; they are asked once in a second at most."""
        with self._looking:
            if monotonic() - self._looked > CHECKED:
                try:
                    self._opened.require_replicas()
                    self._problem = None
                except ShardUnavailable as error:
                    self._problem = error
                self._looked = monotonic()
        if self._problem is not None:
            raise self._problem

    def searcher(self, system: System, progress: Progress = silent) -> Searcher:
        """A system over this generation."""
        return self._opened.searcher(system, progress=progress)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Contents and components of the cluster."""
        manifest = self._opened.manifest
        return {
            "version": __version__,
            "index": self._opened.name,
            "documents": manifest.documents,
            "sentences": manifest.sentences,
            "fingerprint": self.fingerprint,
            "splitter": manifest.splitter,
            "analyzer": manifest.analyzer,
            "encoder": manifest.encoder_used,
            "vectors": manifest.vectors,
            "pending": 0,
            "fields": [asdict(field) for field in self.index.fields],
        }


class ClusterService:
    """A cluster and one system."""

    writable = False

    def __init__(self, cluster: Cluster, progress: Progress = silent) -> None:
        self._cluster, self.system = cluster, cluster.system
        self.path = Path(f"{Path(cluster.store.url).name}.rprs")  # messages name it like the index of a collection
        self._generations: dict[int, _Generation] = {}
        self.system.load(progress)
        with progress("getting ready"), self.snapshot() as snapshot:
            if len(snapshot.index):
                snapshot.searcher(self.system).search(Document("warm", "A sentence to warm up with."), 1)

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """The newest generation, which stays the same until the end of the block."""
        with self._cluster.pinned() as opened:
            snapshot = self._generations.get(opened.generation)
            if snapshot is None:
                snapshot = _Generation(opened)
                self._generations = {opened.generation: snapshot}
            yield snapshot

    @property
    def documents(self) -> int:
        """Number of documents in the newest generation."""
        with self._cluster.pinned() as opened:
            return opened.manifest.documents

    @property
    def system_texts(self) -> dict[str, Any]:
        """The system as plain values."""
        return system_texts(self.system)

    def add(self, documents: Iterable[Document], progress: Progress = silent) -> Added:
        """Refused: a cluster is changed by publishing a generation."""
        self._refuse()

    def remove(self, id: str, check: Callable[[], None]) -> int:
        """Refused: a cluster is changed by publishing a generation."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise NotAllowed(READ_ONLY)

    def close(self) -> None:
        """Close the cluster."""
        self._cluster.close()
