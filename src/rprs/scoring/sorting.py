"""Sorting and binary search for compiled functions: compiling those of NumPy takes longer than all the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from rprs.compiled import compiled

__all__ = ["ascending", "first_at_least"]


@compiled
def ascending(rows: Any) -> Any:
    """(r,): the numbers of rows (r, c) in ascending order by their columns; of equal rows, the first comes first."""
    size, width = len(rows), 1
    order, merged = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    for number in range(size):
        order[number] = number
    while width < size:
        for first in range(0, size, 2 * width):
            left, middle = first, min(first + width, size)
            right, stop = middle, min(middle + width, size)
            for place in range(first, stop):
                if left < middle and (right == stop or not _precedes(rows, order[right], order[left])):
                    merged[place] = order[left]
                    left += 1
                else:
                    merged[place] = order[right]
                    right += 1
        order, merged = merged, order
        width *= 2
    return order


@compiled(inline="always")
def _precedes(rows: Any, left: Any, right: Any) -> Any:
    """Whether a row is less than another."""
    column, last = 0, rows.shape[1] - 1
    while column < last and rows[left, column] == rows[right, column]:
        column += 1
    return rows[left, column] < rows[right, column]


@compiled
def first_at_least(ordered: Any, value: Any) -> Any:
    """The first place of an ascending array whose number is not less than a value; its length if there is none."""
    low, high = 0, len(ordered)
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
