"""Different values among many, by sorting and compiled code, which let other threads go on; `np.unique` does not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled

__all__ = ["count_values", "distinct", "first_places", "places_among"]

Ints = NDArray[np.int64]


def distinct(values: NDArray[Any]) -> tuple[NDArray[Any], Ints, Ints]:
    """The d different values in ascending order, which of them each of the values is, and how often each occurs."""
    found, numbers, counts = _distinct(values, np.argsort(values, kind="stable"))
    return found, numbers, counts


def first_places(numbers: Ints, size: int) -> Ints:
    """(size,): where each of the numbers below `size` occurs first; all of them do."""
    places: Ints = _first_places(numbers, size)
    return places


def count_values(values: NDArray[Any]) -> Ints:
    """How often each number up to the greatest occurs."""
    counts: Ints = _count_values(values)
    return counts


def places_among(values: NDArray[Any], ordered: NDArray[Any]) -> Ints:
    """(v,): where each of some values is among others, or -1; both are different values in ascending order."""
    places: Ints = _places_among(values, ordered)
    return places


@compiled
def _distinct(values, order):  # type: ignore[no-untyped-def]
    numbers, counts = np.empty(len(values), np.int64), np.zeros(len(values), np.int64)
    found, count = np.empty_like(values), 0
    for place in order:
        if count == 0 or values[place] != found[count - 1]:
            found[count] = values[place]
            count += 1
        numbers[place] = count - 1
        counts[count - 1] += 1
    return found[:count].copy(), numbers, counts[:count].copy()


@compiled
def _first_places(numbers, size):  # type: ignore[no-untyped-def]
    places = np.zeros(size, np.int64)
    for place in range(len(numbers) - 1, -1, -1):
        places[numbers[place]] = place
    return places


@compiled
def _count_values(values):  # type: ignore[no-untyped-def]
    size = 0
    for value in values:
        if value >= size:
            size = value + 1
    counts = np.zeros(size, np.int64)
    for value in values:
        counts[value] += 1
    return counts


@compiled
def _places_among(values, ordered):  # type: ignore[no-untyped-def]
    places, at = np.full(len(values), -1, np.int64), 0
    for number in range(len(values)):
        while at < len(ordered) and ordered[at] < values[number]:
            at += 1
        if at < len(ordered) and ordered[at] == values[number]:
            places[number] = at
    return places
