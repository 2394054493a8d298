"""The dates of all documents in one metadata field, and which of them are newer than a date."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.read.dates import Period, parse_period

__all__ = ["Dates", "read_dates"]

Mask = NDArray[np.bool_]
NO_DATE = 0  # days count from 1
NO_TIME = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Dates:
    """The dates of all documents, by document number."""

    first: NDArray[np.int64]  # (documents,): the first day of each period; NO_DATE without one
    instant: NDArray[np.int64]  # (documents,): microseconds since 1970 in UTC; NO_TIME without a time

    @property
    def undated(self) -> Mask:
        """Which documents have no date."""
        undated: Mask = self.first == NO_DATE
        return undated

    def newer_than(self, limit: Period) -> Mask:
        """Which documents are certainly newer: dates are compared as far as both are given."""
        newer = self.first > limit.last
        if limit.instant is None:
            return newer
        return np.where(self.instant == NO_TIME, newer, self.instant > limit.instant)


def read_dates(values: Iterable[tuple[int, Any]], documents: int) -> Dates:
    """The dates of so many documents, from the numbers of those with a field (-1: not one of them) and its values."""
    first = np.full(documents, NO_DATE, dtype=np.int64)
    instant = np.full(documents, NO_TIME, dtype=np.int64)
    parse = cache(parse_period)  # many documents share a date
    for number, value in values:
        period = parse(value) if number >= 0 else None
        if period is not None:
            first[number] = period.first
            instant[number] = NO_TIME if period.instant is None else period.instant
    return Dates(first, instant)
