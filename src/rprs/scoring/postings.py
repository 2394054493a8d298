"""Postings in blocks of documents, so that the scores to which they are added stay in the cache.

Scores are added up term at a time. With millions of documents, those of a segment do not fit into the cache, and nearly
every addition waits for memory. So all terms are added for one block of documents after the other: each document still
receives its terms in the same order, and its score is the same to the last bit.
"""

from __future__ import annotations

from rprs.compiled import compiled

__all__ = ["BLOCK", "cut"]

BLOCK = 2**17  # documents: 1 MB of scores, and as much for what they are computed from


@compiled
def cut(documents, stops, limit, starts, ends, following):  # type: ignore[no-untyped-def]
    """Move `starts` and `ends` of all terms to their postings before document `limit`; a negative limit takes all.

    `ends` are those of the block before, and `following` the documents there, or -1 before the first block.
    """
    for term in range(stops.size):
        starts[term] = ends[term]
        if limit < 0:
            ends[term] = stops[term]
        elif following[term] < limit and ends[term] < stops[term]:
            ends[term] = _first_from(documents, ends[term], stops[term], limit)
            if ends[term] < stops[term]:
                following[term] = documents[ends[term]]


@compiled
def _first_from(documents, low, high, limit):  # type: ignore[no-untyped-def]
    """The first place from `low` to `high` whose document is not before the limit; documents ascend."""
    step = 1
    while low + step < high and documents[low + step] < limit:
        low += step
        step *= 2
    high = min(low + step, high)
    while low < high:
        middle = (low + high) >> 1
        if documents[middle] < limit:
            low = middle + 1
        else:
            high = middle
    return low
