"""Sentences that express the same idea in other words: the most similar vectors, above a calibrated bar.

Captions, headings and bare citations express no idea, so they are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.calibration import Calibration
from rprs.alignment.sides import Side
from rprs.alignment.tables import Ints
from rprs.compiled import compiled
from rprs.scoring.threads import one_blas_thread

__all__ = ["same_ideas"]

ROWS = 512  # sentences that are compared at a time

Flags = NDArray[np.bool_]


def same_ideas(
    query: Side, document: Side, calibration: Calibration, query_open: Flags, document_open: Flags
) -> tuple[Ints, NDArray[np.float64]]:
    """(m, 4) and (m,): the best partner of each open sentence by its vector, in both directions, above the bar.

    Ranges of words with the similarity of each; two sentences that are the best of each other are there twice.
    """
    ours, theirs = query.with_ideas, document.with_ideas
    opened = query_open[ours], document_open[theirs]
    if not len(ours) or not len(theirs) or not (opened[0].any() or opened[1].any()):
        return np.empty((0, 4), dtype=np.int64), np.empty(0)
    bars = calibration.bar(len(document.sentences)), calibration.bar(len(query.sentences))
    with one_blas_thread():  # two would wait for each other when several searches run
        rows, columns, similarity = _best_partners(query.vectors, document.vectors, opened, bars)
    left, right = ours[rows], theirs[columns]
    kept = ~(query.formal.of(left) | document.formal.of(right))
    left, right = left[kept], right[kept]
    ranges = query.bounds[left], query.bounds[left + 1], document.bounds[right], document.bounds[right + 1]
    return np.column_stack(ranges), np.minimum(similarity[kept], 1).astype(np.float64)


def _best_partners(
    query: NDArray[Any], document: NDArray[Any], opened: tuple[Flags, Flags], bars: tuple[float, float]
) -> tuple[Ints, Ints, NDArray[Any]]:
    """Rows, columns and similarities of the best partners of open rows and columns that reach the bar of their side.

    Of equally similar partners, the first counts. Only where the best reaches the bar, it is looked for.
    """
    best = np.full(len(document), -2, dtype=query.dtype)  # of each column so far
    row_of_column = np.zeros(len(document), dtype=np.int64)
    rows, columns, values = [], [], []
    for start in range(0, len(query), ROWS):
        similarity = query[start : start + ROWS] @ document.T
        highest = similarity.max(axis=1)
        good = np.flatnonzero(opened[0][start : start + ROWS] & (highest >= bars[0]))
        rows.append(good + start)
        columns.append(_first_columns(similarity, good, highest))
        values.append(highest[good])
        highest = similarity.max(axis=0)
        better = np.flatnonzero(opened[1] & (highest >= bars[1]) & (highest > best))
        best[better] = highest[better]
        row_of_column[better] = _first_columns(similarity.T, better, highest) + start
    good = np.flatnonzero(best > -2)
    return (
        np.concatenate((*rows, row_of_column[good])),
        np.concatenate((*columns, good)),
        np.concatenate((*values, best[good])),
    )


@compiled
def _first_columns(similarity: Any, rows: Any, values: Any) -> Any:
    """Where some rows first have a value that they contain."""
    columns = np.empty(len(rows), dtype=np.int64)
    for number in range(len(rows)):
        row, column = rows[number], 0
        while similarity[row, column] != values[row]:
            column += 1
        columns[number] = column
    return columns
