"""A first stage that repeats the run of another system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from rprs.document import Document, Ranking
from rprs.errors import UsageError
from rprs.index import Index
from rprs.rank.stages import Mask
from rprs.read.runs import read_run
from rprs.spec import Component, Kind

__all__ = ["RunFile"]


@dataclass(frozen=True)
class RunFile(Component):
    """The run of another system, a file in TREC format; rankings are looked up by the query's id."""

    path: str
    name: ClassVar[str] = "runfile"
    kinds: ClassVar[tuple[Kind, ...]] = ("ranker",)

    def rank(self, query: Document, index: Index, depth: int, allowed: Mask) -> Ranking:
        """The allowed documents that the run lists for the query, in its order."""
        listed = self.listed(query)
        numbers = [index.number(id) for id in listed.ids]
        permitted = [number is not None and bool(allowed[number]) for number in numbers]
        return self.select(listed, permitted, sum(number is None for number in numbers), depth)

    def listed(self, query: Document) -> Ranking:
        """The whole ranking of the run for a query."""
        run = _load_run(self.path, Path(self.path).stat().st_mtime_ns if Path(self.path).exists() else 0)
        if query.id not in run:
            raise UsageError(f"The run {self.path} has no ranking for the query {query.id!r}")
        return run[query.id]

    def select(self, listed: Ranking, permitted: Sequence[bool], missing: int, depth: int) -> Ranking:
        """The first `depth` of the permitted documents; `missing` of those listed are not in the index."""
        kept = [place for place, chosen in enumerate(permitted) if chosen][:depth]
        notes = (f"{missing} of {len(listed)} documents of the run are not in the index",) if missing else ()
        return Ranking(tuple(listed.ids[place] for place in kept), listed.scores[kept], notes=notes)


@lru_cache(maxsize=4)
def _load_run(path: str, _changed: int) -> dict[str, Ranking]:
    return read_run(path)
