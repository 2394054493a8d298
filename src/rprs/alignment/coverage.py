"""Coverage in words: how many words of a text are in pairs, each counted once, by the strongest kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from rprs.alignment.tables import Ints
from rprs.alignment.values import KINDS, Coverage, Kind, Span
from rprs.alignment.words import Words
from rprs.compiled import compiled

__all__ = ["COUNTS", "count_words", "cover", "coverage_of"]

_STRENGTH = {kind: len(KINDS) - number for number, kind in enumerate(KINDS)}  # from 1 for the weakest kind
_LEFT_OUT = len(KINDS) + 1  # stronger than any kind
COUNTS = _LEFT_OUT + 1  # strengths, from 0 for words outside of all ranges


def cover(words: Words, matched: Iterable[tuple[Kind, Span]], left_out: Iterable[Span] = ()) -> Coverage:
    """The coverage of a text by spans of some kinds; the words of spans that are left out do not count at all."""
    spans = [(_STRENGTH[kind], *span) for kind, span in matched] + [(_LEFT_OUT, *span) for span in left_out]
    covers = np.array(spans, dtype=np.int64).reshape(-1, 3)
    covers[:, 1:] = np.searchsorted(words.starts, covers[:, 1:])  # the words that start within a span
    return _coverage(len(words), covers)


def _coverage(words: int, covers: Ints) -> Coverage:
    """From strengths with the first word and the stop of each."""
    return coverage_of(_count(words, covers).tolist())


def coverage_of(counts: Sequence[int]) -> Coverage:
    """From the number of words of each strength."""
    found = {kind: counts[strength] for kind, strength in _STRENGTH.items()}
    return Coverage(
        sum(counts) - counts[_LEFT_OUT],
        identical=found["identical"],
        reworded=found["reworded"],
        same_idea=found["same idea"],
    )


@compiled
def count_words(words: int, kinds: Any, ranges: Any) -> Any:
    """(COUNTS,): how many of a number of words have each strength, by ranges (m, 2) of them.

    The kinds (m,) are places in KINDS.
    """
    covers = np.empty((len(kinds), 3), dtype=np.int64)
    for number in range(len(kinds)):
        covers[number, 0] = _LEFT_OUT - 1 - kinds[number]
        covers[number, 1], covers[number, 2] = ranges[number]
    return _count(words, covers)


@compiled
def _count(words: int, covers: Any) -> Any:
    """How many words have each strength, that of the strongest of the ranges that contain them; 0 outside of all."""
    strengths = np.zeros(words, dtype=np.int8)
    for number in range(len(covers)):
        strength, first, stop = covers[number]
        for word in range(max(first, 0), min(stop, words)):
            strengths[word] = max(strengths[word], strength)
    counts = np.zeros(COUNTS, dtype=np.int64)
    for word in range(words):
        counts[strengths[word]] += 1
    return counts
