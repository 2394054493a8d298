"""Fusion of two rankings: the weighted sum of what each contributes to a document, on a common scale.

    score(d) = (1 − weight) · f_a(d) + weight · f_b(d)

    rrf      f(d) = 1 / (k + rank of d), ranks from 1 (Cormack et al. 2009): only the order counts, not the scores
    minmax   f(d) = (s(d) − min) / (max − min) over the list; 1 for all where all scores are equal
    zscore   f(d) = (ln s(d) − mean) / standard deviation over the list; 0 for all where all scores are equal. Here the
             weighted sum is the exponent: score(d) = exp(…), which keeps scores above 0 and changes no rank

f(d) = 0 for a document that is not in the list; with zscore, the smallest f of the list.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rprs.scoring.blend import weight_of_length
from rprs.scoring.logarithms import exp, log

__all__ = ["AUTOMATIC", "Method", "automatic_weight", "minmax", "mix", "shares", "zscore"]

Method = Literal["rrf", "minmax", "zscore"]
AUTOMATIC = 0.3  # the greatest weight that `automatic_weight` gives
Floats = NDArray[np.float64]


def shares(scores: Floats, method: Method, k: int = 60) -> Floats:
    """(n,): f of each document of a list, from its scores (n,), best first."""
    if method == "rrf":
        return 1 / (k + np.arange(1, len(scores) + 1, dtype=np.float64))
    return minmax(scores) if method == "minmax" else zscore(scores)


def minmax(scores: Floats) -> Floats:
    """(n,): scores scaled to 0 (least) … 1 (greatest), all 1 where they are equal; 0 for NaN, a missing score."""
    scores = np.asarray(scores, dtype=np.float64)
    finite = scores[np.isfinite(scores)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    scaled = (np.clip(scores, low, high) - low) / (high - low) if high > low else np.ones(len(scores))
    return np.where(np.isnan(scores), 0.0, scaled)


def zscore(scores: Floats) -> Floats:
    """(n,): the logarithms of the scores, scaled to mean 0 and standard deviation 1.

    A score of 0, below 0 or missing (NaN) counts as the smallest one above 0.
    """
    scores = np.asarray(scores, dtype=np.float64)
    positive = scores[np.isfinite(scores) & (scores > 0)]
    if not len(positive):
        return np.zeros(len(scores))
    logarithms = log(np.where(scores > 0, np.minimum(scores, positive.max()), positive.min()))
    deviation = float(logarithms.std())
    return np.asarray((logarithms - logarithms.mean()) / deviation) if deviation > 0 else np.zeros(len(scores))


def mix(a: Floats, b: Floats, weight: float, method: Method = "rrf") -> Floats:
    """(n,): the fused scores, from f_a (n,) and f_b (n,) of the same documents."""
    total = (1 - weight) * a + weight * b
    return exp(total) if method == "zscore" else total


def automatic_weight(ratio: float, knows_language: bool) -> float:
    """The weight of sentence vectors beside words: less for short queries, none in a language unknown to the encoder.

    `ratio` is the number of sentences of the query over the mean of the documents.
    """
    return AUTOMATIC * weight_of_length(ratio) if knows_language else 0.0
