"""The most telling pairs of an alignment: distinct × long × similar; boilerplate only if there is nothing better."""

from __future__ import annotations

from collections.abc import Sequence

from rprs.alignment.matches import Match
from rprs.alignment.values import Pair

__all__ = ["by_length", "most_telling", "unchanged"]

LONGEST = 60  # words: a longer passage is not more telling


def by_length(matches: Sequence[Match]) -> list[Match]:
    """The matches by length × similarity, the largest first."""
    return sorted(matches, key=lambda match: (-_match_weight(match), match.query, match.document))


def most_telling(pairs: Sequence[Pair], size: int, distinctness: Sequence[float] | None = None) -> tuple[Pair, ...]:
    """Up to `size` pairs, the most telling first; no two of them share characters of either text."""
    weights = distinctness or [1.0] * len(pairs)
    order = sorted(
        zip(pairs, weights, strict=True),
        key=lambda item: (
            item[0].boilerplate,
            -item[1] * _weight(item[0]),
            item[0].query_span,
            item[0].document_span,
        ),
    )
    chosen: list[Pair] = []
    for pair, _ in order:
        if len(chosen) == size:
            break
        if not any(_overlap(pair, other) for other in chosen):
            chosen.append(pair)
    return tuple(chosen)


def unchanged(pair: Pair) -> list[str]:
    """The words of a reworded pair between its changes, as the query has them."""
    texts, start = [], pair.query_span[0]
    for change in pair.changes:
        texts.append(pair.query[start - pair.query_span[0] : change.query_span[0] - pair.query_span[0]])
        start = change.query_span[1]
    texts.append(pair.query[start - pair.query_span[0] :])
    return [text for text in texts if text.strip()]


def _weight(pair: Pair) -> float:
    return min(pair.query_words, pair.document_words, LONGEST) * pair.similarity


def _match_weight(match: Match) -> float:
    words = match.query[1] - match.query[0], match.document[1] - match.document[0]
    return min(*words, LONGEST) * match.similarity


def _overlap(pair: Pair, other: Pair) -> bool:
    """Whether two pairs share characters on either side."""
    spans = ((pair.query_span, other.query_span), (pair.document_span, other.document_span))
    return any(start < other_end and other_start < end for (start, end), (other_start, other_end) in spans)
