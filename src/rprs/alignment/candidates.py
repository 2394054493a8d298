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
BITS = 64
SIGNATURE = 4  # times so many bits for the words of a sentence
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


@compiled(inline="always")
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
    """(c, 3): candidates, in the order of the document; `unused` has a 0 for each number of a word.

    Arrays are made larger here only: in the inner loops, that alone would take longer than the rest.
    """
    counts = np.zeros(len(other_bounds) - 1, dtype=np.int64)  # of the sentence that counted last, above its own zero
    touched = np.empty(len(other_bounds) - 1, dtype=np.int64)
    result, size = np.empty((64, 3), dtype=np.int64), 0
    unknown = other_numbers.max() + 1  # the number of all words that the query does not have
    signatures = _signatures(other_numbers, other_bounds, unknown)
    own_signatures = _signatures(numbers, bounds, unknown)
    for sentence in range(len(bounds) - 1):
        own = slice(bounds[sentence], bounds[sentence + 1])
        if own.stop - own.start < LEAST_WORDS:
            continue
        zero = (sentence + 1) << 32
        reached = _count_pairs(
            words[own], numbers[own], unknown, slots, distinct, starts, sentences, zero, counts, touched
        )
        if reached == 0:
            continue
        if size + reached > len(result):
            result = np.concatenate((result, np.empty((size + reached, 3), dtype=np.int64)))
        words_of_both = (numbers[own], own_signatures[sentence]), (other_numbers, other_bounds, signatures)
        count = _compare(*words_of_both, unknown, (touched[:reached], counts, zero), unused, result[size:])
        result[size : size + count, 1] = sentence
        size += count
    return result[:size]


@compiled
def _count_pairs(
    words: Any,
    numbers: Any,
    unknown: Any,
    slots: Any,
    distinct: Any,
    starts: Any,
    sentences: Any,
    zero: Any,
    counts: Any,
    touched: Any,
) -> int:
    """How many sentences share pairs of adjacent words with one; they are `touched`, and their pairs are counted."""
    reached = 0
    for at in range(len(words) - 1):
        if numbers[at] == unknown or numbers[at + 1] == unknown:
            continue
        number = find_key(_pair_hash(words[at], words[at + 1]), slots, distinct)
        if number < 0 or starts[number + 1] - starts[number] > MOST_SENTENCES:
            continue
        for place in range(starts[number], starts[number + 1]):
            other = sentences[place]
            if counts[other] < zero:
                counts[other], touched[reached] = zero, other
                reached += 1
            counts[other] += 1
    return reached


@compiled
def _compare(ours: Any, theirs: Any, unknown: Any, reach: Any, unused: Any, result: Any) -> int:
    """Write those of the sentences within reach that share enough words with one, and how many; their number."""
    (numbers, signature), (other_numbers, other_bounds, signatures) = ours, theirs
    touched, counts, zero = reach
    length, known, size = len(numbers), 0, 0
    for at in range(length):
        unused[numbers[at]] += 1
        known += numbers[at] != unknown
    for at in range(len(touched)):
        other = touched[at]
        low, high = other_bounds[other], other_bounds[other + 1]
        shorter, longer = min(length, high - low), max(length, high - low)
        if shorter < LEAST_WORDS or (counts[other] - zero < 2 and shorter > FEW_WORDS):
            continue
        least = min(LEAST_SIMILARITY * (shorter + longer) / 2, CONTAINED * shorter)
        if _most_shared(signatures[other], high - low, signature, known) < least:
            continue
        shared = _overlap(unused, other_numbers[low:high])
        if shared >= least:
            result[size, 0], result[size, 2] = other, shared
            size += 1
    for at in range(length):
        unused[numbers[at]] = 0
    return size


@compiled
def _signatures(numbers: Any, bounds: Any, unknown: Any) -> Any:
    """(m, SIGNATURE): a bit for each word of each sentence, but the unknown one; several words may share it."""
    signatures = np.zeros((len(bounds) - 1, SIGNATURE), dtype=np.uint64)
    for sentence in range(len(bounds) - 1):
        for at in range(bounds[sentence], bounds[sentence + 1]):
            if numbers[at] != unknown:
                part = (numbers[at] // BITS) % SIGNATURE
                signatures[sentence, part] |= np.uint64(1) << np.uint64(numbers[at] % BITS)
    return signatures


@compiled
def _most_shared(left: Any, left_words: int, right: Any, right_words: int) -> Any:
    """The most words that two sentences can share: for each bit that one has alone, it has a word alone."""
    left_alone, right_alone = 0, 0
    for part in range(SIGNATURE):
        left_alone += _count_bits(left[part] & ~right[part])
        right_alone += _count_bits(right[part] & ~left[part])
    return min(left_words - left_alone, right_words - right_alone)


@compiled(inline="always")
def _count_bits(value: Any) -> Any:
    """The number of bits; the compiler makes one instruction of it."""
    value -= (value >> np.uint64(1)) & np.uint64(0x5555555555555555)
    value = (value & np.uint64(0x3333333333333333)) + ((value >> np.uint64(2)) & np.uint64(0x3333333333333333))
    value = (value + (value >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((value * np.uint64(0x0101010101010101)) >> np.uint64(56))


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
