"""Postings in blocks of documents, so that the scores to which they are added stay in the cache.

Scores are added up term at a time. Those of all documents of a segment, and what they are computed from, do not fit
into the cache of a core if there are more than some ten thousand, and most additions would wait for memory. So all
terms are added for one block of documents after the other: each document still receives its terms in the same order,
and its score is the same to the last bit. Documents ascend, so a term's postings in a block end where a document of a
later block begins.
"""

from __future__ import annotations

import numpy as np

from rprs.compiled import compiled

__all__ = ["BLOCK", "add_live", "next_document"]

BLOCK = 2**15  # documents: 256 kB of scores, and as much for what they are computed from
NONE_LEFT = 2**32  # more than any document


@compiled(inline="always")
def next_document(documents, place, stop):  # type: ignore[no-untyped-def]
    """The document at a place of the postings of a term, which end at `stop`."""
    return np.int64(documents[place]) if place < stop else NONE_LEFT


@compiled
def add_live(scores, numbers, local):  # type: ignore[no-untyped-def]
    """Add the `local` scores of a segment's documents to `scores`, by their numbers, which are -1 for deleted ones."""
    for row in range(local.size):
        number = np.uint64(numbers[row])  # -1 becomes greater than any size
        if number < scores.size:
            scores[number] += local[row]
