"""Sentences that express the same idea in other words: the most similar vectors, above a calibrated bar.

Captions, headings and bare citations express no idea, so they are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.boilerplate import FORMAL, FUNCTION_WORDS, NOT_FORMAL, UNSURE, classify
from rprs.alignment.calibration import Calibration
from rprs.alignment.sides import Side
from rprs.alignment.tables import Ints
from rprs.alignment.word_matches import ends_of, shares
from rprs.compiled import compiled
from rprs.scoring.partners import NONE, Best, Stored, best_partners
from rprs.scoring.threads import one_blas_thread

__all__ = ["Partners", "find_partners", "same_ideas"]

COLUMNS = 2**13  # sentences of several documents that are compared in one go
MOSTLY = 0.5  # of the words of a sentence: if more of them have a stronger match, no weaker one is looked for


class Partners(NamedTuple):
    """Sentences with vectors and their best partners, where these reach the bar: those of the query come first.

    Numbers are those of the vectors. Two sentences that are the best of each other are there twice.
    """

    queries: int  # how many are the best partners of sentences of the query
    rows: Ints  # (p,): sentences of the query
    columns: Ints  # (p,): of the document
    similarity: NDArray[Any]  # (p,)


def find_partners(query: Side, documents: Sequence[Side], calibration: Calibration) -> list[Partners | None]:
    """The best partner of each sentence by its vector, in both directions, for each document that has vectors."""
    found: list[Partners | None] = [None] * len(documents)
    places = [place for place, document in enumerate(documents) if len(document.with_ideas)]
    if not len(query.with_ideas):
        return found
    other_bar = calibration.bar(len(query.sentences))
    for some in _groups(places, [len(documents[place].with_ideas) for place in places]):
        bars = np.array([calibration.bar(len(documents[place].sentences)) for place in some])
        stored = _joined_vectors([documents[place] for place in some])
        with one_blas_thread():  # two would wait for each other when several searches run
            rows, columns = best_partners(query.vectors, stored, bars, other_bar)
        for number, place in enumerate(some):
            own = slice(stored.ends[number], stored.ends[number + 1])
            of_document = Best(columns.similarity[own], columns.partner[own])
            found[place] = _as_partners(Best(rows.similarity[number], rows.partner[number]), of_document)
    return found


def _groups(places: Sequence[int], sizes: Sequence[int]) -> Iterator[list[int]]:
    """Documents that are compared in one go, in their order: one, or several with at most `COLUMNS` sentences."""
    group: list[int] = []
    count = 0
    for place, size in zip(places, sizes, strict=True):
        if group and count + size > COLUMNS:
            yield group
            group, count = [], 0
        group.append(place)
        count += size
    if group:
        yield group


def _joined_vectors(documents: Sequence[Side]) -> Stored:
    """The vectors of the sentences that have ideas, one document after the other."""
    ends = ends_of([len(document.with_ideas) for document in documents])
    if len(documents) == 1:
        return Stored(documents[0].sentences.vectors, documents[0].with_ideas, ends)
    starts = ends_of([len(document.sentences) for document in documents])[:-1].tolist()
    rows = [start + document.with_ideas for start, document in zip(starts, documents, strict=True)]
    return Stored(np.concatenate([each.sentences.vectors for each in documents]), np.concatenate(rows), ends)


def same_ideas(
    query: Side, document: Side, partners: Partners, runs: Ints, edited: Ints
) -> tuple[Ints, NDArray[np.float64]]:
    """(m, 4) and (m,): ranges of words, and how similar they are, for the partners of open sentences.

    A sentence is open unless most of its words are within identical `runs` or `edited` ranges. Partners of which either
    is formal are left out.
    """
    sides = (query.bounds, document.bounds, query.with_ideas, document.with_ideas, query.formal.columns)
    while True:
        ranges, values, unsure = _open_partners(
            runs, edited, *partners, *sides, document.formal.columns, FUNCTION_WORDS
        )
        if not unsure:
            return ranges, values
        query.formal.settle()
        document.formal.settle()


@compiled
def _open_partners(
    runs: Any,
    edited: Any,
    queries: int,
    rows: Any,
    columns: Any,
    similarity: Any,
    bounds: Any,
    other_bounds: Any,
    ours: Any,
    theirs: Any,
    formal: Any,
    other_formal: Any,
    function_words: Any,
) -> Any:
    """The words of the partners of open sentences, how similar these are, and whether it is unsure which are formal."""
    matched = np.concatenate((runs, edited))
    opened = shares(matched[:, :2], bounds) <= MOSTLY
    other_opened = shares(matched[:, 2:], other_bounds) <= MOSTLY
    ranges, values, count = np.empty((len(rows), 4), dtype=np.int64), np.empty(len(rows), dtype=np.float64), 0
    unsure = False
    for number in range(len(rows)):
        row, column = ours[rows[number]], theirs[columns[number]]
        if not (opened[row] if number < queries else other_opened[column]):
            continue
        kind = classify(formal, row, function_words)
        if kind != FORMAL:
            kind = max(kind, classify(other_formal, column, function_words))
        unsure |= kind == UNSURE
        if kind == NOT_FORMAL:
            ranges[count, 0], ranges[count, 1] = bounds[row], bounds[row + 1]
            ranges[count, 2], ranges[count, 3] = other_bounds[column], other_bounds[column + 1]
            values[count] = min(similarity[number], 1)
            count += 1
    return ranges[:count], values[:count], unsure


def _as_partners(rows: Best, columns: Best) -> Partners:
    own, other = np.flatnonzero(rows.similarity > NONE), np.flatnonzero(columns.similarity > NONE)
    return Partners(
        len(own),
        np.concatenate((own, columns.partner[other])),
        np.concatenate((rows.partner[own], other)),
        np.concatenate((rows.similarity[own], columns.similarity[other])),
    )
