"""Coverage in words: how many words of a text are in pairs, each counted once, by the strongest kind."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rprs.alignment.values import KINDS, Coverage, Kind, Span
from rprs.alignment.words import Words

__all__ = ["cover"]


def cover(words: Words, matched: Iterable[tuple[Kind, Span]], left_out: Iterable[Span] = ()) -> Coverage:
    """The coverage of a text by spans of some kinds; the words of spans that are left out do not count at all."""
    strength = np.zeros(len(words), dtype=np.int8)
    for kind, span in matched:
        part = _within(words, span)
        strength[part] = np.maximum(strength[part], len(KINDS) - KINDS.index(kind))
    counted = np.ones(len(words), dtype=bool)
    for span in left_out:
        counted[_within(words, span)] = False
    numbers = np.bincount(strength[counted], minlength=len(KINDS) + 1).tolist()
    return Coverage(int(counted.sum()), identical=numbers[3], reworded=numbers[2], same_idea=numbers[1])


def _within(words: Words, span: Span) -> slice:
    """The words that start within a span."""
    first, stop = np.searchsorted(words.starts, span)
    return slice(int(first), int(stop))
