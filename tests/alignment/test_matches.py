"""The joining of neighbouring matches, against a literal version of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs.alignment.matches import Match, join_neighbours
from rprs.alignment.values import KINDS

LENGTHS = st.integers(1, 2)
PLACES = st.integers(0, 4)


@st.composite
def any_matches(draw: st.DrawFn) -> list[Match]:
    """Matches within a few words, so that many of them continue each other; no two kinds have the same ranges."""
    found: dict[tuple[int, ...], Match] = {}
    for _ in range(draw(st.integers(0, 12))):
        left, right = draw(PLACES), draw(PLACES)
        query, document = (left, left + draw(LENGTHS)), (right, right + draw(LENGTHS))
        similarity = draw(st.sampled_from([0.625, 0.7, 1.0]))
        match = Match(draw(st.sampled_from(KINDS)), query, document, similarity)
        found.setdefault((*query, *document), replace(match, parts=((*query, *document),)))
    return list(found.values())


def joined_literally(matches: list[Match]) -> list[Match]:
    joined: list[Match] = []
    ends: dict[tuple[str, int, int], int] = {}
    for match in sorted(matches, key=lambda match: (match.query, match.document)):
        place = ends.pop((match.kind, match.query[0], match.document[0]), None)
        if place is None:
            place = len(joined)
            joined.append(match)
        else:
            left, words = joined[place], joined[place].words
            joined[place] = Match(
                match.kind,
                (left.query[0], match.query[1]),
                (left.document[0], match.document[1]),
                (left.similarity * words + match.similarity * match.words) / (words + match.words),
                left.parts + match.parts,
            )
        ends[match.kind, match.query[1], match.document[1]] = place
    return sorted(joined, key=lambda match: (match.query, match.document))


@given(any_matches())
def test_matches_that_continue_each_other_become_one(matches: list[Match]) -> None:
    assert join_neighbours(matches) == joined_literally(matches)


@given(any_matches())
def test_repeated_matches_count_once(matches: list[Match]) -> None:
    assert join_neighbours([*matches, *matches[::-1]]) == join_neighbours(matches)


def test_the_similarity_of_a_joined_match_is_the_mean_by_words() -> None:
    first, second = Match("reworded", (0, 4), (10, 14), 0.75), Match("reworded", (4, 6), (14, 16), 0.5)
    (joined,) = join_neighbours([second, first])
    assert (joined.query, joined.document, joined.parts) == ((0, 6), (10, 16), ((0, 4, 10, 14), (4, 6, 14, 16)))
    assert joined.similarity == pytest.approx((0.75 * 8 + 0.5 * 4) / 12)
