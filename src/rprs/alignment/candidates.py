"""Which sentences of two texts may be versions of each other: those with pairs of adjacent words in common.

A table of the query's pairs of adjacent words is made once; every document is then read in one pass. Pairs of words
that many sentences have ("of the") find nothing by themselves. Of the sentences that share at least two other pairs of
words (a short one: one), those remain that share enough words in any order, the most that could be in common.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rprs.alignment.tables import Ints, Keys, Slots, Table, find_key, group_places, make_table
from rprs.compiled import compiled
from rprs.once import cached_property

__all__ = ["CONTAINED", "LEAST_SIMILARITY", "LEAST_WORDS", "WordPairs", "find_similar"]

LEAST_SIMILARITY = 0.6  # of two sequences of m and n words with c in common: 2c / (m + n)
LEAST_WORDS = 4  # of a sentence: a shorter one is equal or not
CONTAINED = 0.75  # of the words of the shorter sentence: it may be a part of the longer one
KEPT = 3  # candidates of each sentence
MOST_SENTENCES = 24  # with a pair of words, for it to find them
FEW_WORDS = 7  # of a sentence that needs a single pair of words in common
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class WordPairs:
    """The sentences of a text by their pairs of adjacent words."""

    def __init__(self, words: Keys, bounds: Ints) -> None:
        self.words, self.bounds = words, bounds

    @cached_property
    def table(self) -> tuple[Slots, Keys, Ints, Ints]:
        """A table of the pairs of words: slots, distinct pairs, where the sentences of each start, the sentences."""
        pairs, sentences = _word_pairs(self.words, self.bounds)
        slots, distinct, numbers = make_table(pairs)
        return slots, distinct, *_once_each(*group_places(numbers, sentences, len(distinct)))

    @cached_property
    def word_table(self) -> Table:
        """A table of the words."""
        return make_table(self.words)

    @property
    def numbers(self) -> Ints:
        """(w,): its words as numbers."""
        return self.word_table[2]

    def prepare(self) -> None:
        """Compute what every comparison with another text needs."""
        _ = self.table, self.word_table


# ---------------------------------------------------------------------------- compiled


@compiled
def find_similar(words: Any, numbers: Any, bounds: Any, other_numbers: Any, other_bounds: Any, pairs: Any) -> Any:
    """(c, 3): sentence of the query, sentence of the document, number of words that they share in any order.

    Each sentence has the `KEPT` most similar candidates, and as many that it may contain or be contained in. `words`
    are those of the document, `numbers` the same as numbers of the query, `pairs` the table of the query's pairs.
    """
    if len(numbers) < 2 or len(other_numbers) < 2:
        return np.empty((0, 3), dtype=np.int64)
    slots, distinct, starts, sentences = pairs
    unused = np.zeros(numbers.max() + 1, dtype=np.int64)
    found = _scan(words, numbers, bounds, other_numbers, other_bounds, slots, distinct, starts, sentences, unused)
    return found if len(found) <= KEPT else found[_among_best(found, other_bounds, bounds)]


@compiled(inline="always")
def _pair_hash(left: Any, right: Any) -> Any:
    value = (left * _FACTOR ^ right) * _FACTOR
    return value ^ (value >> np.uint64(31))


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
def _once_each(starts: Any, sentences: Any) -> Any:
    """Groups of sentences, each sentence once in a group; those of a group are in ascending order."""
    kept, bounds, count = np.empty_like(sentences), np.empty_like(starts), 0
    for group in range(len(starts) - 1):
        bounds[group] = count
        for at in range(starts[group], starts[group + 1]):
            if at == starts[group] or sentences[at] != sentences[at - 1]:
                kept[count] = sentences[at]
                count += 1
    bounds[-1] = count
    return bounds, kept[:count]


@compiled
def _among_best(found: Any, query: Any, document: Any) -> Any:
    """(c,): whether a candidate is among the best few of either sentence, by similarity or by containment."""
    kept = np.zeros(len(found), dtype=np.bool_)
    values = np.empty(len(found))
    for measure in range(2):
        for number in range(len(found)):
            left, right, shared = found[number]
            sizes = query[left + 1] - query[left], document[right + 1] - document[right]
            values[number] = 2 * shared / (sizes[0] + sizes[1]) if measure == 0 else shared / min(sizes)
        for side in range(2):
            best = np.full(((len(query) if side == 0 else len(document)) - 1, KEPT), -1, dtype=np.int64)
            for number in range(len(found)):
                _insert(best[found[number, side]], number, values, found[:, 1 - side])
            for held in best.ravel():
                if held >= 0:
                    kept[held] = True
    return kept


@compiled
def _insert(best: Any, number: Any, values: Any, others: Any) -> None:
    """Add a candidate to the best few, which are in descending order; of equal ones, the first sentence is better."""
    for place in range(len(best)):
        held = best[place]
        if (
            held < 0
            or values[number] > values[held]
            or (values[number] == values[held] and others[number] < others[held])
        ):
            best[place], number = number, held
            if held < 0:
                return


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
            number = find_key(_pair_hash(words[at], words[at + 1]), slots, distinct)
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
