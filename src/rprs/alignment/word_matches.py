"""What the words of texts have in common, in one compiled call: identical runs, and edited sentences.

A list of results compares ten documents with a query. Each call of a compiled function gives Python's lock away and has
to get it back, so threads that make many short calls wait for each other most of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.candidates import find_similar
from rprs.alignment.reworded import Edited, find_edited
from rprs.alignment.sides import Side
from rprs.alignment.tables import Ints, number_keys
from rprs.alignment.verbatim import find_runs
from rprs.alignment.versions import find_versions
from rprs.compiled import compiled

__all__ = ["WordMatches", "ends_of", "match_words", "shares"]


class WordMatches(NamedTuple):
    """Identical runs, edited sentences, and whether any sentence has words outside of all runs."""

    runs: Ints  # (m, 4): first word and stop in the query, then in the document
    edited: Edited
    has_open: bool


def match_words(query: Side, documents: Sequence[Side]) -> list[WordMatches]:
    """What the words of a text have in common with those of each of some others."""
    if not documents:
        return []
    ours, pairs = query.sequences, query.word_pairs
    tables = (ours.words, ours.bounds, ours.windows, ours.short, ours.hashes), pairs.table, pairs.word_table
    words, word_ends = _joined([document.words.hashes for document in documents])
    bounds, bound_ends = _joined([document.bounds for document in documents])
    found = _match_all(*tables, words, word_ends, bounds, bound_ends)
    (runs, run_ends), (ranges, ends), similarity, (blocks, block_ends), opened = found
    return [
        WordMatches(
            runs[run_ends[place] : run_ends[place + 1]],
            Edited(
                ranges[ends[place] : ends[place + 1]],
                similarity[ends[place] : ends[place + 1]],
                blocks[block_ends[place] : block_ends[place + 1]],
            ),
            bool(opened[place]),
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
    opened = np.empty(size, dtype=np.bool_)
    runs, ranges, blocks = [np.empty((0, 4), np.int64)], [np.empty((0, 4), np.int64)], [np.empty((0, 4), np.int64)]
    similarity = [np.empty(0)]
    for place in range(size):
        words = others[word_ends[place] : word_ends[place + 1]]
        bounds = other_bounds[bound_ends[place] : bound_ends[place + 1]]
        own_runs, own_ranges, own_similarity, own_blocks, opened[place] = _match(
            sequences, pairs, word_table, words, bounds
        )
        runs.append(own_runs)
        ranges.append(own_ranges)
        similarity.append(own_similarity)
        blocks.append(own_blocks)
    joined, ends = _join_rows(ranges)
    values = np.empty(len(joined))
    for place in range(size):
        own = similarity[place + 1]
        for row in range(len(own)):
            values[ends[place] + row] = own[row]
    return _join_rows(runs), (joined, ends), values, _join_rows(blocks), opened


@compiled
def _join_rows(parts: Any) -> Any:
    """All rows of (m, 4) arrays, of which the first is empty, and where those of each of the others end, after a 0."""
    ends = np.zeros(len(parts), dtype=np.int64)
    for place in range(1, len(parts)):
        ends[place] = ends[place - 1] + len(parts[place])
    rows = np.empty((ends[-1], 4), dtype=np.int64)
    for place in range(1, len(parts)):
        part, first = parts[place], ends[place - 1]
        for row in range(len(part)):
            for column in range(4):
                rows[first + row, column] = part[row, column]
    return rows, ends


@compiled(inline="always")
def _match(sequences: Any, pairs: Any, word_table: Any, others: Any, other_bounds: Any) -> Any:
    words, bounds, windows, short, hashes = sequences
    slots, distinct, own_numbers = word_table
    numbers = number_keys(others, slots, distinct)
    runs = find_runs(words, windows, short, hashes, others, other_bounds, numbers < len(distinct))
    opened = shares(runs[:, :2], bounds) < 1
    other_opened = shares(runs[:, 2:], other_bounds) < 1
    found = find_similar(others, numbers, other_bounds, own_numbers, bounds, pairs)
    versions = find_versions(_of_open(found, opened, other_opened), bounds, other_bounds)
    ranges, similarity, blocks = find_edited(
        versions, opened, other_opened, bounds, other_bounds, own_numbers, numbers, runs
    )
    return runs, ranges, similarity, blocks, opened.any() or other_opened.any()


@compiled
def _of_open(candidates: Any, opened: Any, other_opened: Any) -> Any:
    """The candidates of which a sentence is open; they are moved to the front."""
    count = 0
    for number in range(len(candidates)):
        left, right, shared = candidates[number]
        if opened[left] or other_opened[right]:
            candidates[count, 0], candidates[count, 1], candidates[count, 2] = left, right, shared
            count += 1
    return candidates[:count]


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
