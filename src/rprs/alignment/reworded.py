"""Sentences that were edited: the word-level alignment of those with enough words in common.

Two sequences of m and n words are as similar as 2c / (m + n), where c is the length of their longest common
subsequence. No more than the words that they share in any order can be common, so that candidates are found exactly:
all sentences that share enough words, looked up by their rarest words. A sentence is also compared with two or three
neighbouring sentences of the other text, so that one that was split or joined is found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Indel

from rprs.alignment.matches import Match, Range
from rprs.alignment.sides import Side

__all__ = ["LEAST_SIMILARITY", "reworded"]

Ints = NDArray[np.int64]

LEAST_SIMILARITY = 0.6  # of the words in common
LEAST_WORDS = 4  # of a sentence: a shorter one is equal or not
LONGEST_GROUP = 3  # neighbouring sentences that one sentence may have become
GROUP_PENALTY = 0.05  # a group must be that much more similar than a sentence
MEMBER_SHARE = 0.5  # of the words of each sentence of a group are equal, at least
KEPT = 4  # candidates of each sentence that are aligned
MOST_PLACES = 1000  # a word in more sentences than that finds no candidates


@dataclass(frozen=True, slots=True)
class _Groups:
    """Sentences and runs of neighbouring sentences, as ranges of words."""

    starts: Ints
    stops: Ints

    def __len__(self) -> int:
        return len(self.starts)


def reworded(
    query: Side, document: Side, query_open: NDArray[np.bool_], document_open: NDArray[np.bool_]
) -> list[Match]:
    """The best reworded partner of each open sentence, in both directions."""
    if not len(query.words) or not len(document.words):
        return []
    ours, theirs, counts = _numbered(query, document)
    texts, bounds = (_as_text(ours), _as_text(theirs)), (query.bounds, document.bounds)
    matches: dict[Match, None] = {}
    for pair in _candidates(query, document, ours, theirs, counts, query_open):
        matches.update(dict.fromkeys(_best(pair, texts, bounds)))
    swapped, bounds = (texts[1], texts[0]), (bounds[1], bounds[0])
    for pair in _candidates(document, query, theirs, ours, counts, document_open):
        matches.update(dict.fromkeys(_swap(match) for match in _best(pair, swapped, bounds)))
    return list(matches)


Candidate = tuple[int, int, int, int, bool]  # words of both, and whether either is a group


def _candidates(
    side: Side, other: Side, words: Ints, others: Ints, counts: Ints, opened: NDArray[np.bool_]
) -> Iterator[list[Candidate]]:
    """For each open sentence: sentences and groups of the other text, and its own groups with single sentences."""
    ours, theirs = _groups(side, 1), _groups(other, 1)
    longer_ours, longer_theirs = _groups(side, 2), _groups(other, 2)
    candidates: dict[int, list[Candidate]] = {}
    rounds = ((ours, theirs, False), (ours, longer_theirs, True), (longer_ours, theirs, True))
    for left, right, group in rounds:
        probes = _probes(left, ours, opened)
        found = _similar(words, others, left.starts[probes], left.stops[probes], right.starts, right.stops, counts)
        for row, column in found.tolist():
            first, stop = int(left.starts[probes[row]]), int(left.stops[probes[row]])
            for sentence in _sentences_within(side, first, stop, opened):
                candidate = (first, stop, int(right.starts[column]), int(right.stops[column]), group)
                candidates.setdefault(sentence, []).append(candidate)
    yield from candidates.values()


def _sentences_within(side: Side, first: int, stop: int, opened: NDArray[np.bool_]) -> list[int]:
    low, high = np.searchsorted(side.bounds, [first, stop])
    return [sentence for sentence in range(int(low), int(high)) if sentence < len(opened) and opened[sentence]]


def _probes(groups: _Groups, sentences: _Groups, opened: NDArray[np.bool_]) -> Ints:
    """The groups with an open sentence."""
    covered = np.append(0, np.cumsum(opened))
    low = np.searchsorted(sentences.starts, groups.starts)
    high = np.searchsorted(sentences.stops, groups.stops, side="right")
    return np.flatnonzero(covered[np.minimum(high, len(opened))] > covered[np.minimum(low, len(opened))])


def _groups(side: Side, shortest: int) -> _Groups:
    """Single sentences, or all runs of two to `LONGEST_GROUP`."""
    lengths = [1] if shortest == 1 else range(shortest, LONGEST_GROUP + 1)
    starts = [side.bounds[: max(len(side.bounds) - length, 0)] for length in lengths]
    stops = [side.bounds[length:] for length in lengths]
    return _Groups(np.concatenate(starts), np.concatenate(stops))


def _numbered(query: Side, document: Side) -> tuple[Ints, Ints, Ints]:
    """The words of both texts as numbers, those of rare words first, and the number of times that each occurs."""
    hashes = np.concatenate([query.words.hashes, document.words.hashes])
    _, inverse, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    order = np.argsort(counts, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    numbers = rank[inverse].astype(np.int64)
    return numbers[: len(query.words)], numbers[len(query.words) :], counts[order].astype(np.int64)


def _as_text(numbers: Ints) -> str:
    """One character for each word: rapidfuzz compares strings fastest."""
    codes = numbers + 1
    codes = np.where(codes >= 0xD800, codes + 0x800, codes)  # no surrogates
    return codes.astype("<u4").tobytes().decode("utf-32-le") if codes.max(initial=0) < 0x110000 else ""


def _best(candidates: list[Candidate], texts: tuple[str, str], bounds: tuple[Ints, Ints]) -> list[Match]:
    """The most similar candidate, aligned; none if all are too different."""
    scored = []
    for first, stop, other, other_stop, group in candidates:
        similarity = Indel.normalized_similarity(
            texts[0][first:stop], texts[1][other:other_stop], score_cutoff=LEAST_SIMILARITY
        )
        if similarity >= LEAST_SIMILARITY:
            scored.append((similarity - GROUP_PENALTY * group, -first, -other, stop, other_stop, group))
    for _, first, other, stop, other_stop, group in sorted(scored, reverse=True):
        match = _aligned((-first, stop), (-other, other_stop), texts)
        if not group or _is_balanced(match, bounds):
            return [match]
    return []


def _aligned(query: Range, document: Range, texts: tuple[str, str]) -> Match:
    left, right = texts[0][slice(*query)], texts[1][slice(*document)]
    equal = tuple(
        (query[0] + block.a, document[0] + block.b, block.size)
        for block in Indel.editops(left, right).as_matching_blocks()
        if block.size
    )
    common = sum(size for _, _, size in equal)
    return Match("reworded", query, document, 2 * common / (len(left) + len(right)), equal)


def _is_balanced(match: Match, bounds: tuple[Ints, Ints]) -> bool:
    """Whether each sentence of a group contributes: at least `MEMBER_SHARE` of its words are equal."""
    for side, (words, own) in enumerate(((match.query, bounds[0]), (match.document, bounds[1]))):
        low, high = np.searchsorted(own, words)
        for first, stop in zip(own[low:high].tolist(), own[low + 1 : high + 1].tolist(), strict=True):
            equal = sum(max(0, min(block[side] + block[2], stop) - max(block[side], first)) for block in match.equal)
            if equal < MEMBER_SHARE * (stop - first):
                return False
    return True


def _swap(match: Match) -> Match:
    equal = tuple((ours, theirs, size) for theirs, ours, size in match.equal)
    return Match(match.kind, match.document, match.query, match.similarity, equal)


def _similar(
    words: Ints, others: Ints, starts: Ints, stops: Ints, other_starts: Ints, other_stops: Ints, counts: Ints
) -> Ints:
    """(c, 2): for each sequence, the `KEPT` sequences of the other text that share the largest part of their words."""
    if not len(starts) or not len(other_starts):
        return np.empty((0, 2), dtype=np.int64)
    ours, theirs = _sort_within(words, starts, stops), _sort_within(others, other_starts, other_stops)
    postings, offsets = _postings(*theirs, len(counts))
    joined: Ints = _join(*ours, *theirs, postings, offsets, LEAST_SIMILARITY)
    return joined


def _sort_within(words: Ints, starts: Ints, stops: Ints) -> tuple[Ints, Ints]:
    """The words of each sequence in the order of their numbers, rare ones first; and where each sequence starts."""
    sizes = stops - starts
    offsets = np.append(0, np.cumsum(sizes)).astype(np.int64)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    values = words[np.arange(offsets[-1]) - np.repeat(offsets[:-1] - starts, sizes)]
    return values[np.lexsort((values, rows))], offsets


def _postings(values: Ints, offsets: Ints, size: int) -> tuple[Ints, Ints]:
    """The sequences that have each word, and where the sequences of each word start."""
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.argsort(values, kind="stable")
    return rows[order], np.append(0, np.cumsum(np.bincount(values, minlength=size))).astype(np.int64)


@numba.njit(nogil=True, cache=True)
def _join(words: Any, offsets: Any, others: Any, other_offsets: Any, postings: Any, places: Any, least: float) -> Any:
    """(c, 2): rows of both that share at least 2c / (m + n) >= least words, the best `KEPT` for each row."""
    rows = len(offsets) - 1
    seen = np.full(len(other_offsets) - 1, -1, dtype=np.int64)
    result = np.empty((64, 2), dtype=np.int64)
    count = 0
    best = np.empty(KEPT, dtype=np.float64)
    kept = np.empty(KEPT, dtype=np.int64)
    for row in range(rows):
        first, stop = offsets[row], offsets[row + 1]
        size = stop - first
        if size < LEAST_WORDS:
            continue
        # at least that many words are shared with any sequence that is similar enough, so one of the others is not
        shared = int(np.ceil(least * size / (2 - least) - 1e-9))
        filled = 0
        for at in range(first, stop - shared + 1):
            word = words[at]
            if at > first and words[at - 1] == word:
                continue
            if places[word + 1] - places[word] > MOST_PLACES:
                continue
            for place in range(places[word], places[word + 1]):
                other = postings[place]
                if seen[other] == row:
                    continue
                seen[other] = row
                low, high = other_offsets[other], other_offsets[other + 1]
                length = high - low
                if length < LEAST_WORDS or 2 * min(size, length) < least * (size + length):
                    continue
                similarity = 2 * _overlap(words[first:stop], others[low:high]) / (size + length)
                if similarity < least:
                    continue
                filled = _keep(best, kept, filled, similarity, other)
        for at in range(filled):
            if count == len(result):
                result = np.concatenate((result, np.empty_like(result)))
            result[count, 0], result[count, 1] = row, kept[at]
            count += 1
    return result[:count]


@numba.njit(nogil=True, cache=True)
def _keep(best: Any, kept: Any, filled: int, similarity: float, other: int) -> int:
    """Insert a candidate into the best few, in descending order."""
    at = filled
    while at > 0 and best[at - 1] < similarity:
        at -= 1
    if at == KEPT:
        return filled
    for place in range(min(filled, KEPT - 1), at, -1):
        best[place], kept[place] = best[place - 1], kept[place - 1]
    best[at], kept[at] = similarity, other
    return min(filled + 1, KEPT)


@numba.njit(nogil=True, cache=True)
def _overlap(left: Any, right: Any) -> int:
    """The number of words that two sorted sequences share."""
    a, b, shared = 0, 0, 0
    while a < len(left) and b < len(right):
        if left[a] == right[b]:
            shared += 1
            a += 1
            b += 1
        elif left[a] < right[b]:
            a += 1
        else:
            b += 1
    return shared
