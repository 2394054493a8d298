"""Which sentences are formal: captions, headings, bare citations, very short ones."""

from __future__ import annotations

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rprs.alignment.boilerplate import formal_texts, is_formal

FORMAL = (
    "Supreme Court of United States.",
    "ARGUED JANUARY 3, 1994.",
    "Smith v. Jones, 12 U.S. 345, 350 (1901).",
    "Id., at 12.",
    "第一章",
)
INFORMAL = (
    "The tenant did not pay the rent on the first day of the month.",
    "I told Mary that it is so.",
    "In 1994 the owner’s agent sold 12 of the 30 houses that he had bought.",
)
ASCII = string.ascii_letters + string.digits + " '.,_-"
TEXTS = st.lists(
    st.sampled_from(
        "the rent of houses THE Court Jones v. 12 U.S. 3d, at § 5 — “and don't o'clock owner’s 'tis é 第 ß x_y 12abc"
        " abc12 a''b".split()
    ),
    max_size=14,
).map(" ".join)


@pytest.mark.parametrize("text", FORMAL)
def test_formal_sentences(text: str) -> None:
    assert is_formal(text)


def test_plain_sentences_are_not_formal() -> None:
    assert not any(map(is_formal, INFORMAL))


@given(st.lists(TEXTS | st.text(max_size=40) | st.text(ASCII, max_size=60), min_size=1, max_size=4))
@example(["a a a a é"])
@example(["aé b c d e"])
@example(["a''b c d E F"])
@example(["See id., at 44699, 44739."])
@example(["NO PERSON SHALL BE DEPRIVED OF PROPERTY WITHOUT COMPENSATION, NOR SHALL ANY STATE DENY IT TO ANYBODY HERE"])
@example([])
def test_many_texts_are_judged_like_each_of_them(texts: list[str]) -> None:
    assert formal_texts(texts).tolist() == [is_formal(text) for text in texts]
