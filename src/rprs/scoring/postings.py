"""Postings in blocks of documents, so that the scores to which they are added stay in the cache.

Scores are added up term at a time. Those of all documents of a segment, and what they are computed from, do not fit
into the cache of a core if there are more than some ten thousand, and most additions would wait for memory. So all
terms are added for one block of documents after the other: each document still receives its terms in the same order,
and its score is the same to the last bit. Documents ascend, so a term's postings in a block end where a document of a
later block begins.

A term of a block often starts in memory that nobody has read for long, so the postings of the next terms are requested
in advance, and so are those that follow in a long run.
"""

from __future__ import annotations

import numpy as np

from rprs.compiled import compiled
from rprs.scoring.prefetch import prefetch

__all__ = ["AHEAD", "BLOCK", "LINE", "TERMS_AHEAD", "add_live", "next_document", "request"]

BLOCK = 2**15  # documents: 256 kB of scores, and as much for what they are computed from
AHEAD = 512  # postings, from which on those of a run are requested
TERMS_AHEAD = 4  # terms, whose first postings are requested
NONE_LEFT = 2**32  # more than any document
LINE = 16  # documents in a line of the cache, and at most as many counts


@compiled(inline="always")
def next_document(documents, place, stop):  # type: ignore[no-untyped-def]
    """The document at a place of the postings of a term, which end at `stop`."""
    return np.int64(documents[place]) if place < stop else NONE_LEFT


@compiled
def request(documents, counts, start, stop):  # type: ignore[no-untyped-def]
    """Request postings from memory."""
    for place in range(start, stop, LINE):
        prefetch(documents, place)
        prefetch(counts, place)


@compiled
def add_live(scores, numbers, local):  # type: ignore[no-untyped-def]
    """Add the `local` scores of a segment's documents to `scores`, by their numbers, which are -1 for deleted ones."""
    for row in range(local.size):
        number = np.uint64(numbers[row])  # -1 becomes greater than any size
        if number < scores.size:
            scores[number] += local[row]
