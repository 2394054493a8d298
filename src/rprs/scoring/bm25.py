"""BM25 from stored counts (paper, equation 8), with k1 and b chosen at query time, and query reduction by KLI.

score(q, d) = Σ_t  qtf_t · rsj_t · tf / (tf + K_d)      K_d = k1 · ((1 − b) + b · |d| / avg)
rsj_t = ln(1 + (N − df + ½) / (df + ½))
KLI(t) = P(t|q) · ln(P(t|q) / P(t|C))                   Kullback–Leibler informativeness (Verberne et al. 2016)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled
from rprs.scoring import postings
from rprs.scoring.logarithms import log, log1p

__all__ = [
    "PHRASE_SHARE",
    "accumulate",
    "accumulate_grid",
    "gain",
    "kli",
    "live_counts",
    "lucene_lengths",
    "rsj",
    "saturation",
    "top",
]

PHRASE_SHARE = 0.75  # of the information that a phrase adds to its parts
BLOCK = 1024  # documents whose postings are transposed at a time
CHUNK = 128  # postings whose contributions are computed at a time

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def rsj(df: NDArray[Any], documents: int) -> Floats:
    """rsj_t: the weight of terms that occur in `df` of `documents` documents; the shape of `df`."""
    return log1p((documents - df + 0.5) / (df + 0.5))


def gain(phrase: Floats, left: Floats, right: Floats) -> Floats:
    """(phrases,): the information that phrases add to their parts: ¾ of (their rsj − that of the rarer part).

    The parts are the phrase without its last term and without its first. A phrase that occurs wherever its rarer part
    occurs adds nothing. The factor was measured, see docs/method.md.
    """
    return PHRASE_SHARE * np.maximum(phrase - np.maximum(left, right), 0.0)


def saturation(lengths: NDArray[Any], mean: float, k1: float, b: float) -> Floats:
    """(documents,): K_d, from the lengths (documents,) and their mean."""
    return _saturation(lengths, mean, k1, b)  # type: ignore[no-any-return]


@compiled(error_model="numpy")
def _saturation(lengths, mean, k1, b):  # type: ignore[no-untyped-def]
    saturated = np.empty(lengths.size)
    for document in range(lengths.size):
        relative = lengths[document] / mean if mean > 0 else 0.0
        saturated[document] = (relative * b + (1 - b)) * k1
    return saturated


def kli(
    query: NDArray[Any], collection: NDArray[Any], query_length: int, tokens: int, share: float
) -> NDArray[np.bool_]:
    """(terms,): which of a query's distinct terms to keep: the share of them with the highest KLI, at least one.

    `query` and `collection` are the frequencies of the terms in the query and in the collection, `tokens` the length
    of the collection. A term that the collection lacks is dropped, but counts in the number of terms that the share
    refers to. Among terms of equal KLI, the earlier one is kept.
    """
    in_collection = collection > 0
    p_query = query / max(query_length, 1)
    p_collection = np.where(in_collection, collection, 1) / max(tokens, 1)
    informativeness = np.where(in_collection, p_query * log(p_query / p_collection), -np.inf)
    size = max(1, math.ceil(share * len(query) - 1e-9))
    keep = np.zeros(len(query), dtype=bool)
    keep[np.argsort(-informativeness, kind="stable")[:size]] = True
    return keep & in_collection


def _decoded_lengths() -> Ints:
    """The 256 lengths that Lucene's one-byte norm can represent (SmallFloat.byte4ToInt)."""
    exact = 24  # lengths below are represented exactly
    code = np.arange(256 - exact)
    bits, shift = code & 7, (code >> 3) - 1
    floats = np.where(shift < 0, bits, (bits | 8) << np.maximum(shift, 0))
    return np.concatenate([np.arange(exact), exact + floats]).astype(np.int64)


_LUCENE = _decoded_lengths()


def lucene_lengths(lengths: NDArray[Any]) -> Ints:
    """Document lengths as Lucene stores them: the largest representable length that is not above the true one."""
    return _LUCENE[np.searchsorted(_LUCENE, lengths, side="right") - 1]


