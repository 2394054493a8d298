"""Several indexes behind one server: each under its name, and all of them as one.

`/api/v1/collections/NAME/search` is `/api/v1/search` on the collection NAME, and so for every route; without a name, it
is the first collection. `_together` is the union of all, where that is exact.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from rprs.document import Document
from rprs.errors import InvalidIndex, NoCollection, UsageError
from rprs.index import Added, Writer
from rprs.index.union import UnionIndex, why_not_together
from rprs.progress import Progress, silent
from rprs.rank import System
from rprs.search import Searcher
from rprs.serve.limits import ASGIApp, Receive, Scope, Send
from rprs.serve.service import Service, Snapshot, system_texts

if TYPE_CHECKING:
    from rprs.serve.clusters import ClusterService

__all__ = [
    "TOGETHER",
    "CollectionPath",
    "Collections",
    "NewEncoder",
    "find_indexes",
    "select_collection",
    "selected_collection",
]

TOGETHER = "_together"
SUFFIX = ".rprs"
NewEncoder = Literal["fitted", "onnx", "hashed"]

_NAME = re.compile(r"\w[\w .-]{0,79}(?<![ .])")
_PATH = re.compile(r"(/api/v1)/collections/([^/]+)(/.+)", re.DOTALL)
_selected: ContextVar[str | None] = ContextVar("collection", default=None)


def find_indexes(paths: Sequence[Path]) -> tuple[list[Path], Path | None]:
    """The indexes at some paths, and the folder that new ones go to: one that was given and is no index itself."""
    found: list[Path] = []
    home: Path | None = None
    for path in paths:
        if path.is_dir() and not (path / "catalog.sqlite").exists() and path.suffix != SUFFIX:
            home = home or path
            found += sorted(each.parent for each in path.glob(f"*{SUFFIX}/catalog.sqlite"))
        else:
            found.append(path)
    return found, home


def selected_collection() -> str | None:
    """The collection of the current request by its name; None if the request names none."""
    return _selected.get()


@contextmanager
def select_collection(name: str | None) -> Iterator[None]:
    """Work for a request on this collection until the end of the block."""
    token = _selected.set(name)
    try:
        yield
    finally:
        _selected.reset(token)


class CollectionPath:
    """Turns the path of a collection into that of the route, and remembers the collection for the request."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        match = _PATH.fullmatch(scope["path"]) if scope["type"] == "http" else None
        _selected.set(match.group(2) if match else None)
        if match:
            path = match.group(1) + match.group(3)
            scope.update(path=path, raw_path=quote(path).encode())  # in place: the log reads the route from it
        await self.app(scope, receive, send)


