"""Matches between words of two texts, before they become pairs: ranges of words instead of characters.

A list of results has thousands of matches and shows thirty of them, so they are kept in arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.tables import Ints
from rprs.alignment.values import KINDS, Kind
from rprs.compiled import compiled

__all__ = ["KIND_NUMBERS", "Blocks", "Match", "Matches", "Range", "join_matches", "join_neighbours", "ranges_of"]

Range = tuple[int, int]  # words: first, stop
Blocks = tuple[tuple[int, int, int], ...]  # equal words: query word, document word, number of words

KIND_NUMBERS: dict[Kind, int] = {kind: number for number, kind in enumerate(KINDS)}


@dataclass(frozen=True, slots=True)
class Match:
    """Words of the query and their counterpart in the document."""

    kind: Kind
    query: Range
    document: Range
    similarity: float
    equal: Blocks = ()  # of a reworded match

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
    equal: Mapping[int, Blocks]  # of reworded matches, by number

    def __len__(self) -> int:
        return len(self.kinds)

    def __iter__(self) -> Iterator[Match]:
        return map(self.match, range(len(self)))

    def match(self, number: int) -> Match:
        """One of them."""
        first, stop, start, end = self.ranges[number].tolist()
        kind, similarity = KINDS[self.kinds[number]], float(self.similarity[number])
        return Match(kind, (first, stop), (start, end), similarity, self.equal.get(number, ()))


def join_neighbours(matches: Sequence[Match]) -> list[Match]:
    """Matches of one kind that continue each other in both texts become one; in the order of the query."""
    kinds = np.array([KIND_NUMBERS[match.kind] for match in matches], dtype=np.int64)
    similarity = np.array([match.similarity for match in matches], dtype=np.float64)
    equal = {number: match.equal for number, match in enumerate(matches) if match.equal}
    return list(join_matches(Matches(kinds, ranges_of(matches), similarity, equal)))


def join_matches(matches: Matches) -> Matches:
    """The same for matches in arrays; those that are repeated become one, too."""
    order = np.lexsort((matches.kinds, *matches.ranges.T[::-1]))
    kinds, ranges, similarity, places = _join(matches.kinds[order], matches.ranges[order], matches.similarity[order])
    blocks: dict[int, Blocks] = {}
    if matches.equal:
        for number, place in zip(order.tolist(), places.tolist(), strict=True):
            if place >= 0 and number in matches.equal:
                blocks[place] = blocks.get(place, ()) + matches.equal[number]
    order = np.lexsort(ranges.T[::-1])
    if blocks:
        blocks = {number: blocks[place] for number, place in enumerate(order.tolist()) if place in blocks}
    return Matches(kinds[order], ranges[order], similarity[order], blocks)


def ranges_of(matches: Sequence[Match]) -> Ints:
    """(m, 4): the ranges of some matches."""
    return np.array([(*match.query, *match.document) for match in matches], dtype=np.int64).reshape(-1, 4)


# ---------------------------------------------------------------------------- compiled


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
        if number and kind == kinds[number - 1] and np.all(ranges[number] == ranges[number - 1]):
            continue
        entry = _find_entry(entries, last[first], kind, start)
        if entry >= 0 and entries[entry, 2] >= 0:
            place, entries[entry, 2] = entries[entry, 2], -1
            words, more = _words(joined[place]), _words(ranges[number])
            values[place] = (values[place] * words + similarity[number] * more) / (words + more)
            joined[place, 1], joined[place, 3] = stop, end
        else:
            place, count = count, count + 1
            joined_kinds[place], joined[place], values[place] = kind, ranges[number], similarity[number]
        places[number] = place
        entry = _find_entry(entries, last[stop], kind, end)
        if entry < 0:
            entry, used = used, used + 1
            entries[entry] = kind, end, -1, last[stop]
            last[stop] = entry
        entries[entry, 2] = place
    return joined_kinds[:count], joined[:count], values[:count], places


@compiled
def _find_entry(entries: Any, entry: Any, kind: Any, end: Any) -> Any:
    while entry >= 0 and (entries[entry, 0] != kind or entries[entry, 1] != end):
        entry = entries[entry, 3]
    return entry


@compiled
def _words(ranges: Any) -> Any:
    """The number of words on both sides."""
    return ranges[1] - ranges[0] + ranges[3] - ranges[2]
