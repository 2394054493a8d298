"""Sentences that were edited: the word-level alignment of those with enough words in common, compiled.

Two sequences of m and n words are as similar as 2c / (m + n), where c is the length of their longest common
subsequence. A sentence is compared with its candidates in the other text, and also with two or three neighbouring
sentences there, so that one that was split or joined is found.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.candidates import LEAST_SIMILARITY
from rprs.alignment.subsequence import common_length, equal_blocks
from rprs.alignment.tables import Ints
from rprs.alignment.versions import GROUP_PENALTY
from rprs.compiled import compiled
from rprs.scoring.sorting import ascending

__all__ = ["Edited", "find_edited"]

MEMBER_SHARE = 0.5  # of the words of each sentence of a group are equal, at least


class Edited(NamedTuple):
    """The e edited sentences, or groups of neighbouring ones, of two texts, and their b blocks of equal words."""

    ranges: Ints  # (e, 4): first word and stop in the query, then in the document
    similarity: NDArray[np.float64]  # (e,)
    blocks: Ints  # (b, 4): word of the query, word of the document, number of words, number of the edited sentence


@compiled(inline="always")
def find_edited(
    versions: Any, opened: Any, other_opened: Any, bounds: Any, other_bounds: Any, ours: Any, theirs: Any, runs: Any
) -> Any:
    """The columns of `Edited`: the best version of each open sentence, in both directions, that is not identical.

    `ours` and `theirs` are the words of both texts as numbers; `runs` are the identical runs.
    """
    ranges, found = np.empty((len(versions), 4), dtype=np.int64), np.empty(len(versions))
    blocks, count, size = np.empty((max(len(versions), 1), 4), dtype=np.int64), 0, 0
    slots = np.zeros(max(_greatest(ours), _greatest(theirs)) + 1, dtype=np.int64)
    chosen = _choose(versions, opened.copy(), other_opened.copy(), bounds, other_bounds, ours, theirs, slots)
    for number in ascending(versions[chosen]):
        words = _words_of(versions[chosen[number]], bounds, other_bounds)
        first, stop, start, end = words
        equal = equal_blocks(ours[first:stop], theirs[start:end], slots)
        similarity = 2 * equal[:, 2].sum() / (stop - first + end - start)
        if similarity == 1 or (len(equal) == 1 and _is_run_with_more(equal[0], words, runs)):
            continue
        while size + len(equal) > len(blocks):
            blocks = np.concatenate((blocks, np.empty_like(blocks)))
        for block in range(len(equal)):
            blocks[size, 0], blocks[size, 1] = first + equal[block, 0], start + equal[block, 1]
            blocks[size, 2], blocks[size, 3] = equal[block, 2], count
            size += 1
        ranges[count, 0], ranges[count, 1], ranges[count, 2], ranges[count, 3] = first, stop, start, end
        found[count] = similarity
        count += 1
    return ranges[:count], found[:count], blocks[:size]


@compiled
def _choose(
    versions: Any, wanted: Any, others: Any, bounds: Any, other_bounds: Any, ours: Any, theirs: Any, slots: Any
) -> Any:
    """The numbers of versions, the most similar first, each with a sentence that has no better one.

    `wanted` and `others` say which sentences of both texts look for a version; in the end, which still do.
    """
    values, keys = np.empty(len(versions)), np.empty((len(versions), 1))
    for number in range(len(versions)):
        first, stop, start, end = _words_of(versions[number], bounds, other_bounds)
        total = stop - first + end - start
        common = common_length(ours[first:stop], theirs[start:end], slots) if total else 0
        values[number] = 1.0 - (total - 2 * common) / total if total else 1.0
        if _is_group(versions[number]):
            values[number] -= GROUP_PENALTY
        keys[number, 0] = -values[number]
    chosen, count = np.empty(len(versions), dtype=np.int64), 0
    for number in ascending(keys):
        if not values[number] > LEAST_SIMILARITY:
            break
        left, right, low, high = versions[number]
        if not (np.any(wanted[left:right]) or np.any(others[low:high])):
            continue
        if _is_group(versions[number]):
            first, stop, start, end = _words_of(versions[number], bounds, other_bounds)
            equal = equal_blocks(ours[first:stop], theirs[start:end], slots)
            if not (
                _is_balanced(equal[:, 0], equal[:, 2], first, bounds[left : right + 1])
                and _is_balanced(equal[:, 1], equal[:, 2], start, other_bounds[low : high + 1])
            ):
                continue
        wanted[left:right] = False
        others[low:high] = False
        chosen[count] = number
        count += 1
    return chosen[:count]


@compiled(inline="always")
def _is_group(version: Any) -> Any:
    """Whether either side has several sentences."""
    return version[1] - version[0] + version[3] - version[2] > 2


@compiled
def _words_of(version: Any, bounds: Any, other_bounds: Any) -> Any:
    """First word and stop of a version in the query, then in the document."""
    return bounds[version[0]], bounds[version[1]], other_bounds[version[2]], other_bounds[version[3]]


@compiled
def _is_balanced(starts: Any, sizes: Any, offset: Any, bounds: Any) -> Any:
    """Whether each sentence of a group contributes: at least `MEMBER_SHARE` of its words are equal.

    Equal words start at `starts`, counted from the word `offset`.
    """
    for sentence in range(len(bounds) - 1):
        first, stop, equal = bounds[sentence], bounds[sentence + 1], 0
        for block in range(len(starts)):
            start = offset + starts[block]
            equal += max(0, min(start + sizes[block], stop) - max(start, first))
        if equal < MEMBER_SHARE * (stop - first):
            return False
    return True


@compiled
def _is_run_with_more(block: Any, words: Any, runs: Any) -> Any:
    """Whether one side is an identical run as a whole, and the other has more words before or behind it."""
    first, stop, start, end = words
    left, right, size = first + block[0], start + block[1], block[2]
    if size != stop - first and size != end - start:
        return False
    for run in range(len(runs)):
        if runs[run, 0] <= left and left + size <= runs[run, 1] and runs[run, 2] - runs[run, 0] == right - left:
            return True
    return False


@compiled
def _greatest(numbers: Any) -> Any:
    return numbers.max() if len(numbers) else 0
