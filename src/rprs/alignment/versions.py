"""Which sentences, or runs of neighbouring ones, are compared as versions of each other, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from rprs.alignment.candidates import CONTAINED, LEAST_SIMILARITY
from rprs.compiled import compiled

__all__ = ["GROUP_PENALTY", "find_versions"]

LONGEST_GROUP = 3  # neighbouring sentences that one sentence may have become
GROUP_PENALTY = 0.05  # a group must be that much more similar than a sentence


@compiled
def find_versions(candidates: Any, query: Any, document: Any) -> Any:
    """(v, 4): candidates as they are, and the shorter sentence with its neighbours if it may be a part of the longer.

    A candidate is a sentence of the query, one of the document, and the number of words that they share; `query` and
    `document` are the bounds of all sentences. A version has the first sentence and the stop of each side.
    """
    versions = np.empty((16, 4), dtype=np.int64)
    count = 0
    for number in range(len(candidates)):
        left, right, shared = candidates[number]
        sizes = query[left + 1] - query[left], document[right + 1] - document[right]
        shorter, longer = min(sizes), max(sizes)
        if count + 8 > len(versions):
            versions = np.concatenate((versions, np.empty_like(versions)))
        if 2 * shared >= LEAST_SIMILARITY * (shorter + longer):
            count = _add(versions, count, left, left + 1, right, right + 1)
        if not (shorter < 0.9 * longer and shared >= CONTAINED * shorter):
            continue
        of_document = sizes[0] >= sizes[1]  # the shorter sentence, which neighbours join
        bounds, middle = (document, right) if of_document else (query, left)
        for size in range(2, LONGEST_GROUP + 1):
            for first in range(max(middle - size + 1, 0), min(middle + 1, len(bounds) - size)):
                words = bounds[first + size] - bounds[first]
                if 2 * min(words, longer) >= (LEAST_SIMILARITY + GROUP_PENALTY) * (words + longer):
                    if of_document:
                        count = _add(versions, count, left, left + 1, first, first + size)
                    else:
                        count = _add(versions, count, first, first + size, right, right + 1)
    return versions[:count]


@compiled(inline="always")
def _add(versions: Any, count: Any, left: Any, stop: Any, right: Any, end: Any) -> Any:
    versions[count, 0], versions[count, 1], versions[count, 2], versions[count, 3] = left, stop, right, end
    return count + 1
