"""Claims of patents are recognised, and divided into elements; other numbered paragraphs are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs.charts.claims import find_claims

LOCK = """DESCRIPTION

1. The field of locks is old.
2. Bolts are made of steel.

What is claimed is:

1. A door lock comprising:
a bolt of steel that slides in a housing;
a spring that pushes the bolt; and
a motor that pulls the bolt, wherein the motor runs on a battery.

2. The door lock of claim 1, wherein the spring is conical.

3. A method for opening a door, comprising: heating; cooling; and turning the key.

ABSTRACT

A lock is described."""


def elements(text: str) -> list[tuple[str, str]]:
    return [(each.label, text[slice(*each.span)]) for claim in find_claims(text) for each in claim.elements]


def test_claims_and_their_elements() -> None:
    assert elements(LOCK) == [
        ("1[pre]", "1. A door lock comprising:"),
        ("1[a]", "a bolt of steel that slides in a housing;"),
        ("1[b]", "a spring that pushes the bolt; and"),
        ("1[c]", "a motor that pulls the bolt,"),
        ("1[d]", "wherein the motor runs on a battery."),
        ("2[a]", "2. The door lock of claim 1,"),
        ("2[b]", "wherein the spring is conical."),
        ("3[pre]", "3. A method for opening a door, comprising:"),
        ("3[a]", "heating;"),
        ("3[b]", "cooling; and"),
        ("3[c]", "turning the key."),
    ]


def test_a_claim_without_a_colon_and_without_a_heading() -> None:
    text = "1. A heating system comprising a controller.\n2. The system according to claim 1 with a pump."
    assert elements(text) == [
        ("1[pre]", "1. A heating system comprising"),
        ("1[a]", "a controller."),
        ("2", "2. The system according to claim 1 with a pump."),
    ]


def test_claims_in_other_languages() -> None:
    german = "Patentansprüche\n\n1. Schloss, umfassend:\neinen Riegel;\neine Feder.\n2. Schloss nach Anspruch 1."
    assert [label for label, _ in elements(german)] == ["1[pre]", "1[a]", "1[b]", "2"]
    french = (
        "Revendications\n1. Serrure comprenant un pêne.\n"
        "2. Serrure selon la revendication 1, caractérisée en ce que le pêne est conique."
    )
    assert [label for label, _ in elements(french)] == ["1[pre]", "1[a]", "2[a]", "2[b]"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1. The tenant pays the rent.\n2. The landlord repairs the roof.",
        "CLAIMS FOR RELIEF\n\n1. Plaintiff repeats what was said.\n2. Defendant owes damages.",
        "1. A set comprising a cup.\n2. The tenant pays the rent.\n3. The landlord repairs the roof.",
        "2. A lock comprising a bolt.\n3. The lock of claim 2.",
        "A lock comprising a bolt; a spring; and a key.",
    ],
)
def test_other_texts_have_no_claims(text: str) -> None:
    assert find_claims(text) == ()


def test_more_elements_than_letters() -> None:
    text = "1. A kit comprising: " + " ".join(f"part number {number};" for number in range(30))
    assert [label for label, _ in elements(text)][-4:] == ["1[aa]", "1[ab]", "1[ac]", "1[ad]"]


@given(st.text(alphabet="12.;: \nabwherein", max_size=120))
def test_elements_are_in_order_and_have_every_word(noise: str) -> None:
    text = f"1. A lock comprising: a bolt; {noise} and a key.\n2. The lock of claim 1."
    for claim in find_claims(text):
        place = claim.span[0]
        for element in claim.elements:
            start, end = element.span
            assert place <= start < end <= claim.span[1]
            assert not text[place:start].strip()
            place = end
        assert not text[place : claim.span[1]].strip()
