"""Documents with the same or almost the same words, found without aligning them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.values import Relation
from rprs.alignment.verbatim import window_hashes
from rprs.alignment.words import Words, hash_words
from rprs.compiled import compiled

__all__ = ["Grouping", "Shape", "relation", "shape"]

SEQUENCE = 4  # words: of texts that share most of such sequences, few words differ
LONG = 2000  # words: of longer texts, one sequence in `SAMPLED` is compared
SAMPLED = 8
LEAST_SHARE = 0.7  # of the sequences of both texts


@dataclass(frozen=True, slots=True)
class Shape:
    """What is compared of a text: all its words as one hash, and its distinct sequences of words, sorted."""

    words: int
    whole: int
    sequences: NDArray[np.uint64]


def shape(words: Words) -> Shape:
    """The shape of a text; of a long one, a part of its sequences that depends on them alone."""
    sequences = window_hashes(words.hashes, SEQUENCE)
    if len(words) > LONG:
        sequences = sequences[sequences % np.uint64(SAMPLED) == 0]
    return Shape(len(words), hash_words(words), _different(np.sort(sequences)))


def relation(left: Shape, right: Shape) -> Relation:
    """Whether two texts have the same words, or almost the same."""
    if left.words == right.words and left.whole == right.whole:
        return "identical"
    if (left.words > LONG) != (right.words > LONG):
        left, right = _sampled(left), _sampled(right)
    sizes = sorted((len(left.sequences), len(right.sequences)))
    if not sizes[0] or sizes[0] < LEAST_SHARE * sizes[1]:
        return "different"
    shared = _count_shared(left.sequences, right.sequences)
    return "near duplicate" if shared >= LEAST_SHARE * sizes[1] else "different"


def _sampled(shape: Shape) -> Shape:
    return replace(shape, sequences=shape.sequences[shape.sequences % np.uint64(SAMPLED) == 0])


@compiled
def _count_shared(left: Any, right: Any) -> int:
    """How many values two arrays share; both are in ascending order, each value once."""
    count = at = 0
    for value in left:
        while at < len(right) and right[at] < value:
            at += 1
        count += at < len(right) and right[at] == value
    return count


@compiled
def _different(ordered: Any) -> Any:
    """Values in ascending order, each once."""
    kept, count = np.empty_like(ordered), 0
    for place in range(len(ordered)):
        if place == 0 or ordered[place] != ordered[place - 1]:
            kept[count] = ordered[place]
            count += 1
    return kept[:count].copy()


class Grouping:
    """Puts texts into groups of duplicates, one text after the other; the first of a group leads it."""

    def __init__(self) -> None:
        self._leaders: list[Shape] = []

    def add(self, words: Words) -> tuple[int, Relation]:
        """The number of the group of a text, and its relation to its leader; "different" if it leads a new group."""
        own = shape(words)
        for number, leader in enumerate(self._leaders):
            kind = relation(leader, own)
            if kind != "different":
                return number, kind
        self._leaders.append(own)
        return len(self._leaders) - 1, "different"
