"""Two scores of the same documents as one: their geometric mean, with a weight that follows from the query's length.

    score(d) = a(d)^λ · b(d)^(1 − λ)          λ = min(1, (3r)²),   r = |q| / mean |d|, in terms

Logarithms put the two on a common scale: a constant factor in either score changes no rank. A document to which only
one of the two gives a score gets, from the other, the smallest score that it gives to any document. Where one of the
two gives no document a score, the other decides alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rprs.scoring.logarithms import exp, log

__all__ = ["geometric", "least", "weight_of_length"]

Floats = NDArray[np.float64]


def weight_of_length(ratio: float) -> float:
    """λ, from the length of the query divided by the mean length of the documents."""
    return min(1.0, (3 * ratio) ** 2)


def geometric(a: Floats, b: Floats, weight: float, leasts: tuple[float, float] | None = None) -> Floats:
    """(documents,): a^weight · b^(1 − weight); 0 where both scores are 0.

    `leasts` are the least scores above 0 of all documents, if these are some of them.
    """
    of_a, of_b = leasts or (least(a), least(b))
    if np.isinf(of_a) or np.isinf(of_b):
        return a + b
    either = (a > 0) | (b > 0)
    left, right = np.where(either, np.maximum(a, of_a), 1.0), np.where(either, np.maximum(b, of_b), 1.0)
    if weight == 1 or weight == 0:
        return np.where(either, left if weight else right, 0.0)
    scores = np.zeros(len(a))
    scores[either] = exp(weight * log(left[either]) + (1 - weight) * log(right[either]))
    return scores


def least(scores: Floats) -> float:
    """The smallest score above 0; infinity if there is none."""
    return float(np.min(scores, where=scores > 0, initial=np.inf))
