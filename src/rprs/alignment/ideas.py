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
from rprs.alignment.word_matches import shares
from rprs.compiled import compiled
from rprs.scoring.threads import one_blas_thread

__all__ = ["same_ideas"]

ROWS = 512  # sentences that are compared at a time
MOSTLY = 0.5  # of the words of a sentence: if more of them have a stronger match, no weaker one is looked for

Flags = NDArray[np.bool_]


def same_ideas(
    query: Side, document: Side, calibration: Calibration, matched: Ints
) -> tuple[Ints, NDArray[np.float64]]:
    """(m, 4) and (m,): the best partner of each open sentence by its vector, in both directions, above the bar.

    A sentence is open unless most of its words are `matched` already. Ranges of words with the similarity of each; two
    sentences that are the best of each other are there twice.
    """
    ours, theirs = query.with_ideas, document.with_ideas
    opened = _opened(matched, query.bounds, document.bounds, ours, theirs)
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


@compiled
def _opened(matched: Any, bounds: Any, other_bounds: Any, ours: Any, theirs: Any) -> Any:
    """Which of some sentences of both texts are open."""
    opened = shares(matched[:, :2], bounds) <= MOSTLY
    other_opened = shares(matched[:, 2:], other_bounds) <= MOSTLY
    return opened[ours], other_opened[theirs]


def _best_partners(
    query: NDArray[Any], document: NDArray[Any], opened: tuple[Flags, Flags], bars: tuple[float, float]
) -> tuple[Ints, Ints, NDArray[Any]]:
    """Rows, columns and similarities of the best partners of open rows and columns that reach the bar of their side.

    Of equally similar partners, the first counts. Only where the best reaches the bar, it is looked for.
    """
    best = np.full(len(document), -2, dtype=query.dtype)  # of each column so far
    row_of_column = np.zeros(len(document), dtype=np.int64)
    parts = []
    for start in range(0, len(query), ROWS):
        similarity = query[start : start + ROWS] @ document.T
        parts.append(_choose(similarity, start, *opened, *bars, best, row_of_column))
    good = np.flatnonzero(best > -2)
    rows, columns, values = zip(*parts, (row_of_column[good], good, best[good]), strict=True)
    return np.concatenate(rows), np.concatenate(columns), np.concatenate(values)


@compiled
def _choose(
    similarity: Any, start: int, rows: Any, columns: Any, bar: Any, other_bar: Any, best: Any, row_of_column: Any
) -> Any:
    """The best columns of open rows, which start with number `start`; the best rows of columns are updated."""
    highest, highest_of_columns = _maxima(similarity)
    chosen, count = np.empty((len(similarity), 2), dtype=np.int64), 0
    values = np.empty(len(similarity), dtype=similarity.dtype)
    for row in range(len(similarity)):
        if rows[start + row] and highest[row] >= bar:
            column = 0
            while similarity[row, column] != highest[row]:
                column += 1
            chosen[count, 0], chosen[count, 1], values[count] = start + row, column, highest[row]
            count += 1
    for column in range(similarity.shape[1]):
        value = highest_of_columns[column]
        if columns[column] and value >= other_bar and value > best[column]:
            row = 0
            while similarity[row, column] != value:
                row += 1
            best[column], row_of_column[column] = value, start + row
    return chosen[:count, 0].copy(), chosen[:count, 1].copy(), values[:count]


@compiled(fastmath={"nnan", "nsz"})
def _maxima(similarity: Any) -> Any:
    """The greatest value of each row and of each column."""
    rows, columns = similarity[:, 0].copy(), similarity[0].copy()
    for row in range(similarity.shape[0]):
        greatest = rows[row]
        for column in range(similarity.shape[1]):  # two loops, so that each compiles to vector instructions
            greatest = max(greatest, similarity[row, column])
        rows[row] = greatest
        for column in range(similarity.shape[1]):
            columns[column] = max(columns[column], similarity[row, column])
    return rows, columns
