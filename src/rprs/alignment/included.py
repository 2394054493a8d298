"""Identical runs that are parts of reworded pairs: a sentence with a changed word is one pair, not three."""

from __future__ import annotations

from typing import Any

import numpy as np

from rprs.alignment.verbatim import LEAST_ANYWHERE, LEAST_RUN
from rprs.compiled import compiled
from rprs.scoring.sorting import ascending, first_at_least

__all__ = ["without_included"]

QUOTATION = 0.75  # of the words of a pair: a single run that is less of it is a quotation


@compiled
def without_included(
    runs: Any, edited: Any, blocks: Any, bounds: Any, other_bounds: Any, stops: Any, other_stops: Any
) -> Any:
    """(m, 4): the runs that are not a part of a reworded pair; the others are the columns of `Edited` and of two texts.

    A run with a whole sentence of either text stays, and so does a quotation that is a small part of both. Where a run
    goes on into an edited sentence, it is divided there, unless that would leave a few words.
    """
    if len(blocks) == 0:
        return runs
    return _kept_parts(runs, _by_distance(edited, blocks), bounds, other_bounds, stops, other_stops)


@compiled
def _by_distance(ranges: Any, blocks: Any) -> Any:
    """(b, 3): the blocks of equal words that are no quotation, as `_kept_parts` needs them."""
    number_of = np.zeros(len(ranges), dtype=np.int64)
    for block in range(len(blocks)):
        number_of[blocks[block, 3]] += 1
    found, count = np.empty((len(blocks), 3), dtype=np.int64), 0
    for block in range(len(blocks)):
        left, right, size, owner = blocks[block]
        first, stop, start, end = ranges[owner]
        if number_of[owner] > 1 or 2 * size >= QUOTATION * (stop - first + end - start):
            found[count, 0], found[count, 1], found[count, 2] = right - left, left, left + size
            count += 1
    found = found[:count]
    return found[ascending(found)]


@compiled
def _kept_parts(runs: Any, blocks: Any, bounds: Any, other_bounds: Any, stops: Any, other_stops: Any) -> Any:
    """(m, 4): what is kept of all runs.

    A block has the distance of the words of the document from those of the query, and equal words of the query; blocks
    are in ascending order.
    """
    kept, count = np.empty((len(runs) + 2 * len(blocks), 4), dtype=np.int64), 0
    parts = np.empty((2 * len(blocks) + 1, 3), dtype=np.int64)
    for number in range(len(runs)):
        first, stop, distance = runs[number, 0], runs[number, 1], runs[number, 2] - runs[number, 0]
        size = _divide(first, stop, distance, blocks, bounds, other_bounds, parts)
        whole = False
        for part in range(size):
            start, end, included = parts[part]
            whole |= not included and end - start < LEAST_ANYWHERE and not _has_sentence(bounds, stops, start, end)
        if whole:
            size, parts[0, 0], parts[0, 1], parts[0, 2] = 1, first, stop, False
        if count + size > len(kept):
            kept = np.concatenate((kept, np.empty((len(kept) + size, 4), dtype=np.int64)))
        for part in range(size):
            start, end, included = parts[part]
            others = start + distance, end + distance
            if (
                not included
                or _has_sentence(bounds, stops, start, end)
                or _has_sentence(other_bounds, other_stops, others[0], others[1])
            ):
                kept[count, 0], kept[count, 1], kept[count, 2], kept[count, 3] = start, end, others[0], others[1]
                count += 1
    return kept[:count]


@compiled
def _divide(first: int, stop: int, distance: int, blocks: Any, bounds: Any, other_bounds: Any, parts: Any) -> Any:
    """Write the parts of a run within blocks, and those between, each with whether it is within one; their number.

    A run is divided only where a sentence of either text starts.
    """
    size, place = 0, first
    for block in range(first_at_least(blocks[:, 0], distance), len(blocks)):
        if blocks[block, 0] != distance:
            break
        start, end = max(blocks[block, 1], place), min(blocks[block, 2], stop)
        if start >= end or not (start == first or _starts(bounds, other_bounds, start, distance)):
            continue
        if end == stop or _starts(bounds, other_bounds, end, distance):
            if start > place:
                parts[size, 0], parts[size, 1], parts[size, 2] = place, start, False
                size += 1
            parts[size, 0], parts[size, 1], parts[size, 2] = start, end, True
            size, place = size + 1, end
    if place < stop:
        parts[size, 0], parts[size, 1], parts[size, 2] = place, stop, False
        size += 1
    return size


@compiled
def _starts(bounds: Any, other_bounds: Any, word: int, distance: int) -> Any:
    """Whether a sentence of either text starts at a word of the query."""
    return _contains(bounds, word) or _contains(other_bounds, word + distance)


@compiled
def _contains(ordered: Any, value: int) -> Any:
    place = first_at_least(ordered, value)
    return place < len(ordered) and ordered[place] == value


@compiled
def _has_sentence(bounds: Any, stops: Any, first: int, stop: int) -> Any:
    """Whether a range of words contains a whole sentence, or 8 words between two full stops."""
    sentence = first_at_least(bounds, first)
    if sentence + 1 < len(bounds) and bounds[sentence + 1] <= stop:
        return True
    low, high = first_at_least(stops, first), first_at_least(stops, stop + 1)
    return high - low > 1 and stops[high - 1] - stops[low] >= LEAST_RUN
