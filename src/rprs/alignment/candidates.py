"""Which sentences of two texts may be versions of each other: those with pairs of adjacent words in common.

A table of the query's pairs of adjacent words is made once; every document is then read in one pass. Pairs of words
that many sentences have ("of the") find nothing by themselves. Of the sentences that share at least two other pairs of
words (a short one: one), those remain that share enough words in any order, the most that could be in common.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled
from rprs.once import cached_property

__all__ = ["CONTAINED", "LEAST_SIMILARITY", "LEAST_WORDS", "WordPairs", "similar_sentences"]

Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]

LEAST_SIMILARITY = 0.6  # of two sequences of m and n words with c in common: 2c / (m + n)
LEAST_WORDS = 4  # of a sentence: a shorter one is equal or not
CONTAINED = 0.75  # of the words of the shorter sentence: it may be a part of the longer one
KEPT = 3  # candidates of each sentence
MOST_SENTENCES = 24  # with a pair of words, for it to find them
FEW_WORDS = 7  # of a sentence that needs a single pair of words in common
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class WordPairs:
    """The sentences of a text by their pairs of adjacent words."""

    def __init__(self, words: Hashes, bounds: Ints) -> None:
        self.words, self.bounds = words, bounds

    @cached_property
    def table(self) -> tuple[Hashes, Ints, Ints]:
        """The distinct pairs of words, sorted; where the sentences of each start; the sentences."""
        pairs, sentences = _word_pairs(self.words, self.bounds)
        order = np.lexsort((sentences, pairs))
        pairs, sentences = pairs[order], sentences[order]
        new = np.ones(len(pairs), dtype=bool)
        new[1:] = (pairs[1:] != pairs[:-1]) | (sentences[1:] != sentences[:-1])
        pairs, sentences = pairs[new], sentences[new]
        distinct, starts = np.unique(pairs, return_index=True)
        return distinct, np.append(starts, len(pairs)).astype(np.int64), sentences

    @cached_property
    def slots(self) -> Ints:
        """A hash table of the pairs of words: their numbers in `table`, -1 for an empty slot."""
        return _slots(self.table[0])

    @cached_property
    def _numbers(self) -> tuple[Hashes, Ints]:
        """The distinct words, sorted, and a hash table of their numbers."""
        distinct = np.unique(self.words)
        return distinct, _slots(distinct)

    @cached_property
    def numbers(self) -> Ints:
        """(w,): its words as numbers."""
        return self.number(self.words)

    def prepare(self) -> None:
        """Compute what every comparison with another text needs."""
        _ = self.table, self.slots, self.numbers

    def number(self, words: Hashes) -> Ints:
        """(w,): the numbers of words in this text; those that it does not have share the next number."""
        distinct, slots = self._numbers
        return np.asarray(_number(words, slots, distinct))


def similar_sentences(query: WordPairs, document: WordPairs, numbers: Ints) -> Ints:
    """(c, 3): sentence of the query, sentence of the document, number of words that they share in any order.

    Each sentence has the `KEPT` most similar candidates, and as many that it may contain or be contained in. `numbers`
    are the words of the document as numbers of the query.
    """
    if len(query.words) < 2 or len(document.words) < 2:
        return np.empty((0, 3), dtype=np.int64)
    texts = (document.words, numbers, document.bounds, query.numbers, query.bounds)
    found = _scan(*texts, query.slots, *query.table, np.zeros(numbers.max() + 1, dtype=np.int64))
    return _best(found, np.diff(query.bounds), np.diff(document.bounds))


def _slots(distinct: Hashes) -> Ints:
    slots = np.full(1 << max((2 * len(distinct)).bit_length(), 1), -1, dtype=np.int64)
    _fill(slots, distinct)
    return slots


def _best(found: Ints, query_sizes: Ints, document_sizes: Ints) -> Ints:
    """The best few of each sentence on either side, by similarity and by containment."""
    if len(found) <= KEPT:
        return found
    sizes = query_sizes[found[:, 0]], document_sizes[found[:, 1]]
    kept = np.zeros(len(found), dtype=bool)
    for similarity in (2 * found[:, 2] / (sizes[0] + sizes[1]), found[:, 2] / np.minimum(*sizes)):
        for side in (0, 1):
            order = np.lexsort((found[:, 1 - side], -similarity, found[:, side]))
            rows = found[order, side]
            first = np.searchsorted(rows, rows)
            kept[order[np.arange(len(rows)) - first < KEPT]] = True
    return found[kept]


# ---------------------------------------------------------------------------- compiled


@compiled(inline="always")
def _pair_hash(left: Any, right: Any) -> Any:
    value = (left * _FACTOR ^ right) * _FACTOR
    return value ^ (value >> np.uint64(31))


@compiled
def _sort_sentences(words: Any, bounds: Any) -> None:
    for sentence in range(len(bounds) - 1):
        words[bounds[sentence] : bounds[sentence + 1]].sort()


@compiled
def _word_pairs(words: Any, bounds: Any) -> Any:
    """The pairs of adjacent words within sentences, and the sentence of each."""
    pairs = np.empty(len(words), dtype=np.uint64)
    sentences = np.empty(len(words), dtype=np.int64)
    count = 0
    for sentence in range(len(bounds) - 1):
        for at in range(bounds[sentence], bounds[sentence + 1] - 1):
            pairs[count], sentences[count] = _pair_hash(words[at], words[at + 1]), sentence
            count += 1
    return pairs[:count], sentences[:count]


@compiled
def _fill(slots: Any, distinct: Any) -> None:
    mask = np.uint64(len(slots) - 1)
    for number in range(len(distinct)):
        slot = distinct[number] & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = number


@compiled
def _number(words: Any, slots: Any, distinct: Any) -> Any:
    numbers = np.empty(len(words), dtype=np.int64)
    mask = np.uint64(len(slots) - 1)
    for at in range(len(words)):
        slot = words[at] & mask
        while slots[slot] >= 0 and distinct[slots[slot]] != words[at]:
            slot = (slot + np.uint64(1)) & mask
        numbers[at] = slots[slot] if slots[slot] >= 0 else len(distinct)
    return numbers


@compiled
def _scan(
    words: Any,
    numbers: Any,
    bounds: Any,
    other_numbers: Any,
    other_bounds: Any,
    slots: Any,
    distinct: Any,
    starts: Any,
    sentences: Any,
    unused: Any,
) -> Any:
    """(c, 3): candidates, in the order of the document; `unused` has a 0 for each number of a word."""
    mask = np.uint64(len(slots) - 1)
    last = np.full(len(other_bounds) - 1, -1, dtype=np.int64)  # the sentence that counted last
    counts = np.zeros(len(other_bounds) - 1, dtype=np.int64)
    touched = np.empty(len(other_bounds) - 1, dtype=np.int64)
    result = np.empty((64, 3), dtype=np.int64)
    size = 0
    for sentence in range(len(bounds) - 1):
        first, stop = bounds[sentence], bounds[sentence + 1]
        length = stop - first
        if length < LEAST_WORDS:
            continue
        reached = 0
        for at in range(first, stop - 1):
            pair = _pair_hash(words[at], words[at + 1])
            slot = pair & mask
            while slots[slot] >= 0 and distinct[slots[slot]] != pair:
                slot = (slot + np.uint64(1)) & mask
            number = slots[slot]
            if number < 0 or starts[number + 1] - starts[number] > MOST_SENTENCES:
                continue
            for place in range(starts[number], starts[number + 1]):
                other = sentences[place]
                if last[other] != sentence:
                    last[other], counts[other], touched[reached] = sentence, 0, other
                    reached += 1
                counts[other] += 1
        if reached == 0:
            continue
        for at in range(first, stop):
            unused[numbers[at]] += 1
        for at in range(reached):
            other = touched[at]
            low, high = other_bounds[other], other_bounds[other + 1]
            shorter, longer = min(length, high - low), max(length, high - low)
            if shorter < LEAST_WORDS or (counts[other] < 2 and shorter > FEW_WORDS):
                continue
            least = min(LEAST_SIMILARITY * (shorter + longer) / 2, CONTAINED * shorter)
            shared = _overlap(unused, other_numbers[low:high])
            if shared < least:
                continue
            if size == len(result):
                result = np.concatenate((result, np.empty_like(result)))
            result[size, 0], result[size, 1], result[size, 2] = other, sentence, shared
            size += 1
        for at in range(first, stop):
            unused[numbers[at]] = 0
    return result[:size]


@compiled
def _overlap(unused: Any, others: Any) -> int:
    """The number of words that two sentences share: of one, how often it has each word, and those of the other."""
    shared = 0
    for at in range(len(others)):
        if others[at] < len(unused):
            shared += unused[others[at]] > 0
            unused[others[at]] -= 1
    for at in range(len(others)):
        if others[at] < len(unused):
            unused[others[at]] += 1
    return shared
