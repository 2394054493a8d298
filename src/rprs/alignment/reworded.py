"""Sentences that were edited: the word-level alignment of those with enough words in common.

Two sequences of m and n words are as similar as 2c / (m + n), where c is the length of their longest common
subsequence. A sentence is compared with its candidates in the other text, and also with two or three neighbouring
sentences there, so that one that was split or joined is found.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Indel
from rapidfuzz.process import cpdist

from rprs.alignment.candidates import LEAST_SIMILARITY
from rprs.alignment.matches import Match, Range
from rprs.alignment.sides import Side
from rprs.alignment.versions import GROUP_PENALTY
from rprs.alignment.word_matches import WordMatches
from rprs.once import cached_property

__all__ = ["reworded"]

MEMBER_SHARE = 0.5  # of the words of each sentence of a group are equal, at least

FIRST_LETTER, LAST_LETTER = 0x10000, 0x10FFFF  # as which words are compared: no surrogates are among them

Sentences = tuple[int, int]  # first sentence, stop
Version = tuple[Sentences, Sentences]  # of the query, of the document


def reworded(query: Side, document: Side, found: WordMatches) -> list[Match]:
    """The best reworded partner of each open sentence, in both directions."""
    if not len(found.versions):
        return []
    comparison = _Comparison(query, document, found.numbers)
    versions = found.versions
    groups = versions[:, 1] - versions[:, 0] + versions[:, 3] - versions[:, 2] > 2
    values = comparison.similarities(versions, found.similarity) - GROUP_PENALTY * groups
    good = np.flatnonzero(values > LEAST_SIMILARITY)
    rows = zip(versions[good].tolist(), values[good].tolist(), groups[good].tolist(), strict=True)
    best: dict[tuple[int, int], tuple[float, Version]] = {}  # by side and sentence
    for (first, stop, other_first, other_stop), similarity, group in rows:
        ours, theirs = (first, stop), (other_first, other_stop)
        if group and not comparison.is_balanced(ours, theirs):
            continue
        for key in [(0, each) for each in range(*ours)] + [(1, each) for each in range(*theirs)]:
            if key not in best or similarity > best[key][0]:
                best[key] = similarity, (ours, theirs)
    opened = found.query_open, found.document_open
    chosen = {version for (side, each), (_, version) in best.items() if opened[side][each]}
    return [comparison.match(ours, theirs) for ours, theirs in sorted(chosen)]


class _Comparison:
    """Compares sentences, or runs of neighbouring ones, of two texts."""

    def __init__(self, query: Side, document: Side, numbers: NDArray[np.int64]) -> None:
        self.sides = query, document
        self.numbers = numbers  # the words of the document; those that the query does not have share one
        self._matches: dict[Version, Match] = {}

    @cached_property
    def _sequences(self) -> tuple[str, str] | tuple[list[int], list[int]]:
        return _as_letters(self.sides[0].word_pairs.numbers, self.numbers)

    def similarities(self, versions: NDArray[np.int64], found: NDArray[np.float64]) -> NDArray[np.float64]:
        """(v,): the share of words in common of each version, of which the long ones are missing."""
        long = np.flatnonzero(np.isnan(found))
        if len(long):
            spans = [((first, stop), (start, end)) for first, stop, start, end in versions[long].tolist()]
            found[long] = cpdist(
                [self._sequence(0, ours) for ours, _ in spans],
                [self._sequence(1, theirs) for _, theirs in spans],
                scorer=Indel.normalized_similarity,
                score_cutoff=LEAST_SIMILARITY,
                dtype=np.float64,
            )
        return found

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


def _as_letters(ours: NDArray[np.int64], theirs: NDArray[np.int64]) -> tuple[str, str] | tuple[list[int], list[int]]:
    """Both texts with one letter for each word, since strings are compared much faster than lists.

    A query with more words than there are letters is a list.
    """
    if max(ours.max(initial=0), theirs.max(initial=0)) > LAST_LETTER - FIRST_LETTER:
        return ours.tolist(), theirs.tolist()
    letters = [(each + FIRST_LETTER).astype("<u4").tobytes().decode("utf-32-le") for each in (ours, theirs)]
    return letters[0], letters[1]
