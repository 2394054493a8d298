"""What the words of texts have in common, in one compiled call: identical runs, and versions of sentences.

A list of results compares ten documents with a query. Each call of a compiled function gives Python's lock away and has
to get it back, so threads that make many short calls wait for each other most of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.candidates import find_similar
from rprs.alignment.sides import Side
from rprs.alignment.tables import Ints, number_keys
from rprs.alignment.verbatim import find_runs
from rprs.alignment.versions import find_versions, similarities
from rprs.compiled import compiled

__all__ = ["WordMatches", "ends_of", "match_words", "shares"]


class WordMatches(NamedTuple):
    """Identical runs, and the v versions of sentences that are not identical as a whole in both texts."""

    runs: Ints  # (m, 4): first word and stop in the query, then in the document
    query_open: NDArray[np.bool_]  # which sentences have words outside of all runs
    document_open: NDArray[np.bool_]
    numbers: Ints  # (w,): the words of the document as numbers of the query
    versions: Ints  # (v, 4): first sentence and stop in the query, then in the document
    similarity: NDArray[np.float64]  # (v,): the share of words in common; NaN where both are too long for compiled code

    @property
    def has_open(self) -> bool:
        """Whether any sentence has words outside of all runs."""
        return bool(self.query_open.any() or self.document_open.any())


def match_words(query: Side, documents: Sequence[Side]) -> list[WordMatches]:
    """What the words of a text have in common with those of each of some others."""
    if not documents:
        return []
    ours, pairs = query.sequences, query.word_pairs
    tables = (ours.words, ours.bounds, ours.windows, ours.short, ours.hashes), pairs.table, pairs.word_table
    words, word_ends = _joined([document.words.hashes for document in documents])
    bounds, bound_ends = _joined([document.bounds for document in documents])
    found = _match_all(*tables, words, word_ends, bounds, bound_ends)
    runs, run_ends, query_open, document_open, numbers, versions, version_ends, similarity = found
    return [
        WordMatches(
            runs[run_ends[place] : run_ends[place + 1]],
            query_open[place],
            document_open[bound_ends[place] : bound_ends[place + 1] - 1],
            numbers[word_ends[place] : word_ends[place + 1]],
            versions[version_ends[place] : version_ends[place + 1]],
            similarity[version_ends[place] : version_ends[place + 1]],
        )
        for place in range(len(documents))
    ]


def ends_of(sizes: Sequence[int]) -> Ints:
    """Where each of some parts ends, after a 0."""
    return np.cumsum([0, *sizes], dtype=np.int64)


def _joined(arrays: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], Ints]:
    return np.concatenate(arrays), ends_of([len(array) for array in arrays])


@compiled
def _match_all(
    sequences: Any, pairs: Any, word_table: Any, others: Any, word_ends: Any, other_bounds: Any, bound_ends: Any
) -> Any:
    """The results of all documents, one after the other; `ends` say where those of each end."""
    size = len(word_ends) - 1
    opened = np.empty((size, len(sequences[1]) - 1), dtype=np.bool_)
    other_opened = np.zeros(len(other_bounds), dtype=np.bool_)
    numbers = np.empty(len(others), dtype=np.int64)
    runs, versions, similarity = [np.empty((0, 4), np.int64)], [np.empty((0, 4), np.int64)], [np.empty(0)]
    for place in range(size):
        words = others[word_ends[place] : word_ends[place + 1]]
        bounds = other_bounds[bound_ends[place] : bound_ends[place + 1]]
        own_runs, own_opened, theirs, own_numbers, own_versions, own_similarity = _match(
            sequences, pairs, word_table, words, bounds
        )
        opened[place] = own_opened
        other_opened[bound_ends[place] : bound_ends[place + 1] - 1] = theirs
        numbers[word_ends[place] : word_ends[place + 1]] = own_numbers
        runs.append(own_runs)
        versions.append(own_versions)
        similarity.append(own_similarity)
    joined_runs, run_ends = _join_rows(runs)
    joined_versions, version_ends = _join_rows(versions)
    joined = np.empty(len(joined_versions))
    for place in range(size):
        joined[version_ends[place] : version_ends[place + 1]] = similarity[place + 1]
    return joined_runs, run_ends, opened, other_opened, numbers, joined_versions, version_ends, joined


@compiled
def _join_rows(parts: Any) -> Any:
    """All rows of (m, 4) arrays, of which the first is empty, and where those of each of the others end, after a 0."""
    ends = np.zeros(len(parts), dtype=np.int64)
    for place in range(1, len(parts)):
        ends[place] = ends[place - 1] + len(parts[place])
    rows = np.empty((ends[-1], 4), dtype=np.int64)
    for place in range(1, len(parts)):
        rows[ends[place - 1] : ends[place]] = parts[place]
    return rows, ends


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
