"""BM25 from counts (paper, equation 8), with k1 and b given at query time, and Kullback–Leibler query reduction.

score(q, d) = Σ_t  qtf_t · rsj_t · tf / (tf + K_d)      K_d = k1 · ((1 − b) + b · |d| / avg)
rsj_t = ln(1 + (N − df + ½) / (df + ½))
KLI(t) = P(t|q) · ln(P(t|q) / P(t|C))                   (Verberne et al. 2016)
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["accumulate", "accumulate_grid", "kli", "live_counts", "lucene_lengths", "rsj", "saturation", "top"]

BLOCK = 1024  # documents whose postings are brought together at a time

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def rsj(df: NDArray[Any], documents: int) -> Floats:
    """The weight of terms that occur in `df` of so many documents."""
    return np.asarray(np.log1p((documents - df + 0.5) / (df + 0.5)), dtype=np.float64)


def saturation(lengths: NDArray[Any], mean: float, k1: float, b: float) -> Floats:
    """K_d of every document."""
    return np.asarray(k1 * ((1 - b) + b * (lengths / mean if mean > 0 else 0.0 * lengths)), dtype=np.float64)


def kli(
    query: NDArray[Any], collection: NDArray[Any], query_length: int, tokens: int, share: float
) -> NDArray[np.bool_]:
    """Which of a query's distinct terms to keep: the share of them with the highest KLI, at least one.

    `query` and `collection` are the frequencies of the terms in the query and in the collection, `tokens` the length
    of the collection. A term that the collection lacks is dropped, and the share is taken of all distinct terms given.
    Of equal terms the earlier is kept.
    """
    known = collection > 0
    p_query = query / max(query_length, 1)
    p_collection = np.where(known, collection, 1) / max(tokens, 1)
    gain = np.where(known, p_query * np.log(p_query / p_collection), -np.inf)
    wanted = max(1, math.ceil(share * len(query) - 1e-9))
    keep = np.zeros(len(query), dtype=bool)
    keep[np.argsort(-gain, kind="stable")[:wanted]] = True
    return keep & known


def _decoded_lengths() -> Ints:
    """The 256 lengths that Lucene's one-byte norm can hold (SmallFloat.byte4ToInt)."""
    exact = 24  # small lengths are kept as they are
    code = np.arange(256 - exact)
    bits, shift = code & 7, (code >> 3) - 1
    floats = np.where(shift < 0, bits, (bits | 8) << np.maximum(shift, 0))
    return np.concatenate([np.arange(exact), exact + floats]).astype(np.int64)


_LUCENE = _decoded_lengths()


def lucene_lengths(lengths: NDArray[Any]) -> Ints:
    """Document lengths as Lucene remembers them: the largest representable length not above the true one."""
    return _LUCENE[np.searchsorted(_LUCENE, lengths, side="right") - 1]


@numba.njit(nogil=True, cache=True)
def accumulate(starts, stops, weights, documents, counts, saturated, scores):  # type: ignore[no-untyped-def]
    """Add every term's share to the scores of a segment's documents, term at a time.

    Term t has the postings `starts[t]:stops[t]` of `documents` and `counts`; `saturated` is K_d, `scores` is added to.
    """
    for term in range(starts.size):
        weight = weights[term]
        for posting in range(starts[term], stops[term]):
            document = np.uint32(documents[posting])  # unsigned: one comparison, and quicker than none
            if document < scores.size:  # a damaged file must not write elsewhere
                tf = np.float64(counts[posting])
                scores[document] += weight * tf / (tf + saturated[document])


