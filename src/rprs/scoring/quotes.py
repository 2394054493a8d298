"""How long a quotation of a passage can be in a document, from the phrases that the document has.

A document with a run of words of the passage has every phrase of that run. So the run lies between phrases that the
document lacks, and the longest stretch of words without a whole missing phrase is an upper bound of its length.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled

__all__ = ["group_by_document", "longest_possible"]

Ints = NDArray[np.int64]


def longest_possible(
    words: int, first: Ints, last: Ints, phrase: Ints, offsets: Ints, phrases: Ints, least: int
) -> Ints:
    """(documents,): the greatest possible number of words of a common run; 0 if it is below `least`.

    Occurrence o of a phrase in the passage extends from word `first[o]` to word `last[o]`; the occurrences are ordered
    by `last`. Document d has the phrases `phrases[offsets[d]:offsets[d + 1]]`. A stretch counts only if it has a whole
    phrase.
    """
    bounds = np.zeros(len(offsets) - 1, dtype=np.int64)
    present = np.zeros(int(phrase.max(initial=-1)) + 1, dtype=np.bool_)
    _bound(words, first, last, phrase, offsets, phrases, least, present, bounds)
    return bounds


@compiled
def _bound(words, first, last, phrase, offsets, phrases, least, present, bounds):  # type: ignore[no-untyped-def]
    for document in range(bounds.size):
        own = phrases[offsets[document] : offsets[document + 1]]
        for each in own:
            present[each] = True
        left, recent, longest = 0, -1, 0  # recent: the latest start of a whole phrase so far
        for place in range(first.size):
            if present[phrase[place]]:
                recent = max(recent, first[place])
            elif first[place] >= left:
                if recent >= left:
                    longest = max(longest, last[place] - left)
                left = first[place] + 1
        if recent >= left:
            longest = max(longest, words - left)
        if longest >= least:
            bounds[document] = longest
        for each in own:
            present[each] = False


def group_by_document(documents: Ints, phrases: Ints, size: int) -> tuple[Ints, Ints]:
    """The phrases of each of `size` documents, from pairs in any order: offsets (size + 1,), and phrases."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(documents, minlength=size))]).astype(np.int64)
    grouped = np.empty(len(phrases), dtype=np.int64)
    _distribute(documents, phrases, offsets[:-1].copy(), grouped)
    return offsets, grouped


@compiled
def _distribute(documents, phrases, places, grouped):  # type: ignore[no-untyped-def]
    for row in range(documents.size):
        grouped[places[documents[row]]] = phrases[row]
        places[documents[row]] += 1
