"""Which sentences may be versions of each other, against a literal version with counters."""

from __future__ import annotations

from collections import Counter
from itertools import chain, pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rprs.alignment.candidates import (
    CONTAINED,
    FEW_WORDS,
    KEPT,
    LEAST_SIMILARITY,
    LEAST_WORDS,
    MOST_SENTENCES,
    WordPairs,
    find_similar,
)
from rprs.alignment.tables import number_keys

Text = list[list[int]]  # sentences of words
Found = tuple[int, int, int]  # sentence of the query, sentence of the document, words that they share


@st.composite
def two_texts(draw: st.DrawFn) -> tuple[Text, Text]:
    """A text of few or of many different words, and another with some of its words replaced, also by new ones."""
    words = st.integers(0, draw(st.sampled_from([5, 60, 5000])))
    query = draw(st.lists(st.lists(words, max_size=30), min_size=1, max_size=6))
    document = []
    for sentence in draw(st.permutations([*query, *query[:2]])):
        changed = draw(st.lists(st.integers(0, 29), max_size=8))
        document.append([6000 + place if place in changed else word for place, word in enumerate(sentence)])
    return query, document


def literal(query: Text, document: Text) -> list[Found]:
    """Those that share pairs of words and then enough words, of which each sentence has the best few."""
    pairs = [set(pairwise(sentence)) for sentence in query]
    found: list[Found] = []
    for right, sentence in enumerate(document):
        for left, other in enumerate(query):
            shorter, longer = sorted((len(sentence), len(other)))
            rare = [pair for pair in pairwise(sentence) if sum(pair in each for each in pairs) <= MOST_SENTENCES]
            common = sum(pair in pairs[left] for pair in rare)
            if shorter < LEAST_WORDS or common < (2 if shorter > FEW_WORDS else 1):
                continue
            shared = (Counter(sentence) & Counter(other)).total()
            if shared >= min(LEAST_SIMILARITY * (shorter + longer) / 2, CONTAINED * shorter):
                found.append((left, right, shared))
    return [each for each in found if len(found) <= KEPT or is_among_best(each, found, query, document)]


def is_among_best(candidate: Found, found: list[Found], query: Text, document: Text) -> bool:
    def similarity(each: Found) -> float:
        return 2 * each[2] / (len(query[each[0]]) + len(document[each[1]]))

    def containment(each: Found) -> float:
        return each[2] / min(len(query[each[0]]), len(document[each[1]]))

    for side in (0, 1):
        rivals = [each for each in found if each[side] == candidate[side]]
        for measure in (similarity, containment):
            best = sorted(rivals, key=lambda each: (-measure(each), each[1 - side]))[:KEPT]
            if candidate in best:
                return True
    return False


def hashes_of(text: Text) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    words = np.array(list(chain.from_iterable(text)), dtype=np.uint64)
    return (words + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)


@given(two_texts())
def test_the_same_sentences_as_by_definition(texts: tuple[Text, Text]) -> None:
    query, document = texts
    ours, theirs = hashes_of(query), hashes_of(document)
    bounds, other_bounds = (np.cumsum([0, *map(len, text)], dtype=np.int64) for text in texts)
    pairs = WordPairs(ours, bounds)
    slots, distinct, own = pairs.word_table
    numbers = number_keys(theirs, slots, distinct)
    found = find_similar(theirs, numbers, other_bounds, own, bounds, pairs.table)
    assert sorted(map(tuple, found.tolist())) == sorted(literal(query, document))
