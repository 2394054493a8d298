"""The common measures for p orders of the same documents at once, as trec_eval defines them.

Each function takes the grades of the documents in their order (p, depth), already cut at k; all positive grades of the
query; k, or None; and the lowest grade that counts as relevant.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["ARRAYS", "Array", "first_hit"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Array = Callable[[Ints, Ints, int | None, int], Floats]


def _precision(gains: Ints, _grades: Ints, k: int | None, rel: int) -> Floats:
    return np.asarray((gains >= rel).sum(axis=1) / max(k or 0, 1))


def _recall(gains: Ints, grades: Ints, _k: int | None, rel: int) -> Floats:
    return np.asarray((gains >= rel).sum(axis=1) / max(int((grades >= rel).sum()), 1))


def _average_precision(gains: Ints, grades: Ints, _k: int | None, rel: int) -> Floats:
    hits = gains >= rel
    precisions = np.cumsum(hits, axis=1) / np.arange(1, gains.shape[1] + 1)
    return np.asarray((precisions * hits).sum(axis=1) / max(int((grades >= rel).sum()), 1))


def _ndcg(gains: Ints, grades: Ints, k: int | None, _rel: int) -> Floats:
    ideal = np.sort(grades)[::-1][:k]
    best = float((ideal * _discounts(len(ideal))).sum())
    return np.asarray(
        (gains * _discounts(gains.shape[1])).sum(axis=1) / (best or 1.0)
    )  # not @, which may give equal rows different values


def _discounts(depth: int) -> Floats:
    return 1 / np.log2(np.arange(2, depth + 2))


def _reciprocal_rank(gains: Ints, _grades: Ints, _k: int | None, rel: int) -> Floats:
    any_hit, first = first_hit(gains >= rel)
    return np.where(any_hit, 1 / (first + 1), 0.0)


def _success(gains: Ints, _grades: Ints, _k: int | None, rel: int) -> Floats:
    return np.asarray((gains >= rel).any(axis=1), dtype=np.float64)


def _r_precision(gains: Ints, grades: Ints, _k: int | None, rel: int) -> Floats:
    relevant = int((grades >= rel).sum())
    return np.asarray((gains[:, :relevant] >= rel).sum(axis=1) / max(relevant, 1))


def first_hit(hits: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], Ints]:
    """(p, depth) → (p,), (p,): whether there is a hit, and the rank of the first, from 0."""
    if not hits.shape[1]:
        return np.zeros(len(hits), dtype=np.bool_), np.zeros(len(hits), dtype=np.int64)
    return np.asarray(hits.any(axis=1)), np.asarray(hits.argmax(axis=1), dtype=np.int64)


ARRAYS: dict[str, Array] = {
    "AP": _average_precision,
    "P": _precision,
    "R": _recall,
    "RR": _reciprocal_rank,
    "Rprec": _r_precision,
    "Success": _success,
    "nDCG": _ndcg,
}
