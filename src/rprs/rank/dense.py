"""First stages that compare sentence vectors: SDR, MaxSim and mean pooling over the whole collection.

All documents are read, in the order in which they lie on disk, and none is kept: memory depends on the query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rprs.document import Document, Ranking, Sentences
from rprs.index import Index
from rprs.index.segment import Segment
from rprs.progress import stopper
from rprs.rank.ranker import Mask
from rprs.scoring.maxsim import Direction, maxsim, meanpool
from rprs.scoring.sdr import Normalise, sdr
from rprs.spec import Component, Kind, require

__all__ = ["SDR", "MaxSim", "MeanPool"]

Score = Callable[[Sentences, Iterable[Sentences]], NDArray[np.float64]]


@dataclass(frozen=True)
class SDR(Component):
    """SDR (Ginzburg et al. 2021) of every document, as the re-ranker of that name has it.

    The candidates that `normalise="zscore"` speaks of are then all the documents that are allowed.
    """

    normalise: Normalise = "none"
    name: ClassVar[str] = "sdr"
    kind: ClassVar[Kind] = "ranker"

    def __post_init__(self) -> None:
        require(self, "normalise", self.normalise in ("none", "zscore"), "'none' or 'zscore'")

    def rank(self, query: Document, index: Index, depth: int, allowed: Mask) -> Ranking:
        """The best documents among those with sentences."""
        return _rank(query, index, depth, allowed, lambda asked, found: sdr(asked, found, self.normalise))


@dataclass(frozen=True)
class MaxSim(Component):
    """MaxSim of every document, as the re-ranker of that name has it."""

    direction: Direction = "query"
    name: ClassVar[str] = "maxsim"
    kind: ClassVar[Kind] = "ranker"

    def __post_init__(self) -> None:
        require(self, "direction", self.direction in ("query", "document", "both"), "'query' or 'document' or 'both'")

    def rank(self, query: Document, index: Index, depth: int, allowed: Mask) -> Ranking:
        """The best documents among those with sentences."""
        return _rank(query, index, depth, allowed, lambda asked, found: maxsim(asked.vectors, found, self.direction))


@dataclass(frozen=True)
class MeanPool(Component):
    """The cosine of the mean vectors of the query and of every document."""

    name: ClassVar[str] = "meanpool"
    kind: ClassVar[Kind] = "ranker"

    def rank(self, query: Document, index: Index, depth: int, allowed: Mask) -> Ranking:
        """The best documents among those with sentences."""
        return _rank(query, index, depth, allowed, lambda asked, found: meanpool(asked.vectors, found))


def _rank(query: Document, index: Index, depth: int, allowed: Mask, score: Score) -> Ranking:
    """The best of the allowed documents with sentences; of equals, the smaller id first."""
    asked = index.query_sentences(query)
    chosen = allowed & (index.sentence_counts > 0)
    if not len(asked) or not chosen.any():
        return Ranking((), np.zeros(0))
    ordinals = [np.flatnonzero((numbers >= 0) & chosen[numbers]) for numbers in index.numbers]
    order = np.concatenate([numbers[some] for numbers, some in zip(index.numbers, ordinals, strict=True)])
    scores = np.full(len(index), -np.inf)
    scores[order] = score(asked, _Stored(index.segments, ordinals, stopper.get()))
    best = np.argsort(-scores, kind="stable")[: min(depth, len(order))]
    return Ranking(tuple(index.ids[number] for number in best), scores[best])


@dataclass(frozen=True, slots=True)
class _Stored:
    """Documents of segments by their ordinals: read, in the order of the files, whenever they are iterated.

    `check` is asked before each whether it is still wanted.
    """

    segments: Sequence[Segment]
    ordinals: Sequence[NDArray[np.int64]]
    check: Callable[[], None]

    def __iter__(self) -> Iterator[Sentences]:
        for segment, ordinals in zip(self.segments, self.ordinals, strict=True):
            for ordinal in ordinals.tolist():
                self.check()
                yield segment.sentences(ordinal)
