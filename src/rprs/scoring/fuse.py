"""Fusion of two rankings: the weighted sum of what each contributes to a document, on a common scale.

    score(d) = (1 − weight) · f_a(d) + weight · f_b(d)

    rrf      f(d) = 1 / (k + rank of d), ranks from 1 (Cormack et al. 2009): only the order counts, not the scores
    minmax   f(d) = (s(d) − min) / (max − min) over the list; 1 for all where all scores are equal

f(d) = 0 for a document that is not in the list.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Method", "minmax", "mix", "shares"]

Method = Literal["rrf", "minmax"]
Floats = NDArray[np.float64]


def shares(scores: Floats, method: Method, k: int = 60) -> Floats:
    """(n,): f of each document of a list, from its scores (n,), best first."""
    if method == "rrf":
        return 1 / (k + np.arange(1, len(scores) + 1, dtype=np.float64))
    return minmax(scores)


def minmax(scores: Floats) -> Floats:
    """(n,): scores scaled to 0 (least) … 1 (greatest), all 1 where they are equal; 0 for NaN, a missing score."""
    scores = np.asarray(scores, dtype=np.float64)
    finite = scores[np.isfinite(scores)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    scaled = (np.clip(scores, low, high) - low) / (high - low) if high > low else np.ones(len(scores))
    return np.where(np.isnan(scores), 0.0, scaled)


def mix(a: Floats, b: Floats, weight: float) -> Floats:
    """(n,): the fused scores, from f_a (n,) and f_b (n,) of the same documents."""
    return (1 - weight) * a + weight * b
