"""RPRS at all points of a grid of (n, k1, b) at once, bit-identical to `scoring.rprs` at each of them.

The n nearest neighbours of a sentence are the first n of any longer list, so one pass over the neighbours counts for
all n: a neighbour that joins at n moves one element of its document from the count x to x + 1, at n and all greater n.
A point needs only how often each count occurs: sat(x) for the few counts of a document is a table over (k1, b) that all
n share. What remains per point is a handful of additions per document, in the order in which `scoring.rprs` adds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled
from rprs.document import Neighbours
from rprs.scoring.order import best_first

__all__ = ["orders", "scores"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def scores(
    neighbours: Neighbours, n: Sequence[int], k1: Sequence[float] | Floats, b: Sequence[float] | Floats, avgdl: float
) -> Floats:
    """(len(n), k, p): the score of each of k candidates for every n and each of p pairs of k1 and b.

    `n` is in ascending order; `neighbours` holds at least the greatest n, or the complete pool where that has fewer.
    `avgdl` is the mean number of sentences per document.
    """
    pairs = np.ascontiguousarray(k1, dtype=np.float64), np.ascontiguousarray(b, dtype=np.float64)
    sizes = np.asarray(n, dtype=np.int64)
    # level[j]: place in `n` of the first value that includes the j-th neighbour
    level = np.searchsorted(sizes, np.arange(neighbours.sentence.shape[1]), side="right")
    sentence = np.ascontiguousarray(neighbours.sentence[:, : np.count_nonzero(level < len(sizes))])
    return np.asarray(_scores(sentence, neighbours.offsets, level, len(sizes), *pairs, avgdl), dtype=np.float64)


@compiled(error_model="numpy")
def _scores(sentence, offsets, level, levels, k1, b, avgdl):  # type: ignore[no-untyped-def]
    """(levels, documents, points): count, then score document by document."""
    starts, values, c, f = _histograms(sentence, offsets, level, levels)
    documents, points = offsets.size - 1, k1.size
    scores = np.empty((levels, documents, points))
    most_values = 0
    for document in range(documents):
        most_values = max(most_values, starts[document + 1] - starts[document])
    table = np.empty((most_values, points))
    q, d = np.empty(points), np.empty(points)
    m = max(sentence.shape[0], 1)
    for document in range(documents):
        start, stop = starts[document], starts[document + 1]
        length = offsets[document + 1] - offsets[document]
        _saturate(values[start:stop], length, k1, b, avgdl, table)
        size = np.float64(m * max(length, 1))
        for at in range(levels):
            _add(c[at, start:stop], table, q)
            _add(f[at, start:stop], table, d)
            out = scores[at, document]
            for point in range(points):
                out[point] = (q[point] * d[point]) / size
    return scores


@compiled(error_model="numpy")
def _saturate(values, length, k1, b, avgdl, table):  # type: ignore[no-untyped-def]
    """table[v, p] = sat(values[v]) at point p, for a document of `length` sentences."""
    for point in range(k1.size):
        saturation = k1[point] * ((1 - b[point]) + b[point] * length / avgdl) if avgdl > 0 else 0.0
        for row in range(values.size):
            table[row, point] = values[row] / (values[row] + saturation)


@compiled
def _add(times, table, total):  # type: ignore[no-untyped-def]
    """total[p] = Σ times[v] · table[v, p] over the counts v in ascending order."""
    total[:] = 0.0
    for row in range(times.size):
        if times[row]:
            weight = np.float64(times[row])
            for point in range(total.size):
                total[point] += weight * table[row, point]


@compiled
def _histograms(sentence, offsets, level, levels):  # type: ignore[no-untyped-def]
    """How often each count occurs in each document, for all n.

    Document d has the counts `values[starts[d]:starts[d + 1]]`, ascending; at the l-th n, `c[l, v]` query sentences
    have the count `values[v]` in it, and `f[l, v]` of its own sentences occur in `values[v]` lists of neighbours.
    """
    rows, columns = sentence.shape
    documents = offsets.size - 1
    owner = np.empty(sentence.shape, np.int32)
    count = np.zeros(offsets[documents], np.int32)  # f[s] so far
    inside = np.zeros(documents, np.int32)  # c[i, d] so far, for one row i
    width = np.zeros(documents, np.int64)  # greatest count of a document
    for row in range(rows):
        for column in range(columns):
            place = sentence[row, column]
            document = np.searchsorted(offsets, place, side="right") - 1
            owner[row, column] = document
            count[place] += 1
            inside[document] += 1
            width[document] = max(width[document], count[place], inside[document])
        for column in range(columns):
            inside[owner[row, column]] = 0
    base = np.zeros(documents + 1, np.int64)
    for document in range(documents):
        base[document + 1] = base[document] + width[document] + 1
    c, f = np.zeros((levels, base[documents]), np.int32), np.zeros((levels, base[documents]), np.int32)
    for row in range(rows):
        for column in range(columns):
            document = owner[row, column]
            slot = base[document] + inside[document]
            inside[document] += 1
            c[level[column], slot] -= 1
            c[level[column], slot + 1] += 1
        for column in range(columns):
            inside[owner[row, column]] = 0
    count[:] = 0
    for column in range(columns):
        for row in range(rows):
            slot = base[owner[row, column]] + count[sentence[row, column]]
            count[sentence[row, column]] += 1
            f[level[column], slot] -= 1
            f[level[column], slot + 1] += 1
    return _packed(base, c, f)


@compiled
def _packed(base, c, f):  # type: ignore[no-untyped-def]
    """The cumulative histograms over all levels, without counts that never occur."""
    levels, documents = c.shape[0], base.size - 1
    starts = np.zeros(documents + 1, np.int64)
    values = np.empty(c.shape[1], np.float64)
    size = 0
    for document in range(documents):
        for slot in range(base[document] + 1, base[document + 1]):  # the first slot is the count 0
            occurs = False
            for at in range(levels):
                if at:
                    c[at, slot] += c[at - 1, slot]
                    f[at, slot] += f[at - 1, slot]
                occurs = occurs or c[at, slot] > 0 or f[at, slot] > 0
            if occurs:
                values[size] = slot - base[document]
                for at in range(levels):  # close the gaps of counts that never occur
                    c[at, size], f[at, size] = c[at, slot], f[at, slot]
                size += 1
        starts[document + 1] = size
    return starts, values, c, f


def orders(scores: Floats, offsets: Ints) -> Ints:
    """(len(n), p, k): the candidates at every point, best first, in the order of `scoring.rprs.order`.

    From one point to the next, few candidates change places, so each order is an insertion sort of the previous one.
    """
    start = best_first(np.zeros(len(offsets) - 1), np.diff(offsets) == 0)  # the order of equal scores
    return np.asarray(_orders(scores, start), dtype=np.int64)


@compiled
def _orders(scores, start):  # type: ignore[no-untyped-def]
    levels, documents, points = scores.shape
    result = np.empty((levels, points, documents), np.int64)
    order, tie = start.copy(), np.empty(documents, np.int64)
    for rank in range(documents):
        tie[order[rank]] = rank
    value = np.empty(documents)
    for at in range(levels):
        for point in range(points):
            for rank in range(documents):
                value[rank] = scores[at, order[rank], point]
            for rank in range(1, documents):
                document, score = order[rank], value[rank]
                place = rank
                while place > 0 and (
                    value[place - 1] < score or (value[place - 1] == score and tie[order[place - 1]] > tie[document])
                ):
                    order[place], value[place] = order[place - 1], value[place - 1]
                    place -= 1
                order[place], value[place] = document, score
            result[at, point] = order
    return result
