"""Runs of words that both texts have: every clause of 8 or more words, wherever it stands.

Sequences of 8 words are looked up by their hashes, verified word by word, and extended as far as both texts agree. One
pass over the query covers every word of it that is part of a common run, and one pass over the document every word of
the document, so a clause that one text repeats is found at all its places. Where a run has many places on the other
side, a bounded number of them is tried: the ones next to the last run, and others at even distances.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["LEAST_RUN", "common_runs", "equal_sentences", "window_hashes"]

Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]

LEAST_RUN = 8  # words: a shorter run is found only if it is a whole sentence
LEAST_ANYWHERE = 4  # words: a whole sentence of that length is found within a longer one, too
TRIED = 48  # places of one sequence that are extended, at most
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def common_runs(query: Hashes, document: Hashes) -> Ints:
    """(r, 3): first word in the query, first word in the document, and number of words of each run, in query order.

    Every word that is part of a common sequence of `LEAST_RUN` words is in a run, on both sides. No run can be
    extended.
    """
    if len(query) < LEAST_RUN or len(document) < LEAST_RUN:
        return np.empty((0, 3), dtype=np.int64)
    query_windows, document_windows = window_hashes(query), window_hashes(document)
    forwards = _cover(query, document, query_windows, *_sorted(document_windows))
    backwards = _cover(document, query, document_windows, *_sorted(query_windows))[:, [1, 0, 2]]
    return np.unique(np.concatenate([forwards, backwards]), axis=0)


def window_hashes(words: Hashes, length: int = LEAST_RUN) -> Hashes:
    """(w − length + 1,): a hash of the sequence of words that starts at each word; empty if there are too few."""
    size = max(len(words) - length + 1, 0)
    hashes = np.zeros(size, dtype=np.uint64)
    for place in range(length if size else 0):
        hashes = (hashes ^ words[place : place + size]) * _FACTOR
        hashes ^= hashes >> np.uint64(31)
    return hashes


def equal_sentences(query: Hashes, document: Hashes, query_bounds: Ints, document_bounds: Ints) -> Ints:
    """(s, 3): sentences of fewer than `LEAST_RUN` words that the other text has, as runs like those of `common_runs`.

    One of `LEAST_ANYWHERE` words or more may stand anywhere in the other text, a shorter one must be a sentence there,
    too. Each is paired with the next place in the other text, counted from the partner of the one before.
    """
    forwards = _find_sentences(query, query_bounds, document, document_bounds)
    backwards = _find_sentences(document, document_bounds, query, query_bounds)[:, [1, 0, 2]]
    return np.unique(np.concatenate([forwards, backwards]), axis=0)


def _find_sentences(words: Hashes, bounds: Ints, others: Hashes, other_bounds: Ints) -> Ints:
    sizes, other_sizes = np.diff(bounds), np.diff(other_bounds)
    pieces = [np.empty((0, 3), dtype=np.int64)]
    for length in range(1, LEAST_RUN):
        starts = bounds[:-1][sizes == length]
        windows = window_hashes(others, length)
        anywhere = length >= LEAST_ANYWHERE
        places = np.arange(len(windows)) if anywhere else other_bounds[:-1][other_sizes == length]
        if not len(starts) or not len(places):
            continue
        sought = window_hashes(words, length)[starts]
        places = places[np.isin(windows[places], sought)]
        order = np.argsort(windows[places], kind="stable")
        pieces.append(_next_places(sought, starts, windows[places][order], places[order], length))
    return np.concatenate(pieces)


@numba.njit(nogil=True, cache=True)
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


def _sorted(windows: Hashes) -> tuple[Hashes, Ints]:
    order = np.argsort(windows, kind="stable")
    return windows[order], order


@numba.njit(nogil=True, cache=True)
def _cover(words: Any, others: Any, windows: Any, sorted_windows: Any, places: Any) -> Any:
    """(r, 3): runs that cover every word that is part of a common sequence, with as little overlap as possible."""
    size, count = len(windows), 0
    runs = np.empty((16, 3), dtype=np.int64)
    at, covered, expected = 0, 0, 0  # covered: the end of the last run; expected: where it ended on the other side
    while at < size:
        run, other, length = at, 0, 0
        low = np.searchsorted(sorted_windows, windows[at], side="left")
        high = np.searchsorted(sorted_windows, windows[at], side="right")
        if high > low:
            run, other, length = _longest(words, others, places[low:high], at, expected)
        if length == 0:
            at += 1
            continue
        if count == len(runs):
            runs = np.concatenate((runs, np.empty_like(runs)))
        runs[count, 0], runs[count, 1], runs[count, 2] = run, other, length
        count += 1
        covered, expected = run + length, other + length
        at = _next_place(windows, sorted_windows, covered, at)
    return runs[:count]


@numba.njit(nogil=True, cache=True)
def _next_place(windows: Any, sorted_windows: Any, covered: int, at: int) -> int:
    """The last sequence that continues a run with as few of its words as possible, or the first one behind it."""
    for place in range(min(covered, len(windows) - 1), max(covered - LEAST_RUN, at), -1):
        found = np.searchsorted(sorted_windows, windows[place])
        if found < len(sorted_windows) and sorted_windows[found] == windows[place]:
            return place
    return covered + 1


@numba.njit(nogil=True, cache=True)
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
