"""What the words of two texts have in common, in one compiled call: identical runs, and versions of sentences.

A list of results compares ten documents with a query in threads. Each call of a compiled function gives Python's lock
away and has to get it back, so threads that make many short calls wait for each other most of the time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.candidates import find_similar
from rprs.alignment.sides import Side
from rprs.alignment.tables import Ints, number_keys
from rprs.alignment.verbatim import find_runs
from rprs.alignment.versions import find_versions, similarities
from rprs.compiled import compiled

__all__ = ["WordMatches", "match_words", "shares"]


class WordMatches(NamedTuple):
    """Identical runs, and the v versions of sentences that are not identical as a whole in both texts."""

    runs: Ints  # (m, 4): first word and stop in the query, then in the document
    query_open: NDArray[np.bool_]  # which sentences have words outside of all runs
    document_open: NDArray[np.bool_]
    numbers: Ints  # (w,): the words of the document as numbers of the query
    versions: Ints  # (v, 4): first sentence and stop in the query, then in the document
    similarity: NDArray[np.float64]  # (v,): the share of words in common; NaN where both are too long for compiled code


def match_words(query: Side, document: Side) -> WordMatches:
    """What the words of two texts have in common."""
    ours, pairs = query.sequences, query.word_pairs
    tables = (ours.words, ours.bounds, ours.windows, ours.short, ours.hashes), pairs.table, pairs.word_table
    return WordMatches(*_match(*tables, document.words.hashes, document.bounds))


@compiled
def _match(sequences: Any, pairs: Any, word_table: Any, others: Any, other_bounds: Any) -> Any:
    words, bounds, windows, short, hashes = sequences
    slots, distinct, own_numbers = word_table
    runs = find_runs(words, windows, short, hashes, others, other_bounds)
    opened = shares(runs[:, :2], bounds) < 1
    other_opened = shares(runs[:, 2:], other_bounds) < 1
    numbers = number_keys(others, slots, distinct)
    found = find_similar(others, numbers, other_bounds, own_numbers, bounds, pairs)
    candidates = found[opened[found[:, 0]] | other_opened[found[:, 1]]]
    versions = find_versions(candidates, bounds, other_bounds)
    similarity = similarities(versions, bounds, other_bounds, own_numbers, numbers)
    return runs, opened, other_opened, numbers, versions, similarity


@compiled
def shares(ranges: Any, bounds: Any) -> Any:
    """(m,): the share of the words of each sentence within some ranges; 1 for a sentence without words."""
    within = np.zeros(bounds[-1], dtype=np.bool_)
    for number in range(len(ranges)):
        within[ranges[number, 0] : ranges[number, 1]] = True
    found = np.ones(len(bounds) - 1)
    for sentence in range(len(found)):
        first, stop = bounds[sentence], bounds[sentence + 1]
        if stop > first:
            found[sentence] = within[first:stop].sum() / (stop - first)
    return found
