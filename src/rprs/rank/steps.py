"""Scores that depend on a whole collection, computed in steps, so that an index may hold a part of the collection only.

Where a formula needs a figure of all documents, such as a document frequency, it yields the figure of the documents at
hand and is resumed with that of all. One index is the whole collection by itself (`alone`); the shards of a cluster
compute step by step, and a coordinator combines their figures. Counts are integers, and of numbers only the least is
needed: neither depends on how documents are distributed, so that scores are the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Counts", "Figures", "Least", "Steps", "alone", "combine_figures", "narrow", "narrow_array", "wide_values"]


@dataclass(frozen=True, slots=True)
class Counts:
    """Arrays of integers, which are added up."""

    values: tuple[NDArray[np.int64], ...]


@dataclass(frozen=True, slots=True)
class Least:
    """Numbers of which the least counts; infinity where the documents at hand have none."""

    values: tuple[float, ...]


T = TypeVar("T")
Figures = Counts | Least
Steps = Generator[Figures, tuple[Any, ...], T]
"""Yields figures of the documents at hand, receives those of all documents, and returns a result."""


def alone(steps: Steps[T]) -> T:
    """The result for an index that is the whole collection: its own figures are those of all documents."""
    try:
        figures = next(steps)
        while True:
            figures = steps.send(figures.values)
    except StopIteration as end:
        result: T = end.value
        return result


def narrow(figures: Figures) -> Figures:
    """The same figures, with counts in 32 bits where they fit, for sending; `wide_values` restores them."""
    if isinstance(figures, Least):
        return figures
    return Counts(tuple(narrow_array(values) for values in figures.values))


def narrow_array(values: NDArray[Any]) -> NDArray[Any]:
    """An array in 32 bits if its values fit."""
    return values.astype(np.int32) if values.size and -(2**31) <= values.min() <= values.max() < 2**31 else values


def wide_values(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Figures that were sent, in 64 bits."""
    return tuple(value.astype(np.int64) if isinstance(value, np.ndarray) else value for value in values)


def combine_figures(parts: Sequence[Figures]) -> tuple[Any, ...]:
    """The figures of all documents, from those of each part of the collection."""
    columns = zip(*(part.values for part in parts), strict=True)
    if isinstance(parts[0], Counts):
        return tuple(np.sum(column, axis=0, dtype=np.int64) for column in columns)
    return tuple(min(column) for column in columns)
