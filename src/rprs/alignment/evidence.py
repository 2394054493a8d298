"""The most telling pairs of an alignment: distinct × long × similar; boilerplate only if there is nothing better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rprs.alignment.matches import BELOW_ONE
from rprs.alignment.values import Pair, Span
from rprs.compiled import compiled
from rprs.scoring.sorting import ascending

__all__ = ["choose_telling", "longest_first", "most_telling", "unchanged"]

LONGEST = 60  # words: a longer passage is not more telling


@compiled
def longest_first(kinds: Any, ranges: Any, similarity: Any) -> Any:
    """The numbers of matches and their lengths; of equally long ones, the first in the query is the first.

    A length is the number of words of the shorter side, up to a limit, × the similarity that is shown.
    """
    lengths, ordered = np.empty((len(kinds), 1)), np.empty(len(kinds))
    for number in range(len(kinds)):
        first, stop, start, end = ranges[number]
        shown = similarity[number] if kinds[number] == 0 else min(similarity[number], BELOW_ONE)
        lengths[number, 0] = -min(stop - first, end - start, LONGEST) * shown
    order = ascending(lengths)
    for number in range(len(kinds)):
        ordered[number] = -lengths[order[number], 0]
    return order, ordered


def most_telling(pairs: Sequence[Pair], size: int) -> tuple[Pair, ...]:
    """Up to `size` pairs, the longest and most similar first; no two of them share characters of either text."""
    spans = [pair.query_span for pair in pairs], [pair.document_span for pair in pairs]
    flags = [pair.boilerplate for pair in pairs]
    return tuple(pairs[number] for number in choose_telling(*spans, list(map(_length_of, pairs)), flags, size))


def choose_telling(
    query_spans: Sequence[Span],
    document_spans: Sequence[Span],
    values: Sequence[float],
    boilerplate: Sequence[bool],
    size: int,
) -> list[int]:
    """The numbers of up to `size` pairs, the most telling first; no two of them share characters of either text."""
    spans = list(zip(query_spans, document_spans, strict=True))
    order = sorted(range(len(spans)), key=lambda number: (boilerplate[number], -values[number], spans[number]))
    chosen: list[int] = []
    for number in order:
        if len(chosen) == size:
            break
        if not any(_overlap(spans[number], spans[other]) for other in chosen):
            chosen.append(number)
    return chosen


def unchanged(pair: Pair) -> list[str]:
    """The words of a reworded pair between its changes, as the query has them."""
    texts, start = [], pair.query_span[0]
    for change in pair.changes:
        texts.append(pair.query[start - pair.query_span[0] : change.query_span[0] - pair.query_span[0]])
        start = change.query_span[1]
    texts.append(pair.query[start - pair.query_span[0] :])
    return [text for text in texts if text.strip()]


def _length_of(pair: Pair) -> float:
    """The same as in `longest_first` for a pair."""
    return min(pair.query_words, pair.document_words, LONGEST) * pair.similarity


def _overlap(spans: tuple[Span, Span], others: tuple[Span, Span]) -> bool:
    """Whether two pairs share characters on either side."""
    return any(
        start < other_end and other_start < end
        for (start, end), (other_start, other_end) in zip(spans, others, strict=True)
    )
