"""The encoder without weights."""

from __future__ import annotations

import pytest

from rprs.encode.hashed import Hashed
from rprs.errors import UsageError
from rprs.spec import parse
from rprs.testing.encoders import check_encoder


@pytest.mark.parametrize("dimension", [16, 256])
def test_hashed_fulfils_the_contract(dimension: int) -> None:
    check_encoder(Hashed(dimension))


def test_sentences_are_similar_if_they_share_words() -> None:
    whole, half, none = Hashed().encode(["a lease of land", "a lease of rooms", "purple dragons sing"])
    assert whole @ half > 0.5 > abs(whole @ none)
    assert Hashed().encode(["A LEASE, of land!"])[0] @ whole == pytest.approx(1)


def test_dimensions_must_be_positive() -> None:
    with pytest.raises(UsageError, match="must be an integer in"):
        parse("encoder", "hashed(dimension=0)")
