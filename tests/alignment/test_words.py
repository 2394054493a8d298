"""Folded words: the same words are equal however they are typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs.alignment.words import fold_words, resolve_breaks


def words(text: str) -> list[str]:
    folded = fold_words(text)
    return [text[start:end] for start, end in zip(folded.starts, folded.ends, strict=True)]


def equal(left: str, right: str) -> bool:
    return bool(fold_words(left).hashes.tolist() == fold_words(right).hashes.tolist())


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("The Licensee’s “own” risk", "the LICENSEE'S 'own'   risk"),
        ("a well-known rule — not new", "a well known rule, not\nnew"),
        ("ﬁne ﬂour", "fine flour"),
        ("Été e\u0301te\u0301", "e\u0301te\u0301 ÉTÉ"),
        ("STRASSE Straße", "straße STRASSE"),
        ("co\u00adoperate zero\u200bwidth", "cooperate zerowidth"),
        ("ＡＢＣ１２３", "abc123"),
        ("각", "\u1100\u1161\u11a8"),
        ("İstanbul", "i\u0307stanbul"),
    ],
)
def test_the_same_words(left: str, right: str) -> None:
    assert equal(left, right)


@pytest.mark.parametrize(("left", "right"), [("is", "was"), ("a b", "ab"), ("état", "etat"), ("5", "6"), ("", "a")])
def test_other_words(left: str, right: str) -> None:
    assert not equal(left, right)


def test_scripts_without_spaces_have_a_word_for_each_character() -> None:
    assert words("日本語の本。") == ["日", "本", "語", "の", "本"]
    assert words("หน้า") == ["ห", "น้", "า"]
    assert words("हिन्दी भाषा") == ["हिन्दी", "भाषा"]


def test_nothing_else_counts() -> None:
    assert words("") == words(" \n\t") == words("?! — …") == words("\x00") == []
    assert words("\x00one\x00two_three _four_") == ["one", "two", "three", "four"]


def test_a_blank_to_fill_in_is_a_word() -> None:
    assert words("Cite as: 558 U. S. ____ (2009)") == ["Cite", "as", "558", "U", "S", "____", "2009"]
    assert equal("Signed: ______", "signed ___")


def test_a_word_that_a_line_break_divides() -> None:
    broken, whole = fold_words("The govern-\nment of well-\nknown men"), fold_words("the government of well known men")
    assert resolve_breaks(broken, whole).hashes.tolist() == whole.hashes.tolist()
    assert len(broken) == 7
    assert resolve_breaks(broken, fold_words("other")) is broken
    assert resolve_breaks(whole, broken) is whole


@given(st.text(max_size=80))
def test_words_are_in_the_text(text: str) -> None:
    folded = fold_words(text)
    assert all(text[start:end].strip() for start, end in zip(folded.starts, folded.ends, strict=True))
    assert (folded.starts < folded.ends).all()
    assert (folded.ends[:-1] <= folded.starts[1:]).all()


@given(st.text(max_size=80))
def test_white_space_and_case_of_ascii_do_not_matter(text: str) -> None:
    plain = "".join(character for character in text if character.isascii())
    assert equal(plain, plain.upper())
    assert equal(plain, f"\n {plain.lower()}  ")
