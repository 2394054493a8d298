"""What reads a text in pieces finds what it would find in one go."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs.index.language import main_script
from rprs.text import pieces, split
from rprs.text.analyze import Words
from rprs.text.pieces import LongList, at_spaces, codes_of

TEXTS = st.text(alphabet="ab .é\n\u3000\u0431", max_size=60)


@pytest.fixture(autouse=True, scope="module")
def _small_pieces() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (pieces, split):
            patch.setattr(module, "PIECE", 4)
        patch.setattr(split, "_ROWS", 4)
        yield


@given(TEXTS)
def test_pieces_have_the_same_words_and_characters(text: str) -> None:
    assert "".join(at_spaces(text)) == text
    assert [word for piece in at_spaces(text) for word in piece.split()] == text.split()


@given(TEXTS)
def test_pieces_are_short_where_words_are(text: str) -> None:
    longest = max(map(len, text.split()), default=0)
    blank = max(map(len, text.replace("a", "x").split("x")), default=0)
    assert all(len(piece) <= 5 + longest + blank for piece in at_spaces(text))


@given(st.text(alphabet="ab\u0431\U0001f600\ud800", max_size=20))
def test_characters_as_numbers(text: str) -> None:
    codes = codes_of(text)
    assert codes.tolist() == [ord(character) for character in text]
    assert codes.dtype == np.uint32
    assert not codes.flags.writeable


@given(st.lists(st.text(max_size=2), max_size=20))
def test_a_long_list_is_let_go_in_pieces(words: list[str]) -> None:
    many = LongList(words)
    assert many == words
    many.__del__()
    assert many == []


@given(st.integers(0, 40))
def test_spans_become_one_array(number: int) -> None:
    spans = [(place, place + 3) for place in range(number)]
    array = split._as_array(spans)
    assert array.tolist() == [list(span) for span in spans]
    assert array.shape == (number, 2)
    assert array.dtype == np.int64


@given(TEXTS)
def test_terms_do_not_depend_on_pieces(text: str) -> None:
    analyzer = Words()
    whole = [term for word in text.split() for term in analyzer.terms(word)]
    assert analyzer.terms(text) == whole


@given(TEXTS, st.integers(1, 9))
def test_long_runs_are_found_across_pieces(text: str, most: int) -> None:
    expected = max(map(len, text.split()), default=0) > most
    assert split._has_longer_run(text, 0, len(text), most) == expected


@given(TEXTS, st.integers(1, 8), st.integers(1, 8))
def test_pieces_of_long_sentences_equal_those_from_a_list_of_words(text: str, limit: int, piece: int) -> None:
    words = [match.span() for match in split._WORD.finditer(text)]
    expected = [(0, len(text))]
    if len(words) > limit:
        firsts = range(0, max(len(words) - 2, 1), piece)
        expected = [(words[a][0], words[b - 1][1]) for a, b in pairwise([*firsts, len(words)])]
    assert list(split._pieces(text, 0, len(text), limit, piece)) == expected


def test_the_main_script_is_counted_in_all_pieces() -> None:
    assert main_script("abc" + "\u0431" * 200_000) == "cyrillic"
    assert main_script("\u0431" + "a" * 200_000) == "latin"
