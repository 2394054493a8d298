"""Sentences that were edited: the word-level alignment of those with enough words in common.

Two sequences of m and n words are as similar as 2c / (m + n), where c is the length of their longest common
subsequence. A sentence is compared with its candidates in the other text, and also with two or three neighbouring
sentences there, so that one that was split or joined is found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Indel
from rapidfuzz.process import cpdist

from rprs.alignment.candidates import CONTAINED, LEAST_SIMILARITY, similar_sentences
from rprs.alignment.matches import Match, Range
from rprs.alignment.sides import Side

__all__ = ["reworded"]

Flags = NDArray[np.bool_]

LONGEST_GROUP = 3  # neighbouring sentences that one sentence may have become
GROUP_PENALTY = 0.05  # a group must be that much more similar than a sentence
MEMBER_SHARE = 0.5  # of the words of each sentence of a group are equal, at least

FIRST_LETTER, LAST_LETTER = 0x10000, 0x10FFFF  # as which words are compared: no surrogates are among them

Sentences = tuple[int, int]  # first sentence, stop
Version = tuple[Sentences, Sentences]  # of the query, of the document


def reworded(query: Side, document: Side, query_open: Flags, document_open: Flags) -> list[Match]:
    """The best reworded partner of each open sentence, in both directions."""
    comparison = _Comparison(query, document)
    candidates = similar_sentences(query.word_pairs, document.word_pairs)
    candidates = candidates[query_open[candidates[:, 0]] | document_open[candidates[:, 1]]]
    versions = list(comparison.versions(candidates))
    best: dict[tuple[int, int], tuple[float, Sentences, Sentences]] = {}  # by side and sentence
    for (ours, theirs), shared in zip(versions, comparison.similarities(versions), strict=True):
        group = ours[1] - ours[0] + theirs[1] - theirs[0] > 2
        similarity = shared - GROUP_PENALTY * group
        if similarity < LEAST_SIMILARITY or (group and not comparison.is_balanced(ours, theirs)):
            continue
        sentences = [(0, each) for each in range(*ours)] + [(1, each) for each in range(*theirs)]
        for key in sentences:
            if key not in best or similarity > best[key][0]:
                best[key] = similarity, ours, theirs
    opened = query_open, document_open
    chosen = {(ours, theirs) for (side, each), (_, ours, theirs) in best.items() if opened[side][each]}
    return [comparison.match(ours, theirs) for ours, theirs in sorted(chosen)]


class _Comparison:
    """Compares sentences, or runs of neighbouring ones, of two texts."""

    def __init__(self, query: Side, document: Side) -> None:
        self.sides = query, document
        self._sequences = _as_letters(query, document)
        self._matches: dict[tuple[Sentences, Sentences], Match] = {}

    def versions(self, candidates: NDArray[np.int64]) -> Iterator[Version]:
        """Candidates as they are, and the shorter sentence with its neighbours if it may be a part of the longer one.

        A candidate is a sentence of the query, one of the document, and the number of words that they share.
        """
        left, right, shared = candidates.T
        sizes = self.sides[0].sizes[left], self.sides[1].sizes[right]
        shorter, longer = np.minimum(*sizes), np.maximum(*sizes)
        similar = 2 * shared >= LEAST_SIMILARITY * (shorter + longer)
        contained = (shorter < 0.9 * longer) & (shared >= CONTAINED * shorter)
        which = (sizes[0] >= sizes[1]).astype(np.int64)  # the side of the shorter sentence
        rows = np.flatnonzero(similar | contained)
        columns = (left, right, similar, contained, which, longer)
        for ours, theirs, alike, part, side, words in zip(*(each[rows].tolist() for each in columns), strict=True):
            if alike:
                yield (ours, ours + 1), (theirs, theirs + 1)
            if part:
                for group in self._groups(side, (ours, theirs)[side], words):
                    yield (group, (theirs, theirs + 1)) if side == 0 else ((ours, ours + 1), group)

    def _groups(self, side: int, middle: int, longer: int) -> Iterator[Sentences]:
        """A sentence with its neighbours, if that is about as long as another sentence."""
        bounds = self.sides[side].bound_list
        for size in range(2, LONGEST_GROUP + 1):
            for first in range(max(middle - size + 1, 0), min(middle + 1, len(bounds) - size)):
                words = bounds[first + size] - bounds[first]
                if 2 * min(words, longer) >= (LEAST_SIMILARITY + GROUP_PENALTY) * (words + longer):
                    yield first, first + size

    def similarities(self, versions: Sequence[Version]) -> list[float]:
        """The share of words in common of each; 0 if it is too small."""
        if not versions:
            return []
        queries = [self._sequence(0, ours) for ours, _ in versions]
        choices = [self._sequence(1, theirs) for _, theirs in versions]
        found = cpdist(
            queries, choices, scorer=Indel.normalized_similarity, score_cutoff=LEAST_SIMILARITY, dtype=np.float64
        )
        return list(found.tolist())

    def match(self, ours: Sentences, theirs: Sentences) -> Match:
        """The word-level alignment."""
        key = ours, theirs
        if key not in self._matches:
            left, right = self._range(0, ours), self._range(1, theirs)
            operations = Indel.editops(self._sequence(0, ours), self._sequence(1, theirs))
            equal = tuple(
                (left[0] + block.a, right[0] + block.b, block.size)
                for block in operations.as_matching_blocks()
                if block.size
            )
            common = sum(size for _, _, size in equal)
            similarity = 2 * common / (left[1] - left[0] + right[1] - right[0])
            self._matches[key] = Match("reworded", left, right, similarity, equal)
        return self._matches[key]

    def is_balanced(self, ours: Sentences, theirs: Sentences) -> bool:
        """Whether each sentence of a group contributes: at least `MEMBER_SHARE` of its words are equal."""
        match = self.match(ours, theirs)
        for number, (side, sentences) in enumerate(zip(self.sides, (ours, theirs), strict=True)):
            for first, stop in pairwise(side.bounds[sentences[0] : sentences[1] + 1].tolist()):
                equal = sum(max(0, min(b[number] + b[2], stop) - max(b[number], first)) for b in match.equal)
                if equal < MEMBER_SHARE * (stop - first):
                    return False
        return True

    def _range(self, side: int, sentences: Sentences) -> Range:
        bounds = self.sides[side].bound_list
        return bounds[sentences[0]], bounds[sentences[1]]

    def _sequence(self, side: int, sentences: Sentences) -> str | list[int]:
        return self._sequences[side][slice(*self._range(side, sentences))]


def _as_letters(query: Side, document: Side) -> tuple[str, str] | tuple[list[int], list[int]]:
    """Both texts with one letter for each word, since strings are compared much faster than lists.

    Words that the query does not have share a letter, which is equal to none of the query's. A query with more words
    than there are letters is a list.
    """
    numbers = [query.word_pairs.number(side.words.hashes) for side in (query, document)]
    if max((int(each.max()) for each in numbers if len(each)), default=0) > LAST_LETTER - FIRST_LETTER:
        return numbers[0].tolist(), numbers[1].tolist()
    letters = [(each + FIRST_LETTER).astype("<u4").tobytes().decode("utf-32-le") for each in numbers]
    return letters[0], letters[1]
