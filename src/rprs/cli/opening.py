"""What a verb searches: an index, several as one, or a cluster; and its searchers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import typer

if TYPE_CHECKING:
    from rprs.cluster.cluster import Opened
    from rprs.index import Index
    from rprs.progress import Progress
    from rprs.rank import System
    from rprs.search import Searcher

__all__ = ["Collection", "open_collection"]


class Collection(Protocol):
    """Documents that a verb searches."""

    @property
    def index(self) -> Index:
        """The documents."""

    def searcher(self, system: System | None, progress: Progress) -> Searcher:
        """A searcher over them."""


@dataclass(frozen=True)
class _OneMachine:
    index: Index

    def searcher(self, system: System | None, progress: Progress) -> Searcher:
        from rprs.search import Searcher

        return Searcher(self.index, system, progress=progress)


@dataclass(frozen=True)
class _Generation:
    opened: Opened

    @property
    def index(self) -> Index:
        return self.opened.index

    def searcher(self, system: System | None, progress: Progress) -> Searcher:
        return self.opened.searcher(system, progress=progress)


@contextmanager
def open_collection(context: typer.Context, paths: Sequence[Path]) -> Iterator[Collection]:
    """The index at a path, several as one, or the cluster that a verb of `rprs cluster` names."""
    from rprs.index import Index
    from rprs.index.union import UnionIndex

    parameters = context.params
    if "url" in parameters:
        from rprs.cluster.cluster import Cluster

        options = {name: parameters[name] for name in ("address", "generation", "deadline")}
        with Cluster.open(parameters["url"], **options) as cluster, cluster.pinned() as opened:
            yield _Generation(opened)
        return
    with ExitStack() as stack:
        parts = [stack.enter_context(Index(path)) for path in paths]
        yield _OneMachine(parts[0] if len(parts) == 1 else UnionIndex(parts))
