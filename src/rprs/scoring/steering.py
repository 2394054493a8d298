"""Steering: a query whose parts count differently.

The query, its key sentences, and documents that were marked as relevant are the parts p of a steered query. Each part
ranks the documents by itself, and what it gives to a document is put on a common scale before the parts are added up:

    z_p(d) = (ln s_p(d) − mean) / standard deviation      over the documents that are ranked; see `fuse.zscore`
    score(d) = exp(Σ_p w_p · z_p(d) / Σ_p w_p)

Scores differ in scale between parts: BM25 grows with the length of a text, and cosines fall with it. Where a stage has
scores below 0, which have no logarithm, z_p is the standard score of s_p itself.

The query has the weight 1, its key sentences KEY, and each of r relevant documents min(LIKE, MOST / r). These values
were measured: see docs/how-to/steering.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rprs.scoring.fuse import zscore
from rprs.scoring.logarithms import exp

__all__ = ["KEY", "LIKE", "MOST", "combined", "like_weight", "standardised"]

Floats = NDArray[np.float64]

KEY = 0.25  # the weight of the key sentences together
LIKE = 1 / 3  # the weight of a relevant document
MOST = 1.0  # the greatest weight of all relevant documents together: that of the query


def like_weight(documents: int) -> float:
    """The weight of each of some relevant documents, of which there is at least one."""
    return min(LIKE, MOST / documents)


def standardised(scores: Floats) -> Floats:
    """(n,): z of each score, without logarithms if one of them is below 0; a missing one (NaN) counts as the least."""
    scores = np.asarray(scores, dtype=np.float64)
    present = scores[~np.isnan(scores)]
    if not len(present) or present.min() >= 0:
        return zscore(scores)
    filled = np.where(np.isnan(scores), present.min(), scores)
    deviation = float(filled.std())
    return np.asarray((filled - filled.mean()) / deviation) if deviation > 0 else np.zeros(len(filled))


def combined(scores: Sequence[Floats], weights: Sequence[float]) -> Floats:
    """(n,): the scores of n documents for all parts together, from those for each part, with the weights of the parts.

    Parts are added one by one, so that sums do not depend on a library's order.
    """
    total = np.zeros(len(scores[0]))
    for values, weight in zip(scores, weights, strict=True):
        total = total + weight * standardised(values)
    return exp(total / sum(weights))
