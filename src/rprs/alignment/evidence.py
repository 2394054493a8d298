"""The most telling pairs of an alignment: distinct × long × similar; boilerplate only if there is nothing better."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.matches import Matches
from rprs.alignment.values import Pair

__all__ = ["choose_telling", "length_of", "lengths_of", "most_telling", "unchanged"]

LONGEST = 60  # words: a longer passage is not more telling


def lengths_of(matches: Matches) -> NDArray[np.float64]:
    """(m,): the words of the shorter side, up to a limit, × similarity: a pair is never more telling than that."""
    first, stop, start, end = matches.ranges.T
    return np.asarray(np.minimum(np.minimum(stop - first, end - start), LONGEST) * matches.similarity)


def most_telling(pairs: Sequence[Pair], size: int) -> tuple[Pair, ...]:
    """Up to `size` pairs, the longest and most similar first; no two of them share characters of either text."""
    flags = [pair.boilerplate for pair in pairs]
    return tuple(pairs[number] for number in choose_telling(pairs, size, flags, [1.0] * len(pairs)))


def choose_telling(
    pairs: Sequence[Pair], size: int, boilerplate: Sequence[bool], distinctness: Sequence[float]
) -> list[int]:
    """The numbers of up to `size` pairs, the most telling first; no two of them share characters of either text."""
    order = sorted(
        range(len(pairs)),
        key=lambda number: (
            boilerplate[number],
            -distinctness[number] * length_of(pairs[number]),
            pairs[number].query_span,
            pairs[number].document_span,
        ),
    )
    chosen: list[int] = []
    for number in order:
        if len(chosen) == size:
            break
        if not any(_overlap(pairs[number], pairs[other]) for other in chosen):
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


def length_of(pair: Pair) -> float:
    """The same as `lengths_of` for a pair."""
    return min(pair.query_words, pair.document_words, LONGEST) * pair.similarity


def _overlap(pair: Pair, other: Pair) -> bool:
    """Whether two pairs share characters on either side."""
    spans = ((pair.query_span, other.query_span), (pair.document_span, other.document_span))
    return any(start < other_end and other_start < end for (start, end), (other_start, other_end) in spans)
