"""The longest common subsequence of two sequences of words, by bits (Hyyrö 2004), compiled.

Words are numbers. `slots` has a 0 for each number that either sequence has, before and after.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rprs.compiled import compiled

__all__ = ["BITS", "common_length", "equal_blocks"]

BITS = 64  # words of a sequence that are compared at once


@compiled
def common_length(left: Any, right: Any, slots: Any) -> Any:
    """The length of the longest common subsequence."""
    if len(left) > len(right):
        left, right = right, left
    row = _rows(left, right, slots, False)[0]
    count = 0
    for place in range(len(left)):
        count += not _has_bit(row, place)
    return count


@compiled
def equal_blocks(left: Any, right: Any, slots: Any) -> Any:
    """(b, 3): places in both sequences and numbers of words of the runs that make up the longest common subsequence.

    Of several such sequences, this is the one that rapidfuzz's `Indel.editops` finds.
    """
    prefix, suffix = 0, 0
    shorter = min(len(left), len(right))
    while prefix < shorter and left[prefix] == right[prefix]:
        prefix += 1
    while suffix < shorter - prefix and left[-1 - suffix] == right[-1 - suffix]:
        suffix += 1
    column, row = len(left) - prefix - suffix, len(right) - prefix - suffix
    rows = _rows(left[prefix : prefix + column], right[prefix : prefix + row], slots, True)
    blocks, count = np.empty((shorter + 2, 3), dtype=np.int64), 0
    if suffix:
        blocks[0, 0], blocks[0, 1], blocks[0, 2], count = prefix + column, prefix + row, suffix, 1
    while row > 0 and column > 0:
        if _has_bit(rows[row - 1], column - 1):  # a word of the left sequence alone
            column -= 1
            continue
        row -= 1
        if row > 0 and not _has_bit(rows[row - 1], column - 1):  # one of the right sequence alone
            continue
        column -= 1
        count = _add_before(blocks, count, prefix + column, prefix + row, 1)
    if prefix:
        count = _add_before(blocks, count, 0, 0, prefix)
    return blocks[:count][::-1]


@compiled
def _add_before(blocks: Any, count: int, left: int, right: int, size: int) -> Any:
    """Add equal words before all others, to the first block if they adjoin it; the number of blocks."""
    if count and blocks[count - 1, 0] == left + size and blocks[count - 1, 1] == right + size:
        count -= 1
        size += blocks[count, 2]
    blocks[count, 0], blocks[count, 1], blocks[count, 2] = left, right, size
    return count + 1


@compiled
def _rows(left: Any, right: Any, slots: Any, kept: bool) -> Any:
    """(r, b): a bit for each word of `left`, after each word of `right` if they are `kept`, else after the last.

    A bit is 0 where one more word of `left` makes the common subsequence longer.
    """
    count = 0
    for place in range(len(left)):
        if slots[left[place]] == 0:
            count += 1
            slots[left[place]] = count
    masks = np.zeros((count + 1, (len(left) + BITS - 1) // BITS), dtype=np.uint64)
    for place in range(len(left)):
        masks[slots[left[place]], place // BITS] |= np.uint64(1) << np.uint64(place % BITS)
    rows = np.full((max(len(right), 1) if kept else 1, masks.shape[1]), ~np.uint64(0))
    for place in range(len(right)):
        mask, carry = masks[slots[right[place]]], np.uint64(0)
        last, row = (rows[max(place - 1, 0)], rows[place]) if kept else (rows[0], rows[0])
        for block in range(len(row)):
            value = last[block]
            same = value & mask[block]
            added = value + same
            total = added + carry
            carry = np.uint64(added < value or total < added)
            row[block] = total | (value - same)
    for place in range(len(left)):
        slots[left[place]] = 0
    return rows


@compiled(inline="always")
def _has_bit(row: Any, place: Any) -> Any:
    return (row[place // BITS] >> np.uint64(place % BITS)) & np.uint64(1) != np.uint64(0)