@numba.njit(nogil=True, cache=True, error_model="numpy")
def accumulate_grid(  # type: ignore[no-untyped-def]
    starts, stops, weights, since, documents, counts, numbers, relative, k1, b, best, where, found
):
    """Rank a segment's documents for s nested sets of terms and p pairs of k1 and b, into running lists of the best.

    Term t belongs to the sets from `since[t]` on. A document is scored at all points at once while its postings are in
    the cache, and adds its terms in the order of `accumulate`. `numbers` are the documents' in the index, -1 to leave
    one out; `relative` is length / mean. `best` and `where` (s, p, depth) hold scores and numbers as `top` orders them,
    `found` (s, p) how many there are.
    """
    sets, points, _ = best.shape
    cursor = starts.copy()
    saturated, share, sums = np.empty(points), np.empty(points), np.empty((sets, points))
    for first in range(0, numbers.size, BLOCK):
        last = min(first + BLOCK, numbers.size)
        offsets, terms, times = _transposed(cursor, stops, documents, counts, first, last)
        for document in range(first, last):
            if numbers[document] < 0 or offsets[document - first] == offsets[document - first + 1]:
                continue
            for point in range(points):
                saturated[point] = k1[point] * ((1 - b[point]) + b[point] * relative[document])
            sums[:] = 0.0
            for posting in range(offsets[document - first], offsets[document - first + 1]):
                tf = np.float64(times[posting])
                gain = weights[terms[posting]] * tf
                for point in range(points):
                    share[point] = gain / (tf + saturated[point])
                for row in range(since[terms[posting]], sets):
                    for point in range(points):
                        sums[row, point] += share[point]
            _enter(sums, numbers[document], best, where, found)


@numba.njit(nogil=True, cache=True)
def _transposed(cursor, stops, documents, counts, first, last):  # type: ignore[no-untyped-def]
    """The postings of documents first:last by document, terms in their order; the cursors move on behind them."""
    offsets = np.zeros(last - first + 2, np.int64)
    for term in range(cursor.size):
        posting = cursor[term]
        while posting < stops[term] and documents[posting] < last:
            offsets[max(documents[posting] - first, 0) + 2] += 1  # max: a damaged file must not write elsewhere
            posting += 1
    for row in range(2, offsets.size):
        offsets[row] += offsets[row - 1]
    terms, times = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.int32)
    for term in range(cursor.size):
        posting = cursor[term]
        while posting < stops[term] and documents[posting] < last:
            row = max(documents[posting] - first, 0) + 1
            terms[offsets[row]], times[offsets[row]] = term, counts[posting]
            offsets[row] += 1
            posting += 1
        cursor[term] = posting
    return offsets, terms, times


@numba.njit(nogil=True, cache=True)
def _enter(sums, number, best, where, found):  # type: ignore[no-untyped-def]
    """Put a document into every list that it is good enough for; of equal scores the smaller number first."""
    sets, points, depth = best.shape
    for row in range(sets):
        for point in range(points):
            score, size = sums[row, point], found[row, point]
            if score <= 0 or (size == depth and score < best[row, point, depth - 1]):
                continue
            place = size
            while place > 0 and (
                best[row, point, place - 1] < score
                or (best[row, point, place - 1] == score and where[row, point, place - 1] > number)
            ):
                if place < depth:
                    best[row, point, place] = best[row, point, place - 1]
                    where[row, point, place] = where[row, point, place - 1]
                place -= 1
            if place < depth:
                best[row, point, place], where[row, point, place] = score, number
                found[row, point] = min(size + 1, depth)


@numba.njit(nogil=True, cache=True)
def live_counts(starts, stops, documents, counts, live, df, cf):  # type: ignore[no-untyped-def]
    """Add to df and cf how many live documents hold each term, and how often."""
    for term in range(starts.size):
        for posting in range(starts[term], stops[term]):
            document = np.uint32(documents[posting])
            if document < live.size and live[document]:
                df[term] += 1
                cf[term] += counts[posting]


def top(scores: Floats, depth: int, allowed: NDArray[np.bool_]) -> Ints:
    """The numbers of the best documents with a positive score; of equal scores the smaller number first."""
    found = np.flatnonzero(allowed & (scores > 0))
    if len(found) > depth:
        bar = np.partition(scores[found], len(found) - depth)[len(found) - depth]
        found = found[scores[found] >= bar]
    return found[np.lexsort((found, -scores[found]))][:depth].astype(np.int64)
