"""Birch: a document is as relevant as the first stage says and as its best sentences are (Yilmaz et al. 2019).

    score(d) = a · S_doc + (1 − a) · Σ_i w_i · S_i        w_1 = 1

S_doc is the first-stage score, scaled to 0 … 1 within the candidates of the query, so that `a` means the same for all
queries; S_i is the score of the document's i-th best sentence, and 0 where it has fewer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["best", "birch", "evidence"]

Floats = NDArray[np.float64]


def best(sentences: Floats, top: int) -> Floats:
    """(top,): the best of the scores of a document's sentences, falling; 0 where there are fewer."""
    found = np.zeros(top)
    highest = np.sort(sentences)[::-1][:top]
    found[: len(highest)] = highest
    return found


def evidence(best: Floats, weights: Sequence[float]) -> Floats:
    """(k,): Σ w_i · S_i, for the best sentence scores (k, top) of k documents.

    Added in one order for all documents, so that equal sentences give equal sums to the last bit.
    """
    total = np.zeros(len(best))
    for place, weight in enumerate(weights):
        total += weight * best[:, place]
    return total


def birch(document: Floats, sentences: Floats, a: float) -> Floats:
    """(k,): the scores, from S_doc and Σ w_i · S_i of k documents."""
    return a * document + (1 - a) * sentences
