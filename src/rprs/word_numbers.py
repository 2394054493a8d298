"""Words of texts as numbers, without a Python string for each word.

Cutting a text into strings and looking each up in a dictionary takes several times as long as this hash table, whose
keys are the characters themselves. Words are numbered in the order in which they first occur. The hash starts from a
random number, so that nobody can prepare words that collide; the numbers do not depend on it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled

__all__ = ["WordNumbers", "word_edges"]

Ints = NDArray[np.int64]

_SEED = np.uint64(int.from_bytes(os.urandom(8), "little"))
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_WORDS, _CHARACTERS = 2**12, 2**16  # for how many there is room at first
_SEPARATOR, _EDGE = 1, 2
_HEAD = 2  # what is stored before the characters of a word: its number and their number
_LOW = np.uint64(2**32 - 1)
_SIZE, _USED, _AT, _TEXT, _COUNT, _LENGTH = range(6)  # what is where in the state of a call


def word_edges(separators: Iterable[str], edges: Iterable[str] = ()) -> NDArray[np.uint8]:
    """What `WordNumbers` needs to know of characters: which are between words, and which are no part of their ends."""
    kinds = dict.fromkeys(map(ord, edges), _EDGE) | dict.fromkeys(map(ord, separators), _SEPARATOR)
    table = np.zeros(max(kinds) + 2, dtype=np.uint8)
    table[list(kinds)] = list(kinds.values())
    return table


class WordNumbers:
    """Numbers words from 0 on; one thread at a time may use it. A word of nothing but edges has no number."""

    def __init__(self, edges: NDArray[np.uint8]) -> None:
        self._edges = edges
        self._size, self._used = 0, 0
        self._slots = np.zeros(2 * _WORDS, dtype=np.uint64)  # half a hash, and where a word is stored, from 1 on
        self._hashes = np.empty(_WORDS, dtype=np.uint64)
        self._places = np.empty((_WORDS, 2), dtype=np.int64)  # of each word where it was first found
        self._stored = np.empty(_CHARACTERS, dtype=np.uint32)

    def __len__(self) -> int:
        return self._size

    @property
    def characters(self) -> int:
        """The number of characters of all words."""
        return self._used - _HEAD * self._size

    def __call__(self, codes: NDArray[np.uint32], bounds: Ints) -> tuple[Ints, Ints]:
        """The numbers of all words of texts, and where those of each text start; `bounds` are the texts' places."""
        found = np.empty(len(codes) // 2 + len(bounds), dtype=np.int64)
        starts = np.zeros(len(bounds), dtype=np.int64)
        state = np.array([self._size, self._used, bounds[0], 0, 0, 0], dtype=np.int64)
        done = False
        while not done:
            own = (self._slots, self._hashes, self._places, self._stored)
            done = _number(codes, bounds, self._edges, _SEED, *own, found, starts, state)
            self._size, self._used = int(state[_SIZE]), int(state[_USED])
            if not done:
                self._grow(int(state[_LENGTH]))
        return found[: state[_COUNT]], starts

    def new(self, text: str, known: int) -> list[str]:
        """The words that were found in the last call, from number `known` on; `text` is the same in characters."""
        return [text[start:end] for start, end in self._places[known : self._size].tolist()]

    def _grow(self, length: int) -> None:
        """Make room for twice as many words, or characters: at least those of a word of this length."""
        if self._size == len(self._hashes):
            self._hashes = _resized(self._hashes, 2 * self._size, self._size)
            self._places = _resized(self._places, 2 * self._size, self._size)
            self._slots = np.zeros(2 * len(self._hashes), dtype=np.uint64)
            _fill(self._hashes[: self._size], self._stored, self._slots)
        else:
            room = max(2 * len(self._stored), self._used + _HEAD + length)
            self._stored = _resized(self._stored, room, self._used)


def _resized(values: NDArray[Any], size: int, used: int) -> NDArray[Any]:
    resized = np.empty((size, *values.shape[1:]), dtype=values.dtype)
    resized[:used] = values[:used]
    return resized


@compiled
def _slot(value, place):  # type: ignore[no-untyped-def]
    """What a slot holds: the upper half of the hash, and the place and 1."""
    return (value & ~_LOW) | np.uint64(place + 1)


@compiled
def _fill(hashes, stored, slots):  # type: ignore[no-untyped-def]
    mask, place = np.uint64(len(slots) - 1), 0
    for value in hashes:
        at = value & mask
        while slots[at]:
            at = (at + np.uint64(1)) & mask
        slots[at] = _slot(value, place)
        place += _HEAD + stored[place + 1]


@compiled
def _same(codes, start, end, stored, place):  # type: ignore[no-untyped-def]
    """Whether the word at a place of the table is that from start to end."""
    if stored[place + 1] != end - start:
        return False
    for distance in range(end - start):  # noqa: SIM110  # Numba does not compile `all`
        if codes[start + distance] != stored[place + _HEAD + distance]:
            return False
    return True


@compiled
def _number(  # type: ignore[no-untyped-def]
    codes, bounds, edges, seed, slots, hashes, places, stored, found, starts, state
):
    """Number the words of texts from the state on; whether all are done, or there is no room for a new word."""
    size, used, at, text, count = state[_SIZE], state[_USED], state[_AT], state[_TEXT], state[_COUNT]
    mask, last = np.uint64(len(slots) - 1), np.uint32(len(edges) - 1)
    complete = True
    while complete and text < len(bounds) - 1:
        stop = bounds[text + 1]
        while at < stop:
            if edges[min(codes[at], last)] & _SEPARATOR:
                at += 1
                continue
            begin = start = at
            while at < stop and edges[min(codes[at], last)] & _SEPARATOR == 0:
                at += 1
            end = at
            while start < end and edges[min(codes[start], last)]:
                start += 1
            while start < end and edges[min(codes[end - 1], last)]:
                end -= 1
            if start == end:
                continue
            value = seed
            for place in range(start, end):
                value = (value ^ np.uint64(codes[place])) * _FACTOR
            value ^= value >> np.uint64(29)
            slot, number = value & mask, -1
            while slots[slot] and number < 0:
                word = np.int64(slots[slot] & _LOW) - 1
                if slots[slot] == _slot(value, word) and _same(codes, start, end, stored, word):
                    number = int(stored[word])
                else:
                    slot = (slot + np.uint64(1)) & mask
            if number < 0:
                if size == len(hashes) or used + _HEAD + end - start > len(stored):
                    complete, at, state[_LENGTH] = False, begin, end - start
                    break
                number = size
                slots[slot], hashes[size], places[size, 0], places[size, 1] = _slot(value, used), value, start, end
                stored[used], stored[used + 1] = number, end - start
                for place in range(end - start):
                    stored[used + _HEAD + place] = codes[start + place]
                size, used = size + 1, used + _HEAD + end - start
            found[count] = number
            count += 1
        if complete:
            text += 1
            starts[text] = count
    state[_SIZE], state[_USED], state[_AT], state[_TEXT], state[_COUNT] = size, used, at, text, count
    return complete
