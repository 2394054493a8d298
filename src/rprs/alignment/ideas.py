"""Sentences that express the same idea in other words: the most similar vectors, above a calibrated bar.

Captions, headings and bare citations express no idea, so they are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.calibration import Calibration
from rprs.alignment.matches import Match
from rprs.alignment.sides import Side
from rprs.compiled import compiled
from rprs.scoring.threads import one_blas_thread

__all__ = ["same_ideas"]

ROWS = 512  # sentences that are compared at a time

Flags = NDArray[np.bool_]


def same_ideas(
    query: Side, document: Side, calibration: Calibration, query_open: Flags, document_open: Flags
) -> list[Match]:
    """The best partner of each open sentence by its vector, in both directions, if it is above the bar."""
    ours, theirs = query.with_ideas, document.with_ideas
    if not len(ours) or not len(theirs):
        return []
    with one_blas_thread():  # two would wait for each other when several searches run
        pairs = _best_partners(query.vectors, document.vectors)
    bars = calibration.bar(len(document.sentences)), calibration.bar(len(query.sentences))
    matches: dict[tuple[int, int], float] = {}
    for (rows, columns, similarity), opened, bar in zip(
        pairs, (query_open[ours], document_open[theirs]), bars, strict=True
    ):
        good = np.flatnonzero(opened & (similarity >= bar))
        left, right = ours[rows[good]], theirs[columns[good]]
        kept = ~(query.formal.of(left) | document.formal.of(right))
        found = left[kept].tolist(), right[kept].tolist(), np.minimum(similarity[good[kept]], 1).tolist()
        matches.update(((row, column), value) for row, column, value in zip(*found, strict=True))
    our_bounds, their_bounds = query.bound_list, document.bound_list
    return [
        Match(
            "same idea",
            (our_bounds[row], our_bounds[row + 1]),
            (their_bounds[column], their_bounds[column + 1]),
            value,
        )
        for (row, column), value in matches.items()
    ]


def _best_partners(query: NDArray[Any], document: NDArray[Any]) -> tuple[Any, Any]:
    """For each row of both: rows, columns and similarities; of equally similar partners, the first."""
    columns, best = np.zeros(len(query), dtype=np.int64), np.zeros(len(query), dtype=query.dtype)
    rows, best_of_column = np.zeros(len(document), dtype=np.int64), np.full(len(document), -2, dtype=query.dtype)
    for start in range(0, len(query), ROWS):
        similarity = query[start : start + ROWS] @ document.T
        part = slice(start, start + len(similarity))
        _update(similarity, start, columns[part], best[part], rows, best_of_column)
    return (np.arange(len(query)), columns, best), (rows, np.arange(len(document)), best_of_column)


@compiled
def _update(similarity: Any, start: int, columns: Any, best: Any, rows: Any, best_of_column: Any) -> None:
    """The best column of each row of a block, and the best row of each column so far."""
    for row in range(similarity.shape[0]):
        place, highest = 0, similarity[row, 0]
        for column in range(similarity.shape[1]):
            value = similarity[row, column]
            if value > highest:
                place, highest = column, value
            if value > best_of_column[column]:
                rows[column], best_of_column[column] = start + row, value
        columns[row], best[row] = place, highest
