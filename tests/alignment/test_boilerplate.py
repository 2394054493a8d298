"""Which sentences are formal: captions, headings, bare citations, very short ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rprs.alignment.boilerplate import is_formal, plain_sentences
from rprs.alignment.words import codes_of

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
TEXTS = st.lists(
    st.sampled_from(
        "the rent of houses THE Court Jones v. 12 U.S. 3d, at § 5 — “and don't o'clock owner’s 'tis é 第 ß x_y 12abc"
        " abc12 a''b".split()
    ),
    max_size=14,
).map(" ".join)


def plain(*texts: str) -> list[bool]:
    """Of each text, as a sentence of one document, whether it is surely not formal."""
    ends = np.cumsum([len(text) + 1 for text in texts])
    starts = ends - [len(text) + 1 for text in texts]
    return list(plain_sentences(codes_of("\n".join(texts)), np.stack((starts, ends - 1), axis=1)).tolist())


@pytest.mark.parametrize("text", FORMAL)
def test_formal_sentences(text: str) -> None:
    assert is_formal(text)
    assert plain(text) == [False]


def test_plain_sentences_are_not_formal() -> None:
    assert not any(map(is_formal, INFORMAL))
    assert all(plain(*INFORMAL))


@given(st.lists(TEXTS | st.text(max_size=40), min_size=1, max_size=4))
@example(["a a a a é"])
@example(["aé b c d e"])
def test_what_the_compiled_look_lets_pass_is_never_formal(texts: list[str]) -> None:
    for text, passed in zip(texts, plain(*texts), strict=True):
        assert not (passed and is_formal(text))
