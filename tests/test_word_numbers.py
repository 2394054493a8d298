"""Words are numbered in the order in which they first occur, as a dictionary would number them."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rprs import word_numbers
from rprs.text.pieces import codes_of
from rprs.word_numbers import WordNumbers, word_edges

EDGES = word_edges(" \n\u3000", ".(),’")
TEXTS = st.lists(
    st.text(alphabet=" \n\u3000.(’aabñ\U0001f600") | st.sampled_from(["word ", "a.b ", "x" * 70]), max_size=6
)


class Literal:
    """The same with a dictionary and strings."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def __call__(self, text: str) -> list[int]:
        words = [word.strip(".(),’") for word in re.split("[ \n\u3000]", text)]
        return [self.known.setdefault(word, len(self.known)) for word in words if word]


def check(calls: list[list[str]]) -> None:
    numbers, literal = WordNumbers(EDGES), Literal()
    for texts in calls:
        known, joined = len(numbers), "".join(texts)
        expected = [literal(text) for text in texts]
        bounds = np.cumsum([0, *map(len, texts)])
        found, starts = numbers(codes_of(joined), bounds)
        assert [found[a:b].tolist() for a, b in pairwise(starts)] == expected
        assert numbers.new(joined, known) == list(literal.known)[known:]
        assert len(numbers) == len(literal.known)
        assert numbers.characters == sum(map(len, literal.known))


@given(st.lists(TEXTS, max_size=4))
@example([["a b", "", "a"], [], ["(b) c..", "."]])
def test_words_are_numbered_as_a_dictionary_would(calls: list[list[str]]) -> None:
    check(calls)


def test_tables_grow() -> None:
    words = [f"word{number:x}" for number in range(30_000)]
    check([[" ".join(words[:7]), "x" * 200_000], [" ".join(words)], words[::-1]])


def test_words_with_the_same_hash_are_different_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_numbers, "_SEED", np.uint64(0))
    collisions = ["\x00" * size for size in range(1, 40)]  # from a seed of 0, each has the hash 0
    check([[" ".join(collisions), "a b"], [" ".join(reversed(collisions))]])
