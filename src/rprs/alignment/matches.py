"""Matches between words of two texts, before they become pairs: ranges of words instead of characters.

A list of results has thousands of matches and shows thirty of them, so they are kept in arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.tables import Ints
from rprs.alignment.values import KINDS, Kind
from rprs.compiled import compiled
from rprs.scoring.sorting import ascending

__all__ = [
    "BELOW_ONE",
    "KIND_NUMBERS",
    "Match",
    "Matches",
    "Range",
    "Ranges",
    "join_columns",
    "join_matches",
    "join_neighbours",
    "ranges_of",
]

Range = tuple[int, int]  # words: first, stop
Ranges = tuple[int, int, int, int]  # words of the query: first, stop; then those of the document

BELOW_ONE = 0.9999  # the greatest similarity that is shown for other words

KIND_NUMBERS: dict[Kind, int] = {kind: number for number, kind in enumerate(KINDS)}


@dataclass(frozen=True, slots=True)
class Match:
    """Words of the query and their counterpart in the document."""

    kind: Kind
    query: Range
    document: Range
    similarity: float
    parts: tuple[Ranges, ...] = ()  # that were joined, if they were

    @property
    def words(self) -> int:
        """The number of words on both sides."""
        return self.query[1] - self.query[0] + self.document[1] - self.document[0]


@dataclass(frozen=True, slots=True)
class Matches:
    """The m matches of two texts."""

    kinds: Ints  # (m,): their places in KINDS
    ranges: Ints  # (m, 4): first word and stop in the query, then in the document
    similarity: NDArray[np.float64]  # (m,)
    parts: Ints = field(default_factory=lambda: np.empty((0, 4), dtype=np.int64))  # (p, 4): what was joined, in order
    owners: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # (p,): the number of its match

    def __len__(self) -> int:
        return len(self.kinds)

    def some(self, numbers: Sequence[int]) -> list[Match]:
        """Some of them."""
        chosen = np.asarray(numbers, dtype=np.int64)
        firsts, stops = (np.searchsorted(self.owners, chosen, side=side) for side in ("left", "right"))
        columns = (self.kinds[chosen], self.ranges[chosen], self.similarity[chosen], firsts, stops)
        return [
            Match(KINDS[kind], (left, right), (low, high), similarity, self._parts(first, stop))
            for kind, (left, right, low, high), similarity, first, stop in zip(
                *(each.tolist() for each in columns), strict=True
            )
        ]

    def _parts(self, first: int, stop: int) -> tuple[Ranges, ...]:
        return tuple((left, right, low, high) for left, right, low, high in self.parts[first:stop].tolist())


def join_neighbours(matches: Sequence[Match]) -> list[Match]:
    """Matches of one kind that continue each other in both texts become one; in the order of the query."""
    kinds = np.array([KIND_NUMBERS[match.kind] for match in matches], dtype=np.int64)
    similarity = np.array([match.similarity for match in matches], dtype=np.float64)
    joined = join_matches(Matches(kinds, ranges_of(matches), similarity))
    return joined.some(range(len(joined)))


def join_matches(matches: Matches) -> Matches:
    """The same for matches in arrays; those that are repeated become one, too."""
    return Matches(*join_columns(matches.kinds, matches.ranges, matches.similarity))


def ranges_of(matches: Sequence[Match]) -> Ints:
    """(m, 4): the ranges of some matches."""
    return np.array([(*match.query, *match.document) for match in matches], dtype=np.int64).reshape(-1, 4)


# ---------------------------------------------------------------------------- compiled


@compiled
def join_columns(kinds: Any, ranges: Any, similarity: Any) -> Any:
    """The columns of joined `Matches`."""
    keys = np.empty((len(kinds), 5), dtype=np.int64)
    for number in range(len(kinds)):
        for column in range(4):
            keys[number, column] = ranges[number, column]
        keys[number, 4] = kinds[number]
    order = ascending(keys)
    parts = ranges[order]
    kinds, ranges, similarity, places = _join(kinds[order], parts, similarity[order])
    order = ascending(ranges)
    numbers = np.empty(len(order), dtype=np.int64)
    for place in range(len(order)):
        numbers[order[place]] = place
    owners, repeated = np.empty((len(places), 1), dtype=np.int64), 0
    for number in range(len(places)):
        owners[number, 0] = -1 if places[number] < 0 else numbers[places[number]]
        repeated += places[number] < 0
    by_owner = ascending(owners)[repeated:]
    return kinds[order], ranges[order], similarity[order], parts[by_owner], owners[by_owner, 0]


@compiled
def _join(kinds: Any, ranges: Any, similarity: Any) -> Any:
    """The columns of joined matches, and the place of each match, given in order, among them; -1 if it is repeated.

    Where several matches of a kind end at the same words, the last of them is continued.
    """
    places = np.full(len(kinds), -1, dtype=np.int64)
    joined_kinds, joined, values = np.empty_like(kinds), np.empty_like(ranges), np.empty_like(similarity)
    longest = 0
    for number in range(len(kinds)):
        longest = max(longest, ranges[number, 1])
    last = np.full(longest + 1, -1, dtype=np.int64)  # the last entry of those that end at a word of the query
    entries = np.empty((len(kinds), 4), dtype=np.int64)  # kind, end in the document, place or -1, the entry before
    count = used = 0
    for number in range(len(kinds)):
        kind, (first, stop, start, end) = kinds[number], ranges[number]
        if number and kind == kinds[number - 1] and _are_equal(ranges[number], ranges[number - 1]):
            continue
        entry = _find_entry(entries, last[first], kind, start)
        if entry >= 0 and entries[entry, 2] >= 0:
            place, entries[entry, 2] = entries[entry, 2], -1
            words, more = _words(joined[place]), _words(ranges[number])
            values[place] = (values[place] * words + similarity[number] * more) / (words + more)
            joined[place, 1], joined[place, 3] = stop, end
        else:
            place, count = count, count + 1
            joined_kinds[place], values[place] = kind, similarity[number]
            joined[place, 0], joined[place, 1], joined[place, 2], joined[place, 3] = first, stop, start, end
        places[number] = place
        entry = _find_entry(entries, last[stop], kind, end)
        if entry < 0:
            entry, used = used, used + 1
            entries[entry, 0], entries[entry, 1], entries[entry, 3] = kind, end, last[stop]
            last[stop] = entry
        entries[entry, 2] = place
    return joined_kinds[:count], joined[:count], values[:count], places


@compiled
def _are_equal(ranges: Any, others: Any) -> Any:
    same = ranges[0] == others[0] and ranges[1] == others[1]
    return same and ranges[2] == others[2] and ranges[3] == others[3]


@compiled
def _find_entry(entries: Any, entry: Any, kind: Any, end: Any) -> Any:
    while entry >= 0 and (entries[entry, 0] != kind or entries[entry, 1] != end):
        entry = entries[entry, 3]
    return entry


@compiled
def _words(ranges: Any) -> Any:
    """The number of words on both sides."""
    return ranges[1] - ranges[0] + ranges[3] - ranges[2]
