"""A first stage that leaves no document out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rprs.document import Document, Ranking
from rprs.index import Index
from rprs.rank.stages import Mask, Ranker

__all__ = ["EveryDocument"]


@dataclass(frozen=True)
class EveryDocument:
    """A first stage followed by the documents that it leaves out, in the order of `ids`."""

    first: Ranker
    ids: tuple[str, ...]

    def __str__(self) -> str:
        return str(self.first)

    def rank(self, query: Document, index: Index, depth: int, allowed: Mask) -> Ranking:
        """All documents."""
        ranking = self.first.rank(query, index, depth, allowed)
        ranked = set(ranking.ids)
        rest = tuple(id for id in self.ids if id not in ranked)
        lowest = float(ranking.scores.min(initial=0.0))  # with BM25, the score of documents without a common word
        return replace(
            ranking,
            ids=(*ranking.ids, *rest),
            scores=np.append(ranking.scores, np.full(len(rest), lowest)),
            parts={name: np.append(part, np.full(len(rest), np.nan)) for name, part in ranking.parts.items()},
        )
