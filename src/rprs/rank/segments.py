"""The scores of all documents from those of each segment, on all cores if there are many documents."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rprs.index import Index
from rprs.scoring.postings import add_live
from rprs.scoring.threads import spread

__all__ = ["add_segments"]

Floats = NDArray[np.float64]

LEAST_DOCUMENTS = 20_000  # of an index: with fewer, threads gain nothing


def add_segments(scores: Floats, index: Index, add: Callable[[int, NDArray[np.int64], Floats], None]) -> None:
    """Add to the scores of documents, by their numbers, what `add` adds to those of each segment, which are 0 at first.

    It is called with the place of a segment, the numbers of its documents, of which some may be -1, and their scores.
    """

    def work(place: int) -> None:
        numbers = index.numbers[place]
        local = np.zeros(len(numbers), dtype=np.float64)
        add(place, numbers, local)
        add_live(scores, numbers, local)

    spread(work, range(len(index.numbers)), one_thread=len(index) < LEAST_DOCUMENTS)
