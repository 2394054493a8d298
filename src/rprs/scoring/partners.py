"""The most similar sentences of a text and some others, in both directions, where they reach a bar.

Few sentences have a partner, so products in 8 bits exclude nearly all of them (see `scoring.coarse`). Where these are
not faster, all similarities are computed. Both find the same, to the last bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled
from rprs.scoring import coarse
from rprs.scoring.coarse import Rounded, bound, similarity_of_half
from rprs.scoring.lists import POOL_ROWS, QUERY_ROWS, STRIDE, Wide
from rprs.scoring.widening import Vectors, widen_rows

__all__ = ["NONE", "Best", "Stored", "best_partners"]

Ints = NDArray[np.int64]

ROWS = 512  # sentences of the query that are compared at a time
NONE = -2.0  # less similar than any two vectors


class Best(NamedTuple):
    """The most similar partners; one of `NONE` similarity is none. Of equal ones, the first."""

    similarity: NDArray[Any]
    partner: Ints

    @classmethod
    def of(cls, shape: tuple[int, ...], dtype: Any) -> Best:
        """No partners yet."""
        return cls(np.full(shape, NONE, dtype=dtype), np.zeros(shape, dtype=np.int64))


class Stored(NamedTuple):
    """The sentences of some documents: rows of vectors as they are stored."""

    vectors: Vectors
    rows: Ints  # (r,)
    ends: Ints  # where the rows of each document end, after a 0


def best_partners(query: Wide, documents: Stored, bars: NDArray[np.float64], other_bar: float) -> tuple[Best, Best]:
    """(documents, query rows) and (rows,): the best partners of both, which reach their bars.

    The partners of query rows, counted from the first row of their document, reach the bar of this document, those of
    the documents' rows the other bar.
    """
    rows = len(documents.rows)
    found = Best.of((len(bars), len(query)), query.dtype), Best.of((rows,), query.dtype)
    compare = _compare_in_bytes if coarse.worth_using(query, rows) else _compare
    compare(query, documents, bars, other_bar, *found)
    return found


def _compare(
    query: Wide, documents: Stored, bars: NDArray[np.float64], other_bar: float, of_query: Best, of_documents: Best
) -> None:
    wide = widen_rows(documents.vectors, documents.rows)
    for start in range(0, len(query), ROWS):
        similarity = query[start : start + ROWS] @ wide.T
        _choose(similarity, start, documents.ends, bars, other_bar, *of_query, *of_documents)


def _compare_in_bytes(
    query: Wide, documents: Stored, bars: NDArray[np.float64], other_bar: float, of_query: Best, of_documents: Best
) -> None:
    stored, rows, ends = documents
    rounded = Rounded.of(query)
    own, signed = (rounded.steps, rounded.errors, rounded.lengths + rounded.errors), rounded.signed
    owners = np.repeat(np.arange(len(bars)), np.diff(ends))
    halves = np.ascontiguousarray(stored).view(np.uint16)
    block = Rounded(min(POOL_ROWS, len(rows)), stored.shape[1])
    for first in range(0, len(rows), POOL_ROWS):
        some = slice(first, first + POOL_ROWS)
        block.fill_from_halves(halves, rows[some])
        for top in range(0, len(query), QUERY_ROWS):
            part = slice(top, top + QUERY_ROWS)
            products = coarse.multiply(block.codes[: len(rows[some])], signed[part])
            _choose_near(
                products,
                (block.steps, block.errors, block.lengths),
                (own[0][part], own[1][part], own[2][part]),
                (halves, rows[some], query[part], owners[some]),
                (ends, first, top, bars, other_bar),
                (of_query.similarity[:, part], of_query.partner[:, part]),
                (of_documents.similarity[some], of_documents.partner[some]),
            )


# ---------------------------------------------------------------------------- compiled


@compiled
def _choose(similarity, start, ends, bars, other_bar, best, column_of, other, row_of):  # type: ignore[no-untyped-def]
    """Find the best columns of rows, which start with number `start`, in each document; update the best rows."""
    highest, highest_of_columns = _maxima(similarity, ends)
    for document in range(len(bars)):
        first = ends[document]
        for row in range(len(similarity)):
            if highest[document, row] >= bars[document]:
                column = first
                while similarity[row, column] != highest[document, row]:
                    column += 1
                best[document, start + row], column_of[document, start + row] = highest[document, row], column - first
    for column in range(similarity.shape[1]):
        value = highest_of_columns[column]
        if value >= other_bar and value > other[column]:
            row = 0
            while similarity[row, column] != value:
                row += 1
            other[column], row_of[column] = value, start + row


@compiled(fastmath={"nnan", "nsz"})
def _maxima(similarity, ends):  # type: ignore[no-untyped-def]
    """The greatest value of each row in each document, and of each column."""
    rows = np.empty((len(ends) - 1, len(similarity)), dtype=similarity.dtype)
    columns = similarity[0].copy()
    for row in range(similarity.shape[0]):
        for document in range(len(ends) - 1):
            greatest = similarity[row, ends[document]]
            for column in range(ends[document], ends[document + 1]):  # two loops: each compiles to vector instructions
                greatest = max(greatest, similarity[row, column])
            rows[document, row] = greatest
        for column in range(similarity.shape[1]):
            columns[column] = max(columns[column], similarity[row, column])
    return rows, columns


@compiled
def _choose_near(products, of_rows, of_queries, vectors, places, queries, others):  # type: ignore[no-untyped-def]
    """Update the best partners by a block of products: rows of documents × rows of the query."""
    halves, rows, query, owners = vectors
    ends, first, top, bars, other_bar = places
    best, partners = queries
    other, other_partners = others
    for row in range(products.shape[0]):
        step, error, length, document = of_rows[0][row], of_rows[1][row], of_rows[2][row], owners[row]
        bar = bars[document]
        lowest = np.float32(min(bar, other_bar) - 1e-6)
        for start in range(0, products.shape[1], STRIDE):
            part = slice(start, start + STRIDE)
            parts = of_queries[0][part], of_queries[1][part], of_queries[2][part]
            own = products[row, part]
            if not _any_reaches(own, step, error, length, parts, lowest):
                continue
            for place in range(own.size):
                at, most = start + place, bound(own[place], step, error, length, parts, place)
                if most < lowest or (most < best[document, at] and most < other[row]):
                    continue
                similarity = similarity_of_half(halves[rows[row]], query[at])
                if similarity >= bar and similarity > best[document, at]:
                    best[document, at], partners[document, at] = similarity, first + row - ends[document]
                if similarity >= other_bar and similarity > other[row]:
                    other[row], other_partners[row] = similarity, top + at


@compiled
def _any_reaches(products, step, error, length, parts, lowest):  # type: ignore[no-untyped-def]
    """Whether any similarity may reach a bar; without a branch, so that it compiles to vector instructions."""
    found = np.int32(0)
    for place in range(products.size):
        found |= np.int32(bound(products[place], step, error, length, parts, place) >= lowest)
    return found != 0
