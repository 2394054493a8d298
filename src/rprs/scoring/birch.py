"""Birch: the first-stage score of a document, combined with the scores of its best sentences (Yilmaz et al. 2019).

    score(d) = a · S_doc + (1 − a) · Σ_i w_i · S_i        w_1 = 1

S_doc is the first-stage score, scaled to 0 … 1 over the candidates of the query, so that `a` has the same meaning for
all queries; S_i is the score of the document's i-th best sentence, and 0 where it has fewer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["best", "birch", "evidence"]

Floats = NDArray[np.float64]


def best(sentences: Floats, top: int) -> Floats:
    """(top,): S_1 … S_top, the greatest of the scores of a document's sentences; 0 where there are fewer."""
    greatest = np.zeros(top)
    scores = np.sort(sentences)[::-1][:top]
    greatest[: len(scores)] = scores
    return greatest


def evidence(best: Floats, weights: Sequence[float]) -> Floats:
    """(k,): Σ w_i · S_i, from the best sentence scores (k, top) of k documents.

    The order of addition is the same for all documents, so that equal sentences give bit-identical sums.
    """
    total = np.zeros(len(best))
    for place, weight in enumerate(weights):
        total += weight * best[:, place]
    return total


def birch(document: Floats, sentences: Floats, a: float) -> Floats:
    """(k,): the scores, from S_doc (k,) and Σ w_i · S_i (k,)."""
    return a * document + (1 - a) * sentences
