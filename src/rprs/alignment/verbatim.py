"""Runs of words that both texts have: every clause of 8 or more words, wherever it stands.

Sequences of 8 words are looked up by their hashes, verified word by word, and extended as far as both texts agree. One
pass over the query covers every word of it that is part of a common run, and one pass over the document every word of
the document, so a clause that one text repeats is found at all its places. Where a run has many places on the other
side, a bounded number of them is tried: the ones next to the last run, and others at even distances.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled
from rprs.once import cached_property

__all__ = [
    "LEAST_ANYWHERE",
    "LEAST_RUN",
    "Sequences",
    "ShortSentences",
    "common_runs",
    "equal_sentences",
    "window_hashes",
]

Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]

LEAST_RUN = 8  # words: a shorter run is found only if it is a whole sentence
LEAST_ANYWHERE = 4  # words: a whole sentence of that length is found within a longer one, too
TRIED = 48  # places of one sequence that are extended, at most
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class Sequences:
    """The words of a text with its sentences, and tables of its sequences, which are computed once for many texts."""

    def __init__(self, words: Hashes, bounds: Ints) -> None:
        self.words, self.bounds = words, bounds

    @cached_property
    def _hashes(self) -> Hashes:
        return np.asarray(_all_hashes(self.words))

    def hashes(self, length: int) -> Hashes:
        """(w − length + 1,): the hash of the words at each word, `LEAST_ANYWHERE` to `LEAST_RUN` of them."""
        return self._hashes[length - LEAST_ANYWHERE, : max(len(self.words) - length + 1, 0)]

    def prepare(self) -> None:
        """Compute what every comparison with another text needs."""
        _ = self.sorted_windows, self.filter, self.short

    @property
    def windows(self) -> Hashes:
        """The hash of the `LEAST_RUN` words at each word."""
        return self.hashes(LEAST_RUN)

    @cached_property
    def sorted_windows(self) -> tuple[Hashes, Ints]:
        """These hashes in ascending order, and where each is."""
        order = np.argsort(self.windows, kind="stable")
        return self.windows[order], order

    @cached_property
    def filter(self) -> NDArray[np.bool_]:
        """Which values the first bits of these hashes have: most words of other texts need no further look."""
        return _bits(self.windows)

    @cached_property
    def short(self) -> dict[int, ShortSentences]:
        """Its sentences of fewer than `LEAST_RUN` words, by length."""
        sizes = np.diff(self.bounds)
        starts = {length: self.bounds[:-1][sizes == length] for length in range(1, LEAST_RUN)}
        return {
            length: ShortSentences(places, _sequence_hashes(self.words, places, length))
            for length, places in starts.items()
            if len(places)
        }


class ShortSentences:
    """Where the sentences of one length start, with their hashes and what is needed to find them in other texts."""

    def __init__(self, starts: Ints, hashes: Hashes) -> None:
        self.starts, self.hashes = starts, hashes

    @cached_property
    def distinct(self) -> Hashes:
        """The hashes, sorted, each once."""
        return np.unique(self.hashes)

    @cached_property
    def filter(self) -> NDArray[np.bool_]:
        """Which values the first bits of the hashes have."""
        return _bits(self.hashes)


def common_runs(query: Sequences, document: Sequences) -> Ints:
    """(r, 3): first word in the query, first word in the document, and number of words of each run, in query order.

    Every word that is part of a common sequence of `LEAST_RUN` words is in a run, on both sides. No run can be
    extended.
    """
    windows, places = query.sorted_windows
    ours, theirs = _shared(document.windows, query.filter, windows, places)
    if not len(theirs):
        return np.empty((0, 3), dtype=np.int64)
    forwards = _cover(query.words, document.words, query.windows, ours, *_sorted(document.windows, theirs))
    backwards = _cover(document.words, query.words, document.windows, theirs, windows, places)
    return _distinct(forwards, backwards[:, [1, 0, 2]])


def window_hashes(words: Hashes, length: int) -> Hashes:
    """(w − length + 1,): a hash of the sequence of words that starts at each word; empty if there are too few."""
    hashes: Hashes = _sequence_hashes(words, np.arange(max(len(words) - length + 1, 0)), length)
    return hashes


def equal_sentences(query: Sequences, document: Sequences) -> Ints:
    """(s, 3): sentences of fewer than `LEAST_RUN` words that the other text has, as runs like those of `common_runs`.

    One of `LEAST_ANYWHERE` words or more may stand anywhere in the other text, a shorter one must be a sentence there,
    too. Each is paired with the next place in the other text, counted from the partner of the one before.
    """
    return _distinct(_find_sentences(query, document), _find_sentences(document, query)[:, [1, 0, 2]])


def _distinct(*runs: Ints) -> Ints:
    """All runs, each once, in query order."""
    rows = np.concatenate(runs)
    rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = np.any(rows[1:] != rows[:-1], axis=1)
    return rows[new]


def _find_sentences(side: Sequences, other: Sequences) -> Ints:
    pieces = [np.empty((0, 3), dtype=np.int64)]
    for length, sentences in side.short.items():
        if length >= LEAST_ANYWHERE:
            places = _find(other.hashes(length), sentences.distinct, sentences.filter)
            hashes = other.hashes(length)[places]
        elif length in other.short:
            places, hashes = other.short[length].starts, other.short[length].hashes
        else:
            continue
        if len(places):
            order = np.argsort(hashes, kind="stable")
            pieces.append(_next_places(sentences.hashes, sentences.starts, hashes[order], places[order], length))
    return np.concatenate(pieces)


def _bits(hashes: Hashes) -> NDArray[np.bool_]:
    """Which values the first bits of hashes have; with 16 values for each hash, few others share one."""
    bits = min(max(len(hashes) * 16, 2).bit_length(), 24)
    present = np.zeros(1 << bits, dtype=bool)
    present[hashes >> np.uint64(64 - bits)] = True
    return present


def _sorted(windows: Hashes, places: Ints) -> tuple[Hashes, Ints]:
    order = np.argsort(windows[places], kind="stable")
    return windows[places[order]], places[order]


# ---------------------------------------------------------------------------- compiled


@compiled
def _sequence_hashes(words: Any, places: Any, length: int) -> Any:
    """(p,): a hash of the words at each place."""
    hashes = np.empty(len(places), dtype=np.uint64)
    for at in range(len(places)):
        value = np.uint64(0)
        for word in range(places[at], places[at] + length):
            value = _next_hash(value, words[word])
        hashes[at] = value
    return hashes


@compiled(inline="always")
def _next_hash(value: Any, word: Any) -> Any:
    value = (value ^ word) * _FACTOR
    return value ^ (value >> np.uint64(31))


@compiled
def _log2(size: int) -> int:
    bits = 0
    while 1 << bits < size:
        bits += 1
    return bits


@compiled
def _shared(windows: Any, present: Any, sorted_others: Any, other_places: Any) -> Any:
    """The places in another text of the windows that both have, and their places in this one, both ascending."""
    places = np.empty(len(windows), dtype=np.int64)
    others = np.zeros(len(sorted_others), dtype=np.bool_)
    count, shift = 0, np.uint64(64 - _log2(len(present)))
    for at in range(len(windows)):
        if present[windows[at] >> shift]:
            found = np.searchsorted(sorted_others, windows[at])
            if found < len(sorted_others) and sorted_others[found] == windows[at]:
                places[count] = at
                count += 1
                while (
                    found < len(sorted_others)
                    and sorted_others[found] == windows[at]
                    and not others[other_places[found]]
                ):
                    others[other_places[found]] = True
                    found += 1
    return np.flatnonzero(others), places[:count]


@compiled
def _all_hashes(words: Any) -> Any:
    """(lengths, w): a hash of the words at each word, for each length; 0 where there are too few words."""
    size = len(words)
    hashes = np.zeros((LEAST_RUN - LEAST_ANYWHERE + 1, size), dtype=np.uint64)
    for place in range(size - LEAST_ANYWHERE + 1):
        value = np.uint64(0)
        for at in range(place, min(place + LEAST_RUN, size)):
            value = _next_hash(value, words[at])
            if at - place >= LEAST_ANYWHERE - 1:
                hashes[at - place - LEAST_ANYWHERE + 1, place] = value
    return hashes


@compiled
def _find(hashes: Any, sought: Any, present: Any) -> Any:
    """The places of some hashes, given in ascending order."""
    places = np.empty(len(hashes), dtype=np.int64)
    count, shift = 0, np.uint64(64 - _log2(len(present)))
    for at in range(len(hashes)):
        if present[hashes[at] >> shift]:
            found = np.searchsorted(sought, hashes[at])
            if found < len(sought) and sought[found] == hashes[at]:
                places[count] = at
                count += 1
    return places[:count]


@compiled
def _next_places(sought: Any, starts: Any, hashes: Any, places: Any, length: int) -> Any:
    """(s, 3): for each sequence, its next place behind that of the one before, or its first."""
    runs = np.empty((len(sought), 3), dtype=np.int64)
    count, last = 0, -1
    for at in range(len(sought)):
        low = np.searchsorted(hashes, sought[at], side="left")
        high = np.searchsorted(hashes, sought[at], side="right")
        if low == high:
            continue
        behind = low + np.searchsorted(places[low:high], last, side="right")
        last = places[behind if behind < high else low]
        runs[count, 0], runs[count, 1], runs[count, 2] = starts[at], last, length
        count += 1
    return runs[:count]


@compiled
def _cover(words: Any, others: Any, windows: Any, common: Any, sorted_windows: Any, places: Any) -> Any:
    """(r, 3): runs that cover every word of the `common` windows, with as little overlap as possible."""
    count = 0
    runs = np.empty((16, 3), dtype=np.int64)
    at, expected = 0, 0  # at: a place in `common`; expected: where the last run ended on the other side
    while at < len(common):
        low = np.searchsorted(sorted_windows, windows[common[at]], side="left")
        high = np.searchsorted(sorted_windows, windows[common[at]], side="right")
        run, other, length = _longest(words, others, places[low:high], common[at], expected)
        if length == 0:  # other words with the same hash
            at += 1
            continue
        if count == len(runs):
            runs = np.concatenate((runs, np.empty_like(runs)))
        runs[count, 0], runs[count, 1], runs[count, 2] = run, other, length
        count += 1
        expected = other + length
        # the next run starts behind this one, or as late as possible if it covers the words behind this one
        behind = np.searchsorted(common, run + length + 1)
        before = behind - 1
        at = before if before > at and common[before] + LEAST_RUN > run + length else max(behind, at + 1)
    return runs[:count]


@compiled
def _longest(words: Any, others: Any, places: Any, at: int, expected: int) -> Any:
    """The longest run through the sequence at `at`: its first word, its first word on the other side, its length."""
    best_run, best_other, best_length, best_distance = at, 0, 0, 0
    size = len(places)
    near = np.searchsorted(places, expected)
    for attempt in range(size):
        if attempt >= TRIED and best_length > 0:
            break
        if size <= TRIED or attempt >= TRIED:
            place = places[attempt]
        elif attempt < TRIED // 2:  # next to the last run
            place = places[min(max(near + attempt - TRIED // 4, 0), size - 1)]
        else:
            place = places[(attempt - TRIED // 2) * size // (TRIED - TRIED // 2)]
        start, other = at, place
        while start > 0 and other > 0 and words[start - 1] == others[other - 1]:
            start -= 1
            other -= 1
        stop = at
        while stop < len(words) and place + stop - at < len(others) and words[stop] == others[place + stop - at]:
            stop += 1
        if stop - at < LEAST_RUN:
            continue  # another sequence with the same hash
        distance = abs(other - expected)
        if stop - start > best_length or (stop - start == best_length and distance < best_distance):
            best_run, best_other, best_length, best_distance = start, other, stop - start, distance
    return best_run, best_other, best_length
