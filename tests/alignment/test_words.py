"""Folded words: the same words are equal however they are typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rprs
from rprs.alignment.words import fold_words, full_stops, resolve_breaks
from rprs.text.pieces import codes_of


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
        ("５％ of ＄１，０００", "5 % of $ 1,000"),
        ("at −5 °C", "at -5 °C"),
        ("at –5 °C", "at -5 °C"),
        ("1990–2000 –\nand 3 – 4", "1990-2000 and 3 4"),
        ("≠ 5", "=\u0338 5"),
        ("a | b ~ c", "a b c"),
        ("Results\n=====\nNone", "Results None"),
        ("+---+---+\n| 5 | 6 |\n+---+---+", "5 6"),
        ("+=====+\n| 5 |\n+=====+", "5"),
        ("On Monday:\n> The tenant\n> > may leave.\n>> So be it.", "On Monday: The tenant may leave. So be it."),
        ("in 2010. 5 of them, 6, (7.) [8]", "in 2010 5 of them 6 7 8"),
        ("well-known 5-10 A-5 No.-", "well known 5 10 A 5 No"),
    ],
)
def test_the_same_words(left: str, right: str) -> None:
    assert equal(left, right)


@pytest.mark.parametrize(("left", "right"), [("is", "was"), ("a b", "ab"), ("état", "etat"), ("5", "6"), ("", "a")])
def test_other_words(left: str, right: str) -> None:
    assert not equal(left, right)


@pytest.mark.parametrize(
    "texts",
    [
        ("5% of the income", "$5 of the income", "€5 of the income", "5‰ of the income", "5 of the income"),
        ("if x > 5", "if x < 5", "if x = 5", "if x ≥ 5", "if x == 5", "if x 5"),
        ("1.5", "1,5", "1 5", "15", "1/5", "1:5", "1·5"),
        ("1,000", "1.000", "1000", "1 000"),
        ("§ 5", "¶ 5", "§§ 5", "5"),
        ("-5", "+5", "±5", "5", "- 5%"),
        ("-$5", "$5", "+$5"),
        (".5", "5", "-.5", "0.5"),
        ("10²", "102", "10₂", "10³"),
        ("a + b", "a × b", "a ÷ b", "a b"),
        ("٣٫٥", "٣٬٥", "٣ ٥"),
        ("๑.๕", "๑,๕", "๑๕"),
        ("A → B", "A ← B", "A B"),
    ],
    ids=lambda texts: texts[0],
)
def test_signs_and_numbers_are_other_words(texts: tuple[str, ...]) -> None:
    assert len({tuple(fold_words(text).hashes.tolist()) for text in texts}) == len(texts)


def test_scripts_without_spaces_have_a_word_for_each_character() -> None:
    assert words("日本語の本。") == ["日", "本", "語", "の", "本"]
    assert words("หน้า") == ["ห", "น้", "า"]
    assert words("हिन्दी भाषा") == ["हिन्दी", "भाषा"]


def test_nothing_else_counts() -> None:
    assert words("") == words(" \n\t") == words("?! — …") == words("\x00") == []
    assert words("\x00one\x00two_three _four_") == ["one", "two", "three", "four"]


def test_signs_are_words_of_their_own() -> None:
    assert words("The rent is $5,000.50 (5%), see § 12.3.") == "The rent is $ 5,000.50 5 % see § 12.3".split()
    assert words("x>=-5, y<<.5 and a<b") == ["x", ">", "=", "-", "5", "y", "<<", ".5", "and", "a", "<", "b"]
    assert words("12/05/2010, 10:30; ibid.5") == ["12/05/2010", "10:30", "ibid", "5"]
    assert words("$____ a month") == ["$", "____", "a", "month"]
    assert words("ปี๒๕๖๓") == ["ปี", "๒๕๖๓"]


def test_no_sentence_ends_within_a_number() -> None:
    text = "It is 1.5. But 2.5 is more."
    folded = fold_words(text)
    assert [*full_stops(codes_of(text), folded)] == [0, 3, 7]


def test_a_blank_to_fill_in_is_a_word() -> None:
    assert words("Cite as: 558 U. S. ____ (2009)") == ["Cite", "as", "558", "U", "S", "____", "2009"]
    assert equal("Signed: ______", "signed ___")


def test_a_word_that_a_line_break_divides() -> None:
    broken, whole = fold_words("The govern-\nment of well-\nknown men"), fold_words("the government of well known men")
    assert resolve_breaks(broken, whole).hashes.tolist() == whole.hashes.tolist()
    assert len(broken) == 7
    assert resolve_breaks(broken, fold_words("other")) is broken
    assert resolve_breaks(whole, broken) is whole


SIGNS = "$€£¥¢%‰§¶<>=+×÷±≤≥−∑"


@given(
    before=st.lists(st.sampled_from(["the", "rent", "is", "5", "1,000", "(a)", "x"]), min_size=1, max_size=6),
    after=st.lists(st.sampled_from(["of", "5", ".5", "a.", "income", "“x”"]), min_size=1, max_size=6),
    signs=st.lists(st.sampled_from(["", *SIGNS]), min_size=2, max_size=2, unique=True),
    space=st.sampled_from(["", " ", "\n"]),
)
def test_texts_that_differ_in_a_sign_are_never_identical(
    before: list[str], after: list[str], signs: list[str], space: str
) -> None:
    left, right = (f"{' '.join(before)} {sign}{space}{' '.join(after)}" for sign in signs)
    assert not equal(left, right)
    alignment = rprs.align(left, right, encoder="hashed")
    assert alignment.relation != "identical"
    assert alignment.query_coverage.identical < max(alignment.query_coverage.words, alignment.document_coverage.words)


@given(st.lists(st.sampled_from("5 a . , - + = > $ § / : ( \n \u0338 ² _ 日 | ~".split(" ")), max_size=24).map("".join))
def test_any_signs(text: str) -> None:
    """Words do not overlap, no letter or digit is outside of them, and repeated folding finds the same."""
    folded = fold_words(text)
    covered = [place for start, end in zip(folded.starts, folded.ends, strict=True) for place in range(start, end)]
    assert covered == sorted(set(covered))
    assert {place for place, character in enumerate(text) if character.isalnum()} <= set(covered)
    assert equal(text, f"{text}\n")


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
