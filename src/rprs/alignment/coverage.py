"""Coverage in words: how many words of a text are in pairs, each counted once, by the strongest kind."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rprs.alignment.values import KINDS, Coverage, Kind, Span
from rprs.alignment.words import Words

__all__ = ["cover", "cover_words"]

Range = tuple[int, int]  # words: first, stop


def cover(words: Words, matched: Iterable[tuple[Kind, Span]], left_out: Iterable[Span] = ()) -> Coverage:
    """The coverage of a text by spans of some kinds; the words of spans that are left out do not count at all."""
    matches = ((kind, _within(words, span)) for kind, span in matched)
    return cover_words(len(words), matches, [_within(words, span) for span in left_out])


def cover_words(words: int, matched: Iterable[tuple[Kind, Range]], left_out: Iterable[Range] = ()) -> Coverage:
    """The coverage of a number of words by ranges of them."""
    strength = np.zeros(words, dtype=np.int8)  # from 1 for the weakest kind
    for kind, (first, stop) in sorted(matched, key=lambda match: -KINDS.index(match[0])):
        strength[first:stop] = len(KINDS) - KINDS.index(kind)
    for first, stop in left_out:
        strength[first:stop] = -1
    numbers = np.bincount(strength + 1, minlength=len(KINDS) + 2).tolist()
    return Coverage(words - numbers[0], identical=numbers[4], reworded=numbers[3], same_idea=numbers[2])


def _within(words: Words, span: Span) -> Range:
    """The words that start within a span."""
    first, stop = np.searchsorted(words.starts, span)
    return int(first), int(stop)
