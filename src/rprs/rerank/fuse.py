"""Two re-rankers as one, and the first stage's own order as if it were a re-ranker: what it can be fused with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from rprs.document import Candidates, Neighbours, Ranking, Sentences, Truncation
from rprs.encode import Loadable
from rprs.progress import Progress, silent
from rprs.rerank.reranker import Advance, Reranker, check_query, nothing, ranked
from rprs.scoring import fuse
from rprs.spec import Component, Kind, require

__all__ = ["First", "Fuse", "NamedReranker", "Seen"]

Floats = NDArray[np.float64]


class NamedReranker(Reranker, Protocol):
    """A re-ranker that is a component, so that its text form can stand within another's."""

    kind: ClassVar[Kind] = "reranker"


@dataclass(frozen=True)
class First(Component):
    """The order and the scores of the first stage; only documents without sentences go to the end, as everywhere.

    A candidate without a score of the first stage, which it did not find, counts as its last.
    """

    name: ClassVar[str] = "first"
    kind: ClassVar[Kind] = "reranker"

    def rerank(self, query: Sentences, candidates: Candidates, advance: Advance = nothing) -> Ranking:
        """The candidates as they are."""
        check_query(query)
        scores = np.asarray(candidates.ranking.scores, dtype=np.float64)
        known = scores[~np.isnan(scores)]
        advance(sum(map(len, candidates.sentences)))
        return ranked(candidates, np.where(np.isnan(scores), known.min() if len(known) else 0.0, scores))


@dataclass(frozen=True, slots=True)
class Seen:
    """What two re-rankers say of k candidates, in first-stage order."""

    a: Floats  # (k,): on one scale
    b: Floats  # (k,)
    parts: Mapping[str, Floats]
    neighbours: Neighbours | None
    notes: tuple[str, ...]
    truncation: Truncation


@dataclass(frozen=True)
class Fuse(Component):
    """The same candidates in the orders of two re-rankers, as one: `fuse(first, rprs(n=4,k1=0), weight=0.3)`.

    `method` is "rrf" (by ranks, with the constant `k`) or "minmax" (by scores, scaled within the candidates); `weight`
    is that of the second. The evidence and the further numbers are those of the re-ranker that has them, of `a` where
    both have.
    """

    a: NamedReranker
    b: NamedReranker
    method: fuse.Method = "rrf"
    weight: float = 0.5
    k: int = 60
    name: ClassVar[str] = "fuse"
    kind: ClassVar[Kind] = "reranker"
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"weight": tuple(tenth / 10 for tenth in range(11))}

    def __post_init__(self) -> None:
        require(self, "method", self.method in ("rrf", "minmax"), "'rrf' or 'minmax'")
        require(self, "weight", 0 <= self.weight <= 1, "a number in [0, 1]")
        require(self, "k", self.k >= 0, "an integer in [0, inf)")

    def load(self, progress: Progress = silent) -> None:
        """Get and prepare the models of both, where they have some."""
        for one in (self.a, self.b):
            if isinstance(one, Loadable):
                one.load(progress)

    def rerank(self, query: Sentences, candidates: Candidates, advance: Advance = nothing) -> Ranking:
        """The candidates by what both give them."""
        return self.weigh(self.look(query, candidates, advance), candidates)

    def look(self, query: Sentences, candidates: Candidates, advance: Advance = nothing) -> Seen:
        """Re-rank with both."""
        half = _half(advance)
        a, b = (one.rerank(query, candidates, half) for one in (self.a, self.b))
        place = {id: number for number, id in enumerate(candidates.ranking.ids)}
        orders = [np.array([place[id] for id in one.ids], dtype=np.int64) for one in (a, b)]
        return Seen(
            a=_put(fuse.shares(a.scores, self.method, self.k), orders[0]),
            b=_put(fuse.shares(b.scores, self.method, self.k), orders[1]),
            parts={
                name: _put(values, order)
                for one, order in ((b, orders[1]), (a, orders[0]))
                for name, values in one.parts.items()
            },
            neighbours=b.neighbours if a.neighbours is None else a.neighbours,
            notes=tuple(dict.fromkeys((*a.notes, *b.notes))),
            truncation=a.truncation + b.truncation,
        )

    def weigh(self, seen: Seen, candidates: Candidates) -> Ranking:
        """Add the two up."""
        scores = fuse.mix(seen.a, seen.b, self.weight)
        return ranked(
            candidates,
            scores,
            parts=seen.parts,
            neighbours=seen.neighbours,
            notes=seen.notes,
            truncation=seen.truncation,
        )


def _put(values: Floats, order: NDArray[np.int64]) -> Floats:
    """Values in the order of a ranking, put where the first stage has their documents."""
    found = np.empty(len(values))
    found[order] = values
    return found


def _half(advance: Advance) -> Advance:
    """Each of two passes over the candidates is half of the work."""
    done, lock = 0, Lock()

    def half(rows: int) -> None:
        nonlocal done
        with lock:  # several threads of a re-ranker may tell
            before, done = done, done + rows
            advance(done // 2 - before // 2)

    return half
