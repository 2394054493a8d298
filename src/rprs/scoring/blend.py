"""Two scores of the same documents as one: their geometric mean, with a weight that follows from the query's length.

    score(d) = a(d)^λ · b(d)^(1 − λ)          λ = min(1, (3r)²),   r = |q| / mean |d|, in terms

Logarithms put the two on a common scale: a constant factor in either score changes no rank. A document to which only
one of the two gives a score gets, from the other, the smallest score that it gives to any document.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["geometric", "weight_of_length"]

Floats = NDArray[np.float64]


def weight_of_length(ratio: float) -> float:
    """λ, from the length of the query divided by the mean length of the documents."""
    return min(1.0, (3 * ratio) ** 2)


def geometric(a: Floats, b: Floats, weight: float) -> Floats:
    """(documents,): a^weight · b^(1 − weight); 0 where both scores are 0."""
    if weight == 1 or weight == 0:
        return a if weight else b
    either = (a > 0) | (b > 0)
    scores = np.zeros(len(a), dtype=np.float64)
    left, right = (np.maximum(values[either], _least(values)) for values in (a, b))
    scores[either] = np.exp(weight * np.log(left) + (1 - weight) * np.log(right))
    return scores


def _least(scores: Floats) -> float:
    """The smallest score above 0; 1 if there is none."""
    positive = scores[scores > 0]
    return float(positive.min()) if len(positive) else 1.0
