"""A first stage made of two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from rprs.document import Document, Ranking
from rprs.index import Index
from rprs.rank.bm25 import BM25
from rprs.rank.ranker import Mask, Ranker
from rprs.rank.runfile import RunFile
from rprs.scoring import fuse
from rprs.spec import Component, Kind, require

__all__ = ["Fuse", "NamedRanker", "by_words", "run_files"]


class NamedRanker(Ranker, Protocol):
    """A first stage that is a component, so that its text form can stand within another's."""

    kind: ClassVar[Kind] = "ranker"


@dataclass(frozen=True)
class Fuse(Component):
    """The documents of two first stages, each `depth` deep, in one ranking: `fuse(bm25, sdr, weight=0.3)`.

    `method` is "rrf" (by ranks, with the constant `k`) or "minmax" (by scores, scaled within each list); `weight` is
    that of the second. A document that is in one list alone gets nothing from the other.
    """

    a: NamedRanker
    b: NamedRanker
    method: fuse.Method = "rrf"
    weight: float = 0.5
    k: int = 60
    name: ClassVar[str] = "fuse"
    kind: ClassVar[Kind] = "ranker"

    def __post_init__(self) -> None:
        require(self, "method", self.method in ("rrf", "minmax"), "'rrf' or 'minmax'")
        require(self, "weight", 0 <= self.weight <= 1, "a number in [0, 1]")
        require(self, "k", self.k >= 0, "an integer in [0, inf)")

    def rank(self, query: Document, index: Index, depth: int, allowed: Mask) -> Ranking:
        """The best documents of both lists; further numbers are kept, and NaN for who has none."""
        lists = [ranker.rank(query, index, depth, allowed) for ranker in (self.a, self.b)]
        ids = sorted({id for one in lists for id in one.ids})
        given = [_by_id(one, fuse.shares(one.scores, self.method, self.k), ids, 0.0) for one in lists]
        scores = fuse.mix(given[0], given[1], self.weight)
        order = np.lexsort((np.arange(len(ids)), -scores))[:depth]
        return Ranking(
            ids=tuple(ids[place] for place in order),
            scores=scores[order],
            parts={name: values[order] for name, values in _parts(lists, ids).items()},
            notes=tuple(dict.fromkeys(note for one in lists for note in one.notes)),
        )


def _by_id(ranking: Ranking, values: NDArray[np.float64], ids: Sequence[str], absent: float) -> NDArray[np.float64]:
    """The values of a ranking's documents in the order of some ids."""
    known = dict(zip(ranking.ids, values.tolist(), strict=True))
    return np.array([known.get(id, absent) for id in ids], dtype=np.float64)


def _parts(lists: Sequence[Ranking], ids: Sequence[str]) -> Mapping[str, NDArray[np.float64]]:
    """The further numbers of both; where both have a name, those of the first."""
    return {name: _by_id(one, values, ids, np.nan) for one in reversed(lists) for name, values in one.parts.items()}


def by_words(ranker: Any) -> bool:
    """Whether a first stage is known to look at no vectors, and so to be the same with any encoder."""
    return isinstance(ranker, BM25 | RunFile) or (
        isinstance(ranker, Fuse) and by_words(ranker.a) and by_words(ranker.b)
    )


def run_files(ranker: Any) -> list[RunFile]:
    """The run files that a first stage repeats, or that those do which it is made of."""
    if isinstance(ranker, RunFile):
        return [ranker]
    inner = [getattr(ranker, each.name) for each in fields(ranker)]
    return [file for one in inner if is_dataclass(one) for file in run_files(one)]
