"""What a first stage is."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rprs.document import Document, Ranking
from rprs.index import Index

__all__ = ["Mask", "Ranker"]

Mask = NDArray[np.bool_]


class Ranker(Protocol):
    """A first stage."""

    def rank(self, query: Document, index: Index, depth: int, allowed: Mask) -> Ranking:
        """The best `depth` of the allowed documents, best first; of equals, the smaller id first."""
        ...
