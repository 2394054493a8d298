"""Runs of words that both texts have: every clause of 8 or more words, wherever it stands.

Sequences of 8 words are looked up by their hashes, verified word by word, and extended as far as both texts agree. One
pass over the query covers every word of it that is part of a common run, and one pass over the document every word of
the document, so a clause that one text repeats is found at all its places. Where a run has many places on the other
side, a bounded number of them is tried: the ones next to the last run, and others at even distances.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rprs.alignment.tables import Ints, Keys, Slots, find_key, group_places, make_slots, make_table, number_keys
from rprs.compiled import compiled
from rprs.once import cached_property
from rprs.scoring.sorting import ascending, first_at_least

__all__ = ["LEAST_ANYWHERE", "LEAST_RUN", "Sequences", "common_runs", "equal_sentences", "find_runs", "window_hashes"]

LEAST_RUN = 8  # words: a shorter run is found only if it is a whole sentence
LEAST_ANYWHERE = 4  # words: a whole sentence of that length is found within a longer one, too
FILTER = np.uint64(2**12)  # entries of a table that excludes most sequences of words
TRIED = 48  # places of one sequence that are extended, at most
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class _Windows(NamedTuple):
    """Sequences of `LEAST_RUN` words: a table of them, and the places of each."""

    slots: Slots
    distinct: Keys
    numbers: Ints  # (w − LEAST_RUN + 1,): which of them is at each word
    starts: Ints
    places: Ints


class _Short(NamedTuple):
    """The s sentences of fewer than `LEAST_RUN` words, and a table of them."""

    starts: Ints  # (s,): the first word of each
    sizes: Ints  # (s,): the number of its words
    hashes: Keys  # (s,)
    slots: Slots
    distinct: Keys
    numbers: Ints  # (s,)


class Sequences:
    """The words of a text with its sentences, and tables of its sequences, which are computed once for many texts."""

    def __init__(self, words: Keys, bounds: Ints) -> None:
        self.words, self.bounds = words, bounds

    @cached_property
    def hashes(self) -> Keys:
        """(5, w): the hash of the words at each word, `LEAST_ANYWHERE` to `LEAST_RUN` of them; 0 near the end."""
        return np.asarray(_all_hashes(self.words, np.ones(len(self.words), dtype=bool)))

    def prepare(self) -> None:
        """Compute what every comparison with another text needs."""
        _ = self.windows, self.short

    @property
    def window_hashes(self) -> Keys:
        """(w − LEAST_RUN + 1,): the hash of the `LEAST_RUN` words at each word."""
        return self.hashes[-1, : max(len(self.words) - LEAST_RUN + 1, 0)]

    @cached_property
    def windows(self) -> _Windows:
        """A table of these hashes."""
        table = make_table(self.window_hashes)
        numbers = table[2]
        return _Windows(*table, *group_places(numbers, np.arange(len(numbers)), len(table[1])))

    @cached_property
    def short(self) -> _Short:
        """Its short sentences."""
        starts, sizes, hashes = _short_sentences(self.words, self.bounds)
        return _Short(starts, sizes, hashes, *make_table(hashes))


def common_runs(query: Sequences, document: Sequences) -> Ints:
    """(r, 3): first word in the query, first word in the document, and number of words of each run, in query order.

    Every word that is part of a common sequence of `LEAST_RUN` words is in a run, on both sides. No run can be
    extended.
    """
    return np.asarray(_distinct(_runs(query.words, query.windows, document.words, document.window_hashes)))


def window_hashes(words: Keys, length: int) -> Keys:
    """(w − length + 1,): a hash of the sequence of words that starts at each word; empty if there are too few."""
    hashes: Keys = _sequence_hashes(words, np.arange(max(len(words) - length + 1, 0)), length)
    return hashes


def equal_sentences(query: Sequences, document: Sequences) -> Ints:
    """(s, 3): sentences of fewer than `LEAST_RUN` words that the other text has, as runs like those of `common_runs`.

    One of `LEAST_ANYWHERE` words or more may stand anywhere in the other text, a shorter one must be a sentence there,
    too. Each is paired with the next place in the other text, counted from the partner of the one before.
    """
    return np.asarray(_equal(query.short, query.hashes, document.short, document.hashes))


# ---------------------------------------------------------------------------- compiled


@compiled(inline="always")
def find_runs(words: Any, windows: Any, short: Any, hashes: Any, others: Any, other_bounds: Any, known: Any) -> Any:
    """(m, 4): ranges of identical words in the query and in another text, of which nothing has been computed.

    `known` says which words of the other text the query has. A short sentence adds nothing if both texts have it within
    a longer run.
    """
    other_hashes = _all_hashes(others, known)
    starts, sizes, keys = _short_sentences(others, other_bounds)
    slots, distinct, numbers = make_slots(keys)
    other_short = _Short(starts, sizes, keys, slots, distinct, numbers)
    other_windows = other_hashes[-1, : max(len(others) - LEAST_RUN + 1, 0)]
    runs = _distinct(_runs(words, windows, others, other_windows))
    equal = _equal(short, hashes, other_short, other_hashes)
    if len(runs) > 0 and len(equal) > 0:
        equal = equal[_outside(equal, runs, len(words), len(others))]
    ranges = np.empty((len(runs) + len(equal), 4), dtype=np.int64)
    for number in range(len(ranges)):
        left, right, size = runs[number] if number < len(runs) else equal[number - len(runs)]
        ranges[number, 0], ranges[number, 1] = left, left + size
        ranges[number, 2], ranges[number, 3] = right, right + size
    return ranges


@compiled
def _distinct(rows: Any) -> Any:
    """All runs, each once, in query order."""
    if len(rows) < 2:
        return rows
    kept, count = np.empty_like(rows), 0
    for number in ascending(rows):
        left, right, size = rows[number]
        if count == 0 or kept[count - 1, 0] != left or kept[count - 1, 1] != right or kept[count - 1, 2] != size:
            kept[count, 0], kept[count, 1], kept[count, 2] = left, right, size
            count += 1
    return kept[:count]


@compiled
def _equal(short: Any, hashes: Any, other_short: Any, other_hashes: Any) -> Any:
    forwards = _find_sentences(short, other_short, other_hashes)
    backwards = _find_sentences(other_short, short, hashes)
    for run in range(len(backwards)):
        backwards[run, 0], backwards[run, 1] = backwards[run, 1], backwards[run, 0]
    return _distinct(np.concatenate((forwards, backwards)))


@compiled
def _outside(short: Any, runs: Any, query_words: int, document_words: int) -> Any:
    """(s,): which short sentences are not within one longer run in each text."""
    ours, theirs = np.zeros(query_words, dtype=np.int64), np.zeros(document_words, dtype=np.int64)
    for run in range(len(runs)):
        left, right, size = runs[run]
        for word in range(size):  # where the furthest run that has a word ends
            ours[left + word] = max(ours[left + word], left + size)
            theirs[right + word] = max(theirs[right + word], right + size)
    outside = np.empty(len(short), dtype=np.bool_)
    for sentence in range(len(short)):
        left, right, size = short[sentence]
        outside[sentence] = ours[left] < left + size or theirs[right] < right + size
    return outside


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
def _all_hashes(words: Any, known: Any) -> Any:
    """(lengths, w): a hash of the words at each word, for each length; 0 where there are too few `known` words."""
    size = len(words)
    hashes = np.zeros((LEAST_RUN - LEAST_ANYWHERE + 1, size), dtype=np.uint64)
    for place in range(size - LEAST_ANYWHERE + 1):
        value = np.uint64(0)
        for at in range(place, min(place + LEAST_RUN, size)):
            if not known[at]:
                break
            value = _next_hash(value, words[at])
            if at - place >= LEAST_ANYWHERE - 1:
                hashes[at - place - LEAST_ANYWHERE + 1, place] = value
    return hashes


@compiled
def _short_sentences(words: Any, bounds: Any) -> Any:
    """Where the sentences of fewer than `LEAST_RUN` words start, their lengths and their hashes."""
    starts = np.empty(len(bounds) - 1, dtype=np.int64)
    sizes = np.empty(len(bounds) - 1, dtype=np.int64)
    hashes = np.empty(len(bounds) - 1, dtype=np.uint64)
    count = 0
    for sentence in range(len(bounds) - 1):
        first, stop = bounds[sentence], bounds[sentence + 1]
        if 0 < stop - first < LEAST_RUN:
            value = np.uint64(0)
            for word in range(first, stop):
                value = _next_hash(value, words[word])
            starts[count], sizes[count], hashes[count] = first, stop - first, value
            count += 1
    return starts[:count], sizes[:count], hashes[:count]


@compiled
def _find_sentences(side: Any, other: Any, hashes: Any) -> Any:
    """(s, 3): short sentences in another text: for each, its next place behind that of the one before, or its first."""
    sought = np.zeros(LEAST_RUN, dtype=np.bool_)
    likely = np.zeros(FILTER, dtype=np.bool_)  # by the last bits of a hash: few others get as far as the table
    for sentence in range(len(side.sizes)):
        sought[side.sizes[sentence]] = True
        likely[side.hashes[sentence] % FILTER] = True
    numbers, places = np.empty(64, dtype=np.int64), np.empty(64, dtype=np.int64)
    count, words = 0, hashes.shape[1]
    for length in range(1, LEAST_RUN):
        if not sought[length]:
            continue
        anywhere = length >= LEAST_ANYWHERE
        for at in range(words - length + 1 if anywhere else len(other.starts)):
            if not anywhere and other.sizes[at] != length:
                continue
            key = hashes[length - LEAST_ANYWHERE, at] if anywhere else other.hashes[at]
            if not likely[key % FILTER]:
                continue
            number = find_key(key, side.slots, side.distinct)
            if number < 0:
                continue
            if count == len(numbers):
                numbers = np.concatenate((numbers, np.empty_like(numbers)))
                places = np.concatenate((places, np.empty_like(places)))
            numbers[count], places[count] = number, at if anywhere else other.starts[at]
            count += 1
    bounds, grouped = group_places(numbers[:count], places[:count], len(side.distinct))
    runs, last, size = np.empty((len(side.starts), 3), dtype=np.int64), np.full(LEAST_RUN, -1, dtype=np.int64), 0
    for sentence in range(len(side.starts)):
        number, length = side.numbers[sentence], side.sizes[sentence]
        own = grouped[bounds[number] : bounds[number + 1]]
        if len(own):
            behind = first_at_least(own, last[length] + 1)
            last[length] = own[behind if behind < len(own) else 0]
            runs[size, 0], runs[size, 1], runs[size, 2] = side.starts[sentence], last[length], length
            size += 1
    return runs[:size]


@compiled
def _runs(words: Any, windows: Any, others: Any, hashes: Any) -> Any:
    """(r, 3): runs that cover every common word of the query, then those that cover every one of the other text."""
    size = len(windows.distinct)
    found = number_keys(hashes, windows.slots, windows.distinct)
    shared = np.zeros(size + 1, dtype=np.bool_)
    theirs = np.flatnonzero(found < size)
    if len(theirs) == 0:
        return np.empty((0, 3), dtype=np.int64)
    for place in theirs:
        shared[found[place]] = True
    ours = np.flatnonzero(shared[windows.numbers])
    starts, places = group_places(found[theirs], theirs, size)
    forwards = _cover(words, others, windows.numbers, ours, starts, places)
    backwards = _cover(others, words, found, theirs, windows.starts, windows.places)
    for run in range(len(backwards)):
        backwards[run, 0], backwards[run, 1] = backwards[run, 1], backwards[run, 0]
    return np.concatenate((forwards, backwards))


@compiled
def _cover(words: Any, others: Any, numbers: Any, common: Any, starts: Any, places: Any) -> Any:
    """(r, 3): runs that cover every word of the `common` windows, with as little overlap as possible."""
    count = 0
    runs = np.empty((16, 3), dtype=np.int64)
    at, expected = 0, 0  # at: a place in `common`; expected: where the last run ended on the other side
    while at < len(common):
        number = numbers[common[at]]
        same = places[starts[number] : starts[number + 1]]
        run, other, length = _longest(words, others, same, common[at], expected)
        if length == 0:  # other words with the same hash
            at += 1
            continue
        if count == len(runs):
            runs = np.concatenate((runs, np.empty_like(runs)))
        runs[count, 0], runs[count, 1], runs[count, 2] = run, other, length
        count += 1
        expected = other + length
        # the next run starts behind this one, or as late as possible if it covers the words behind this one
        behind = first_at_least(common, run + length + 1)
        before = behind - 1
        at = before if before > at and common[before] + LEAST_RUN > run + length else max(behind, at + 1)
    return runs[:count]


@compiled
def _longest(words: Any, others: Any, places: Any, at: int, expected: int) -> Any:
    """The longest run through the sequence at `at`: its first word, its first word on the other side, its length."""
    best_run, best_other, best_length, best_distance = at, 0, 0, 0
    size = len(places)
    near = first_at_least(places, expected)
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