class Collections:
    """The services of a server by name; as a service itself, it is that of the collection of the current request."""

    def __init__(
        self,
        paths: Sequence[Path],
        system: System,
        home: Path | None = None,
        progress: Progress = silent,
        log: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self.system, self.home, self._log, self._lock = system, home, log, Lock()
        self._services: dict[str, Service | ClusterService] = {}
        self._together = _Together(self)
        try:
            for path in paths:
                self._open(path, progress)
        except BaseException:
            self.close()
            raise

    @classmethod
    def of(cls, service: Service | ClusterService) -> Collections:
        """A single collection."""
        collections = cls([], service.system)
        collections._services[_name(service.path)] = service
        return collections

    def _open(self, path: Path, progress: Progress) -> None:
        name = _name(path)
        if name in self._services:
            raise UsageError(f"Two indexes have the name {name!r}: {self._services[name].path} and {path}")
        self._services[name] = Service(path, self.system, progress, self._log)

    def follow(self, paths: Sequence[Path]) -> None:
        """Open the indexes that another process has added."""
        present = set(self.paths)
        for path in paths:
            if path not in present:
                self._open(path, silent)

    def close(self) -> None:
        """Close all indexes."""
        for service in self._services.values():
            service.close()

    # ------------------------------------------------------------------------ collections

    @property
    def services(self) -> dict[str, Service | ClusterService]:
        """The services by name."""
        with self._lock:
            return dict(self._services)

    @property
    def paths(self) -> list[Path]:
        """The folders of all indexes, which messages do not name."""
        return [service.path for service in self.services.values()]

    @property
    def _current(self) -> Service | ClusterService | _Together:
        name, services = _selected.get(), self.services
        if name == TOGETHER:
            return self._together
        if not services:
            raise NoCollection("This server has no collections yet: create one")
        if name is None:
            return next(iter(services.values()))
        if name not in services:
            raise NoCollection(f"There is no collection {name!r}: this server has {', '.join(services)}")
        return services[name]

    def summary(self) -> dict[str, Any]:
        """What the web interface needs to offer a choice."""
        names = list(self.services)
        together = len(names) > 1 and self.why_not_together() is None
        return {"collections": names, "together": together, "can_create": self.home is not None}

    def why_not_together(self) -> str | None:
        """Why the collections cannot be searched as one; None if they can."""
        services = self.services
        if len(services) < 2:
            return "There is only one collection" if services else "There are no collections"
        try:
            with _snapshots(services.values()) as snapshots:
                return why_not_together([snapshot.index for snapshot in snapshots])
        except InvalidIndex:  # its message has the path, which is of no concern to clients
            return "One of them cannot be opened: it may have been moved or deleted"

    def create(
        self, name: str, documents: Iterable[Document], encoder: NewEncoder | None = None, progress: Progress = silent
    ) -> Added:
        """Build a new index and serve it; if that fails or is cancelled, nothing is left of it."""
        path = self._new_path(name)
        draft = path.with_name(f".{path.name}-{token_hex(4)}{SUFFIX}")
        try:
            with Writer(draft, create=True, encoder=encoder, progress=progress) as writer:
                added = writer.add(documents)
            with self._lock:
                if name in self._services or path.exists():
                    raise UsageError(f"There is a collection {name!r} already: choose another name")
                draft.rename(path)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        service = Service(path, self.system, silent, self._log)
        with self._lock:
            self._services[name] = service
        return added

    def _new_path(self, name: str) -> Path:
        if self.home is None:
            raise UsageError(
                "This server cannot create collections: start it with a folder for them (rprs serve FOLDER)"
            )
        if not _NAME.fullmatch(name) or name == TOGETHER:
            raise UsageError(f"{name!r:.80} cannot be the name of a collection: use letters, digits, spaces, . - and _")
        path = self.home.absolute() / f"{name}{SUFFIX}"
        if name in self.services or path.exists():
            raise UsageError(f"There is a collection {name!r} already: choose another name")
        return path

    # ------------------------------------------------------------------------ as the service of a request

    @property
    def documents(self) -> int:
        """The number of documents in all collections."""
        return sum(service.documents for service in self.services.values())

    @property
    def writable(self) -> bool:
        """Whether documents can be added at all: a cluster is changed by publishing a generation."""
        return all(service.writable for service in self.services.values())

    @property
    def system_texts(self) -> dict[str, Any]:
        """The system as plain values."""
        return system_texts(self.system)

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """The newest state of the collection, unchanged until the end of the block."""
        with self._current.snapshot() as snapshot:
            yield snapshot

    @contextmanager
    def snapshot_of(self, index: str) -> Iterator[Snapshot]:
        """The newest state of the collection whose folder has this name; if there is none, of that of the request."""
        services = self.services
        folders = {service.path.resolve().name: service for service in services.values()}
        is_union = len(folders) > 1 and index == " + ".join(folders)  # the name of a UnionIndex
        current = self._together if is_union else folders.get(index) or self._current
        with current.snapshot() as snapshot:
            yield snapshot

    def searcher(self, snapshot: Snapshot, progress: Progress = silent) -> Searcher:
        """The system, over one snapshot."""
        return snapshot.searcher(self.system, progress)

    def add(self, documents: Iterable[Document], progress: Progress = silent) -> Added:
        """Add documents to the collection."""
        return self._one().add(documents, progress)

    def remove(self, id: str, check: Callable[[], None]) -> int:
        """Remove a document from the collection."""
        return self._one().remove(id, check)

    def _one(self) -> Service | ClusterService:
        current = self._current
        if isinstance(current, _Together):
            raise UsageError("Choose one collection to change: all of them together are only for searching")
        return current


def _name(path: Path) -> str:
    return path.resolve().name.removesuffix(SUFFIX)


@contextmanager
def _snapshots(services: Iterable[Service | ClusterService]) -> Iterator[list[Snapshot]]:
    with ExitStack() as stack:
        yield [stack.enter_context(service.snapshot()) for service in services]


class _Union(Snapshot):
    """Snapshots of several indexes as one."""

    def __init__(self, parts: Sequence[Snapshot]) -> None:
        self.parts = tuple(parts)
        self.index = UnionIndex([part.index for part in parts])
        self.fingerprint = self.index.fingerprint
        self.users, self.newest = 0, True


class _Together:
    """All collections as one; what is computed over all of them is kept until one of them changes."""

    def __init__(self, collections: Collections) -> None:
        self._collections, self._lock = collections, Lock()
        self._last: _Union | None = None

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """The newest state of all collections."""
        services = self._collections.services
        if len(services) < 2:
            raise NoCollection("There is only one collection: nothing can be searched together")
        with _snapshots(services.values()) as snapshots:
            with self._lock:
                if self._last is None or self._last.parts != tuple(snapshots):
                    try:
                        self._last = _Union(snapshots)
                    except InvalidIndex:
                        self._last = None
                        raise
                union = self._last
            yield union
