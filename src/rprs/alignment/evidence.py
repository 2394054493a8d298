"""The most telling pairs of an alignment: distinct, long and similar; boilerplate only if there is nothing better."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rprs.alignment.values import Pair

__all__ = ["most_telling"]

LONGEST = 60  # words: a longer passage is not more telling


def _equally(_: Pair) -> float:
    return 1.0


def most_telling(
    pairs: Sequence[Pair], size: int, distinctness: Callable[[Pair], float] = _equally
) -> tuple[Pair, ...]:
    """Up to `size` pairs, the most telling first; no two of them share characters of either text."""

    def weight(pair: Pair) -> float:
        words = min(pair.query_words, pair.document_words, LONGEST)
        return distinctness(pair) * words * pair.similarity

    order = sorted(pairs, key=lambda pair: (pair.boilerplate, -weight(pair), pair.query_span, pair.document_span))
    chosen: list[Pair] = []
    for pair in order:
        if len(chosen) == size:
            break
        if not any(_overlap(pair, other) for other in chosen):
            chosen.append(pair)
    return tuple(chosen)


def _overlap(pair: Pair, other: Pair) -> bool:
    """Whether two pairs share characters on either side."""
    spans = ((pair.query_span, other.query_span), (pair.document_span, other.document_span))
    return any(start < other_end and other_start < end for (start, end), (other_start, other_end) in spans)
