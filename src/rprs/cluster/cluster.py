"""`rprs.Cluster`: a searcher over the newest generation of a cluster, with the interface of `Searcher`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import wraps
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic, sleep
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack

from rprs.cluster.calls import Call, in_process
from rprs.cluster.connection import connected, local_engine
from rprs.cluster.generations import generations, load, require_newest
from rprs.cluster.holding import Held, read_statistics
from rprs.cluster.index import ClusterIndex
from rprs.cluster.manifest import Manifest
from rprs.cluster.replicas import Calls
from rprs.cluster.searcher import ClusterSearcher
from rprs.cluster.settings import Patience
from rprs.cluster.statistics import Statistics
from rprs.cluster.store import Store, open_store
from rprs.errors import InvalidIndex, ShardUnavailable, StoreError, UsageError
from rprs.progress import Progress
from rprs.rank.system import System, SystemOptions, as_system
from rprs.search import Searcher

__all__ = ["Cluster", "Opened"]

INTERVAL = 2.0  # seconds between two looks for a newer generation
SWITCHING = 2 * INTERVAL  # seconds that a query without replicas waits for one
POLL = 0.1  # seconds
P = ParamSpec("P")
R = TypeVar("R")


class Opened:
    """One generation, open for queries: on the nodes of a Ray cluster, or in this process."""

    def __init__(self, store: Store, manifest: Manifest, call: Call, held: Held | None) -> None:
        self.manifest, self.call, self._held = manifest, call, held
        self.statistics: Statistics = held.statistics if held else read_statistics(store, manifest)
        self.name = Path(store.url.rstrip("/")).name
        self.index = ClusterIndex(call, len(manifest.shards), self.statistics, self.name)
        self.users, self.newest = 0, True

    @property
    def generation(self) -> int:
        """The number of the generation."""
        return self.manifest.generation

    def searcher(self, system: System | str | None = None, **options: Any) -> ClusterSearcher:
        """A searcher over this generation, whatever is published meanwhile."""
        searcher = ClusterSearcher(self.call, len(self.manifest.shards), self.statistics, system, **options)
        searcher.index = self.index  # what it remembers of documents serves all searchers
        return searcher

    def require_replicas(self) -> None:
        """Raise `ShardUnavailable` unless a replica of each shard is there."""
        if isinstance(self.call, Calls) and (missing := self.call.missing()):
            raise ShardUnavailable(missing[0])

    def close(self) -> None:
        """Close the shards that this process has opened."""
        if self._held is not None:
            self._held.close()


def _pinned(method: Callable[Concatenate[Searcher, P], R]) -> Callable[Concatenate[Cluster, P], R]:
    """A method of `Searcher`, of which each call sees one generation from its beginning to its end.

    If the last copy of an old generation is stopped meanwhile, the call begins again with the newest one.
    """

    @wraps(method)
    def call(self: Cluster, *arguments: P.args, **options: P.kwargs) -> R:
        def ask(opened: Opened) -> R:
            answer: R = getattr(self._searcher(opened), method.__name__)(*arguments, **options)
            return answer

        with self.pinned() as opened:
            try:
                return ask(opened)
            except ShardUnavailable:
                if not self._wait_for_newer(opened):
                    raise
        with self.pinned() as opened:
            return ask(opened)

    return call  # type: ignore[return-value]  # `wraps` hides that the first argument is a cluster


class Cluster:
    """Ranks the documents of a cluster: the interface of `Searcher`, and the same answers as from one index.

    `Cluster.open("s3://bucket/cases")` opens all shards in this process; with `address="10.0.0.1:6379"`, the nodes of
    that Ray cluster answer, of which this machine must be one. A generation that is published and started later is used
    from the next query on. An answer is never partial: a shard that nobody answers for raises `ShardUnavailable`.
    """

    def __init__(
        self,
        store: Store,
        system: System,
        engine: Any = None,
        generation: int | None = None,
        progress: Progress | bool | None = None,
    ) -> None:
        self.store, self.system, self.progress = store, system, progress
        self._engine, self._fixed = engine, generation
        self._lock, self._refreshing, self._closing = Lock(), Lock(), Event()
        self._started = ExitStack()  # what ends with this object
        self._opened = self._open_first()
        self._watching = Thread(target=self._watch, name="generations", daemon=True)
        self._watching.start()

    @classmethod
    def open(
        cls,
        url: str | Path,
        system: System | str | None = None,
        *,
        address: str | None = None,
        local: int | None = None,
        generation: int | None = None,
        deadline: float | None = None,
        progress: Progress | bool | None = None,
        **options: Unpack[SystemOptions],
    ) -> Cluster:
        """Open the newest generation at a folder or `s3://` address, or the one of a number.

        `address` is that of the head of a Ray cluster, whose token is in RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH.
        `local=2` starts two nodes on this machine instead, to try it; they end when the cluster is closed.
        `deadline` are the seconds that a replica may be silent before another is asked, 5 by default; one that is at
        work is waited for, for ten minutes at most. The system and its options are those of `Searcher`.
        """
        store, chosen = open_store(url), as_system(system, options)
        patience = Patience() if deadline is None else Patience(replica=deadline)
        if local is not None:
            if address is not None:
                raise UsageError("Choose the nodes by address or by local, not by both")
            return cls._open_local(store, chosen, local, generation, patience, progress)
        engine = None if address is None else connected(address, patience)
        return cls(store, chosen, engine, generation, progress)

    @classmethod
    def _open_local(
        cls,
        store: Store,
        system: System,
        nodes: int,
        generation: int | None,
        patience: Patience,
        progress: Progress | bool | None,
    ) -> Cluster:
        """Start nodes on this machine that hold a generation, and end them with the cluster."""
        manifest = require_newest(store) if generation is None else load(store, generation)
        with ExitStack() as started:
            engine = started.enter_context(local_engine(nodes, patience))
            engine.start(store.url, manifest, min(2, nodes))
            cluster = cls(store, system, engine, generation, progress)
            cluster._started = started.pop_all()
        return cluster

    def __repr__(self) -> str:
        return f"<Cluster {self.store.url}, generation {self._opened.generation}, {self.system}>"

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the shards that this process has opened; those on other nodes stay."""
        self._closing.set()
        self._watching.join(INTERVAL)  # without a head, it may still be waiting for an answer
        with self._lock:
            self._opened.newest = False
            self._close_unused(self._opened)
        self._started.close()

    @property
    def index(self) -> ClusterIndex:
        """The documents of the present generation."""
        return self._opened.index

    @property
    def generation(self) -> int:
        """The number of the present generation."""
        return self._opened.generation

    align = _pinned(Searcher.align)
    about = _pinned(Searcher.about)
    coverage = _pinned(Searcher.coverage)
    explain = _pinned(Searcher.explain)
    passages = _pinned(Searcher.passages)
    rank = _pinned(Searcher.rank)
    run = _pinned(Searcher.run)
    search = _pinned(Searcher.search)

    # ------------------------------------------------------------------------ generations

    @contextmanager
    def pinned(self) -> Iterator[Opened]:
        """The present generation, which stays open until the end of the block."""
        with self._lock:
            opened = self._opened
            opened.users += 1
        try:
            yield opened
        finally:
            with self._lock:
                opened.users -= 1
                self._close_unused(opened)

    def refresh(self) -> bool:
        """Use the newest generation that can be asked; whether it is another one than before."""
        if self._fixed is not None:
            return False
        with self._refreshing:
            newer = self._open_newer()
            if newer is None:
                return False
            with self._lock:
                old, self._opened = self._opened, newer
                old.newest = False
                self._close_unused(old)
            return True

    def _watch(self) -> None:
        while not self._closing.wait(INTERVAL):
            with suppress(StoreError, InvalidIndex, ShardUnavailable, UsageError, OSError):
                if not self.refresh():
                    self._renew()

    def _renew(self) -> None:
        """Ask the holders of the present generation that are there now."""
        with self._refreshing:
            opened = self._opened
            if self._engine is not None and isinstance(opened.call, Calls):
                self._engine.renew(opened.call, self.store.url, opened.manifest)

    def _wait_for_newer(self, opened: Opened) -> bool:
        """Whether another generation replaces this one within a few seconds; the thread that watches looks for it.

        Nothing else here asks the head of the cluster, which may be gone.
        """
        deadline = monotonic() + SWITCHING
        while self._opened is opened and monotonic() < deadline and self._fixed is None:
            sleep(POLL)
        return self._opened is not opened

    def _searcher(self, opened: Opened) -> ClusterSearcher:
        return opened.searcher(self.system, progress=self.progress)

    def _close_unused(self, opened: Opened) -> None:
        if not opened.newest and not opened.users:
            opened.close()

    def _open_first(self) -> Opened:
        if self._fixed is not None:
            manifest = load(self.store, self._fixed)
        elif self._engine is None:
            manifest = require_newest(self.store)
        else:
            newest = require_newest(self.store)
            for generation in reversed(self._engine.serving(self.store.url)):
                manifest = newest if generation == newest.generation else load(self.store, generation)
                if opened := self._try(manifest):
                    return opened
            raise UsageError(f"{self.store.url} is not started: run `rprs cluster start {self.store.url}` on a node")
        opened = self._try(manifest)
        if opened is None:
            raise ShardUnavailable(f"of generation {manifest.generation}")
        return opened

    def _open_newer(self) -> Opened | None:
        """The newest generation after the present one that can be asked; None if there is none."""
        numbers = generations(self.store) if self._engine is None else self._engine.serving(self.store.url)
        for generation in reversed(numbers):
            if generation <= self._opened.generation:
                return None
            if opened := self._try(load(self.store, generation)):
                return opened
        return None

    def _try(self, manifest: Manifest) -> Opened | None:
        if self._engine is not None:
            call = self._engine.calls(self.store.url, manifest)
            return None if call is None else Opened(self.store, manifest, call, None)
        held = Held(self.store.url, manifest.to_json(), range(len(manifest.shards)))
        return Opened(self.store, manifest, in_process(held.shards), held)
