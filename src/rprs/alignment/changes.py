"""What was changed in a reworded pair: what is between its equal words."""

from __future__ import annotations

from typing import Any

import numpy as np

from rprs.alignment.matches import Match
from rprs.alignment.sides import Side
from rprs.alignment.subsequence import equal_blocks
from rprs.alignment.tables import number_keys
from rprs.alignment.values import Change
from rprs.compiled import compiled

__all__ = ["find_changes"]


def find_changes(query: Side, document: Side, match: Match) -> tuple[Change, ...]:
    """The changes of a match, in the order of both texts; none if it is not reworded."""
    if match.kind != "reworded":
        return ()
    parts = np.array(match.parts, dtype=np.int64).reshape(-1, 4)
    places = (query.words.starts, query.words.ends), (document.words.starts, document.words.ends)
    found = _find(parts, (*match.query, *match.document), query.word_pairs.word_table, document.words.hashes, *places)
    return tuple(Change((start, end), (low, high)) for start, end, low, high in found.tolist())


@compiled
def _find(parts: Any, match: Any, word_table: Any, others: Any, places: Any, other_places: Any) -> Any:
    """(c, 4): the characters of what is between the equal words of a match, in the query and in the document."""
    blocks = _equal_words(parts, match, word_table, others)
    changes, count = np.empty((len(blocks), 4), dtype=np.int64), 0
    left, right = match[0], match[2]
    for number in range(len(blocks)):
        first, other, size = blocks[number]
        if first > left or other > right:
            changes[count, 0], changes[count, 1] = _span(places, left, first, match[0])
            changes[count, 2], changes[count, 3] = _span(other_places, right, other, match[2])
            count += 1
        left, right = first + size, other + size
    return changes[:count]


@compiled
def _equal_words(parts: Any, match: Any, word_table: Any, others: Any) -> Any:
    """(b, 3): word of the query, of the document and number of words of each run of equal ones, and the end of both."""
    slots, distinct, numbers = word_table
    counts = np.zeros(len(distinct) + 1, dtype=np.int64)
    rows, size = np.empty((match[1] - match[0] + 1, 3), dtype=np.int64), 0
    for part in range(len(parts)):
        first, stop, start, end = parts[part]
        equal = equal_blocks(numbers[first:stop], number_keys(others[start:end], slots, distinct), counts)
        for block in range(len(equal)):
            rows[size, 0], rows[size, 1], rows[size, 2] = (
                first + equal[block, 0],
                start + equal[block, 1],
                equal[block, 2],
            )
            size += 1
    rows[size, 0], rows[size, 1], rows[size, 2] = match[1], match[3], 0
    return rows[: size + 1]


@compiled
def _span(places: Any, first: int, stop: int, beginning: int) -> Any:
    """The characters of some words; if there are none, an empty span behind the word before, or at the beginning."""
    starts, ends = places
    if stop > first:
        return starts[first], ends[stop - 1]
    place = starts[first] if first == beginning else ends[first - 1]
    return place, place
