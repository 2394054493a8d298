"""A match between words of two texts, before it becomes a pair: ranges of words instead of characters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from rprs.alignment.values import Kind

__all__ = ["Match", "Range", "join_neighbours"]

Range = tuple[int, int]  # words: first, stop


@dataclass(frozen=True, slots=True)
class Match:
    """Words of the query and their counterpart in the document."""

    kind: Kind
    query: Range
    document: Range
    similarity: float
    equal: tuple[tuple[int, int, int], ...] = ()  # of a reworded match: query word, document word, number of words

    @property
    def words(self) -> int:
        """The number of words on both sides."""
        return self.query[1] - self.query[0] + self.document[1] - self.document[0]


def join_neighbours(matches: Iterable[Match]) -> list[Match]:
    """Matches of one kind that continue each other in both texts become one; in the order of the query."""
    joined: list[Match] = []
    ends: dict[tuple[Kind, int, int], int] = {}  # kind and both ends of a match → its place in `joined`
    for match in sorted(set(matches), key=lambda match: (match.query, match.document)):
        place = ends.pop((match.kind, match.query[0], match.document[0]), None)
        if place is None:
            place = len(joined)
            joined.append(match)
        else:
            joined[place] = _join(joined[place], match)
        ends[match.kind, joined[place].query[1], joined[place].document[1]] = place
    return sorted(joined, key=lambda match: (match.query, match.document))


def _join(left: Match, right: Match) -> Match:
    similarity = (left.similarity * left.words + right.similarity * right.words) / (left.words + right.words)
    return replace(
        left,
        query=(left.query[0], right.query[1]),
        document=(left.document[0], right.document[1]),
        similarity=similarity,
        equal=left.equal + right.equal,
    )