@compiled
def accumulate(starts, stops, weights, documents, counts, saturated, scores):  # type: ignore[no-untyped-def]
    """Add the contribution of every term to `scores`, those of a segment's documents, term at a time (equation 8).

    Term t has the postings `starts[t]:stops[t]` of `documents` and `counts`, and the weight qtf_t · rsj_t; `saturated`
    is K_d.
    """
    places, following = starts.copy(), np.zeros(starts.size, np.int64)
    runs, shares = np.empty(starts.size, np.int64), np.empty(CHUNK)
    for term in range(starts.size):  # postings of a block, if they are spread evenly
        runs[term] = (stops[term] - starts[term]) * postings.BLOCK // max(scores.size, postings.BLOCK) + postings.LINE
    for start in range(0, scores.size, postings.BLOCK):
        limit = min(start + postings.BLOCK, scores.size)
        for term in range(starts.size):
            soon = min(term + postings.TERMS_AHEAD, starts.size - 1)
            if following[soon] < limit:
                postings.request(documents, counts, places[soon], places[soon] + min(runs[soon], postings.AHEAD))
            if following[term] < limit:
                span = places[term], stops[term], places[term] + runs[term]
                places[term] = _add(span, documents, counts, limit, weights[term], saturated, scores, shares)
                following[term] = postings.next_document(documents, places[term], stops[term])


@compiled(error_model="numpy")
def _add(span, documents, counts, limit, weight, saturated, scores, shares):  # type: ignore[no-untyped-def]
    """Add the contribution of one term to documents before `limit`; where its postings from there on start.

    `span` is where its postings start, where they stop, and how far they are expected to reach. The first three loops
    decide nothing, so that a compiler can compare or divide several numbers at once.
    """
    place, stop, expected = span
    while place < stop:
        if place + postings.AHEAD < expected:
            postings.request(documents, counts, place + postings.AHEAD, place + postings.AHEAD + CHUNK)
        first, most, last = np.uint64(place), np.uint64(min(stop - place, CHUNK)), np.uint32(0)
        for posting in range(most):
            last = max(last, np.uint32(documents[first + posting]))  # unsigned: -1 of a damaged file is beyond `limit`
        size = most
        if last >= limit:
            size = np.uint64(0)
            while np.uint32(documents[first + size]) < limit:
                size += np.uint64(1)
        for posting in range(size):
            shares[posting] = saturated[np.uint32(documents[first + posting])]
        for posting in range(size):
            tf = np.float64(counts[first + posting])
            shares[posting] = weight * tf / (tf + shares[posting])
        for posting in range(size):
            scores[np.uint32(documents[first + posting])] += shares[posting]
        place += np.int64(size)
        if size < most:
            if np.uint32(documents[place]) < scores.size:
                break
            place += 1  # of a damaged file, which must not cause writes out of bounds
    return place


@compiled(error_model="numpy")
def accumulate_grid(  # type: ignore[no-untyped-def]
    starts, stops, weights, since, documents, counts, numbers, relative, k1, b, best, where, sizes
):
    """Rank a segment's documents for s nested sets of terms and p pairs of k1 and b, into running lists of the best.

    Term t belongs to the sets from `since[t]` on. A document is scored at all points at once while its postings are in
    the cache, and its terms are added in the order of `accumulate`. `numbers` are the numbers of the documents in the
    index, -1 for those to leave out; `relative` is |d| / avg. `best` and `where` (s, p, depth) are the scores and
    numbers of the best documents in the order of `top`, `sizes` (s, p) the lengths of these lists.
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
            _insert(sums, numbers[document], best, where, sizes)


@compiled
def _transposed(cursor, stops, documents, counts, first, last):  # type: ignore[no-untyped-def]
    """The postings of documents first:last grouped by document, terms in their order; moves the cursors past them."""
    offsets = np.zeros(last - first + 2, np.int64)
    for term in range(cursor.size):
        posting = cursor[term]
        while posting < stops[term] and documents[posting] < last:
            offsets[max(documents[posting] - first, 0) + 2] += 1  # max: no writes out of bounds for a damaged file
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


@compiled
def _insert(sums, number, best, where, sizes):  # type: ignore[no-untyped-def]
    """Insert a document into every list for which its score is high enough; among equals, the smaller number first."""
    sets, points, depth = best.shape
    for row in range(sets):
        for point in range(points):
            score, size = sums[row, point], sizes[row, point]
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
                sizes[row, point] = min(size + 1, depth)


@compiled
def live_counts(starts, stops, documents, counts, live, df, cf):  # type: ignore[no-untyped-def]
    """Add to df how many live documents contain each term, and to cf how often they contain it."""
    for term in range(starts.size):
        for posting in range(starts[term], stops[term]):
            document = np.uint32(documents[posting])
            if document < live.size and live[document]:
                df[term] += 1
                cf[term] += counts[posting]


def top(scores: Floats, depth: int, allowed: NDArray[np.bool_]) -> Ints:
    """(≤ depth,): the best allowed documents with a positive score; among equal scores, the smaller number first."""
    numbers = np.flatnonzero(allowed & (scores > 0))
    if len(numbers) > depth:
        threshold = np.partition(scores[numbers], len(numbers) - depth)[len(numbers) - depth]
        numbers = numbers[scores[numbers] >= threshold]
    return numbers[np.lexsort((numbers, -scores[numbers]))][:depth].astype(np.int64)
