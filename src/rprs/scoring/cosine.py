"""The cosine over terms and phrases: sublinear counts, smoothed idf, one norm over all lengths.

    w(g, d) = λ_|g| · (1 + ln tf(g, d)) · ln((N + 1) / (df(g) + 1))
    score(q, d) = Σ_g w(g, q) · w(g, d) / (‖w(·, q)‖ · ‖w(·, d)‖)

g is a sequence of one, two or three adjacent terms, λ the weight of its length (1 for all by default). The documents'
squared norms are kept for each length, so that λ can be chosen at query time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled
from rprs.scoring import postings
from rprs.scoring.logarithms import log, log_of

__all__ = ["LOGARITHMS", "accumulate", "add_squares", "cosines", "count_weight", "idf", "sublinear"]

Floats = NDArray[np.float64]

LOGARITHMS: Floats = 1 + log(np.maximum(np.arange(4096, dtype=np.float64), 1))  # 1 + ln count, for counts below 4096


def idf(df: NDArray[Any], documents: int) -> Floats:
    """ln((N + 1) / (df + 1)), in the shape of `df`: 0 for a term in all documents."""
    return log((documents + 1) / (df + 1))


def cosines(products: Floats, query: Floats, documents: Floats, weights: Sequence[float]) -> Floats:
    """(documents,): the scores, from sums over the sequences of each length.

    `products` (lengths, documents) are Σ w(g, q) · w(g, d) with λ = 1, `query` (lengths,) and `documents` (documents,
    lengths) the squared norms. Lengths are added one by one, so that the sums do not depend on a library's order.
    """
    total, left, right = np.zeros(products.shape[1]), 0.0, np.zeros(products.shape[1])
    for length, weight in enumerate(weights[: len(products)]):
        total = total + weight**2 * products[length]
        left = left + weight**2 * float(query[length])
        right = right + weight**2 * documents[:, length]
    norms = np.sqrt(left) * np.sqrt(right)
    return np.asarray(np.divide(total, norms, out=np.zeros(len(norms)), where=norms > 0))


def sublinear(counts: NDArray[Any]) -> Floats:
    """1 + ln tf, in the shape of the counts, which are at least 1."""
    small = counts < len(LOGARITHMS)
    weights = LOGARITHMS[np.where(small, counts, 1)]
    if not small.all():
        weights[~small] = 1 + log(counts[~small])
    return weights


@compiled
def count_weight(count, logarithms):  # type: ignore[no-untyped-def]
    """1 + ln count, from the table for small counts."""
    return logarithms[count] if 0 <= count < logarithms.size else 1 + log_of(np.float64(count))


@compiled
def accumulate(starts, stops, weights, documents, counts, logarithms, scores):  # type: ignore[no-untyped-def]
    """Add weight · (1 + ln count) of every term to the `scores` of a segment's documents, term at a time.

    Term t has the postings `starts[t]:stops[t]` of `documents` and `counts`.
    """
    places, following = starts.copy(), np.zeros(starts.size, np.int64)
    block = 2 * postings.BLOCK  # nothing but the scores is read for each document
    for start in range(0, scores.size, block):
        limit = min(start + block, scores.size)
        for term in range(starts.size):
            if following[term] < limit:
                part = slice(places[term], stops[term])
                places[term] += _add(documents[part], counts[part], limit, weights[term], logarithms, scores)
                following[term] = postings.next_document(documents, places[term], stops[term])


@compiled
def _add(documents, counts, limit, weight, logarithms, scores):  # type: ignore[no-untyped-def]
    """Add those of one term to documents before `limit`; the number of postings up to there."""
    for posting in range(documents.size):
        document = np.uint32(documents[posting])
        if document < limit:
            scores[document] += weight * count_weight(counts[posting], logarithms)
        elif document < scores.size:  # others are those of a damaged file, which must not cause writes out of bounds
            return posting
    return documents.size


@compiled
def add_squares(offsets, weights, documents, counts, logarithms, squares):  # type: ignore[no-untyped-def]
    """Add the squared weight of every term of a segment to the `squares` of its documents.

    Term t has the postings `offsets[t]:offsets[t + 1]` and the weight idf.
    """
    for term in range(weights.size):
        for posting in range(offsets[term], min(offsets[term + 1], documents.size)):
            document = np.uint32(documents[posting])
            if document < squares.size:
                value = weights[term] * count_weight(counts[posting], logarithms)
                squares[document] += value * value
