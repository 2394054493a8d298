"""The proportional relevance score, plain and with frequency: equations 1 to 7 of the paper.

    c[i, d] = how many of r_n(q_i) belong to candidate d        f[s] = in how many r_n sentence s occurs

    sat_d(x) = x / (x + K_d)      K_d = k1 · ((1 − b) + b · dl_d / avgdl)
    QP(d) = Σ_i sat_d(c[i, d]) / m        DP(d) = Σ_{s ∈ d} sat_d(f[s]) / |S_d|        score = QP · DP

Plain RPRS is k1 = 0, where sat(x) = min(1, x). The score depends only on the *histograms* of c and f for each
document: how often each count occurs. They do not depend on k1 and b, so that a whole grid of parameters can share
them, and equal histograms give bit-identical scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rprs.document import Neighbours
from rprs.scoring.order import best_first

__all__ = ["Form", "Histogram", "Proportions", "count", "order", "rprs", "score"]

Form = Literal["full", "no_qp", "no_dp", "no_min", "no_b_k1"]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Histogram:
    """Entry h: `times[h]` elements of document `document[h]` have the count `value[h]` (> 0)."""

    document: Ints  # (h,)
    value: Ints  # (h,)
    times: Ints  # (h,)


@dataclass(frozen=True, slots=True)
class Proportions:
    """The score of each of k candidates, and its two factors: the proportions of query and document (QP, DP)."""

    score: Floats  # (k,)
    qp: Floats  # (k,)
    dp: Floats  # (k,)


def rprs(
    neighbours: Neighbours,
    *,
    n: int,
    k1: float,
    b: float,
    avgdl: float,
    form: Form = "full",
) -> Proportions:
    """Score every candidate of a pool (equations 1–7). `avgdl` is the mean number of sentences per document."""
    return score(*count(neighbours, n), neighbours, k1=k1, b=b, avgdl=avgdl, form=form)


def count(neighbours: Neighbours, n: int) -> tuple[Histogram, Histogram]:
    """The histograms of c and of f for the n nearest of the neighbours, of which there may be more."""
    sentence, document = neighbours.sentence[:, :n], neighbours.document[:, :n]
    k = len(neighbours.offsets) - 1
    rows = np.arange(len(sentence), dtype=np.int64)[:, None]
    pairs, c = np.unique(rows * k + document, return_counts=True)  # (i, d) as the number i · k + d
    sentences, f = np.unique(sentence, return_counts=True)
    owner = np.searchsorted(neighbours.offsets, sentences, side="right") - 1
    return _histogram(pairs % k if k else pairs, c), _histogram(owner, f)


def _histogram(document: NDArray[Any], value: NDArray[Any]) -> Histogram:
    largest = int(value.max(initial=0)) + 1
    keys, times = np.unique(document * largest + value, return_counts=True)
    return Histogram((keys // largest).astype(np.int64), (keys % largest).astype(np.int64), times.astype(np.int64))


def score(
    c: Histogram, f: Histogram, neighbours: Neighbours, *, k1: float, b: float, avgdl: float, form: Form = "full"
) -> Proportions:
    """Equations 1–7 from the histograms of counts; the ablations of the paper's Table 7 by `form`."""
    m = len(neighbours.sentence)
    lengths = np.diff(neighbours.offsets)
    saturation = k1 * ((1 - b) + b * lengths / avgdl) if avgdl > 0 else np.zeros(len(lengths))
    q, d = _total(c, saturation, form), _total(f, saturation, form)
    per_query, per_document = max(m, 1), np.maximum(lengths, 1)
    qp, dp = q / per_query, d / per_document
    product = (q * d) / (per_query * per_document)  # rounded once where q and d are integers: exact ties
    return Proportions({"no_qp": dp, "no_dp": qp}.get(form, product), qp, dp)


def _total(histogram: Histogram, saturation: Floats, form: Form) -> Floats:
    """(k,): Σ sat(x) over all counts x of a document."""
    k, value = len(saturation), histogram.value
    if form == "no_b_k1":  # in the paper Σx / Σx: 1 wherever anything matched
        return (np.bincount(histogram.document, minlength=k) > 0).astype(np.float64)
    each = value if form == "no_min" else value / (value + saturation[histogram.document])
    return np.asarray(np.bincount(histogram.document, weights=histogram.times * each, minlength=k), dtype=np.float64)


def order(proportions: Proportions, neighbours: Neighbours) -> Ints:
    """(k,): the numbers of the candidates, best first."""
    return best_first(proportions.score, np.diff(neighbours.offsets) == 0)
