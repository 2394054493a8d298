"""How long a quotation can be: worked by hand, and against a search over all stretches of words."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rprs.scoring.quotes import group_by_document, longest_possible


def bounds(words: int, occurrences: list[tuple[int, int, int]], documents: list[set[int]], least: int) -> list[int]:
    """Occurrences are (first word, last word, phrase)."""
    ordered = np.array(sorted(occurrences, key=lambda each: (each[1], each[0])), dtype=np.int64).reshape(-1, 3)
    pairs = [(number, phrase) for number, own in enumerate(documents) for phrase in sorted(own)]
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    grouped = group_by_document(table[:, 0], table[:, 1], len(documents))
    first, last, phrase = (ordered[:, column].copy() for column in range(3))
    return [int(bound) for bound in longest_possible(words, first, last, phrase, *grouped, least)]


def test_by_hand() -> None:
    """Ten words with a phrase of two at each of the first nine: 0-1, 1-2, ..., 8-9."""
    chain = [(word, word + 1, word) for word in range(9)]
    everything = set(range(9))
    assert bounds(10, chain, [everything, everything - {4}, {2}, set()], 3) == [10, 5, 0, 0]
    assert bounds(10, chain, [{2}, {2, 3}], 2) == [2, 3]
    assert bounds(10, [], [set()], 3) == [0]  # without phrases, nothing is known


@settings(max_examples=150)
@given(data=st.data(), words=st.integers(1, 14), least=st.integers(1, 8))
def test_equals_all_stretches(data: st.DataObject, words: int, least: int) -> None:
    occurrence = st.tuples(st.integers(0, words - 1), st.integers(0, 3), st.integers(0, 5))
    drawn = data.draw(st.lists(occurrence, max_size=14))
    occurrences = [(first, min(first + size, words - 1), phrase) for first, size, phrase in drawn]
    present = {phrase for _, _, phrase in occurrences}
    documents = data.draw(st.lists(st.frozensets(st.sampled_from(sorted(present) or [0])), max_size=4))
    own = [{*document} & present for document in documents]
    for bound, phrases in zip(bounds(words, occurrences, own, least), own, strict=True):
        longest = 0
        for start in range(words):
            for stop in range(start + 1, words + 1):
                inside = [phrase for first, last, phrase in occurrences if start <= first and last < stop]
                if inside and all(phrase in phrases for phrase in inside):
                    longest = max(longest, stop - start)
        assert bound >= (longest if longest >= least else 0)
        if bound > longest:  # a phrase that ends with a missing one counts, although no stretch has it
            assert any(
                last == other and phrase in phrases and missing not in phrases
                for _, last, phrase in occurrences
                for _, other, missing in occurrences
            )
