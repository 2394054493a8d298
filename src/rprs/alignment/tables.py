"""Tables of 64-bit keys: each distinct key has a number, and the places of the keys are listed by number.

The hashes of words and of sequences of words spread over all bits, so their last bits are places in an open hash table,
and everything takes a time in proportion to the number of keys, without sorting.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled

__all__ = ["Ints", "Keys", "Slots", "Table", "find_key", "group_places", "make_slots", "make_table", "number_keys"]

Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]
Slots = NDArray[np.int32]
Table = tuple[Slots, Keys, Ints]  # slots, distinct keys, the number of each key: its place among the distinct ones


def make_table(keys: Keys) -> Table:
    """A table of k keys: its slots, the distinct keys in the order in which they first occur, and (k,) numbers."""
    slots, distinct, numbers = make_slots(keys)
    return slots, distinct, numbers


@compiled
def make_slots(keys: Any) -> Any:
    """The same within compiled code."""
    size = 4
    while size < 4 * len(keys):
        size *= 2
    slots = np.full(size, -1, dtype=np.int32)  # small, so that more of them fit into the processor's cache
    distinct = np.empty(len(keys), dtype=np.uint64)
    numbers = np.empty(len(keys), dtype=np.int64)
    mask, count = np.uint64(size - 1), 0
    for at in range(len(keys)):
        slot = keys[at] & mask
        while slots[slot] >= 0 and distinct[slots[slot]] != keys[at]:
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] < 0:
            slots[slot], distinct[count] = count, keys[at]
            count += 1
        numbers[at] = slots[slot]
    return slots, distinct[:count].copy(), numbers


@compiled(inline="always")
def find_key(key: Any, slots: Any, distinct: Any) -> Any:
    """The number of a key; -1 if the table does not have it."""
    mask = np.uint64(len(slots) - 1)
    slot = key & mask
    while slots[slot] >= 0 and distinct[slots[slot]] != key:
        slot = (slot + np.uint64(1)) & mask
    return slots[slot]


@compiled
def number_keys(keys: Any, slots: Any, distinct: Any) -> Any:
    """(k,): the numbers of keys in a table; those that it does not have share the next number."""
    numbers = np.empty(len(keys), dtype=np.int64)
    for at in range(len(keys)):
        number = find_key(keys[at], slots, distinct)
        numbers[at] = number if number >= 0 else len(distinct)
    return numbers


@compiled
def group_places(numbers: Any, places: Any, count: int) -> Any:
    """Where the places of each of `count` numbers start, (count + 1,), and the places by number, in their order."""
    starts = np.zeros(count + 1, dtype=np.int64)
    for at in range(len(numbers)):
        starts[numbers[at] + 1] += 1
    for number in range(count):
        starts[number + 1] += starts[number]
    unfilled, grouped = starts[:-1].copy(), np.empty(len(numbers), dtype=np.int64)
    for at in range(len(numbers)):
        grouped[unfilled[numbers[at]]] = places[at]
        unfilled[numbers[at]] += 1
    return starts, grouped
