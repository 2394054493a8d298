"""The scores of all documents from those of each segment, on all cores if there are many documents."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rprs.index import Index
from rprs.scoring.postings import add_live
from rprs.scoring.threads import spread

__all__ = ["Rows", "add_segments"]

Floats = NDArray[np.float64]
Rows = slice | NDArray[np.int64]

LEAST_DOCUMENTS = 20_000  # of an index: with fewer, threads gain nothing


def add_segments(scores: Floats, index: Index, add: Callable[[int, Rows, Floats], None]) -> None:
    """Let `add` add to the scores of each segment's documents; all `scores` are 0 at first.

    It is called with the place of a segment, the numbers of its documents, of which some may be -1, and their scores.
    """
    rows = index.rows

    def work(place: int) -> None:
        own = rows[place]
        if isinstance(own, slice):
            add(place, own, scores[own])
            return
        local = np.zeros(len(own), dtype=np.float64)
        add(place, own, local)
        add_live(scores, own, local)

    spread(work, range(len(rows)), one_thread=len(index) < LEAST_DOCUMENTS)
