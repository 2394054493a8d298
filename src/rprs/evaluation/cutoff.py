"""Cut-off rules: how many documents of a ranking are returned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rprs.errors import UsageError

__all__ = ["Ratio", "Rule", "Top", "cut"]


@dataclass(frozen=True, slots=True)
class Top:
    """Return the k best documents."""

    k: int

    def __post_init__(self) -> None:
        if self.k < 1:
            raise UsageError(f"A cut-off must be an integer in [1, inf). Got {self.k} instead.")

    def __str__(self) -> str:
        return str(self.k)


@dataclass(frozen=True, slots=True)
class Ratio:
    """Return the documents with at least p · the top score, but at least l and at most h documents.

    If the top score is 0 or below, l documents are returned.
    """

    p: float
    l: int = 1  # noqa: E741  # the name in the paper
    h: int = 10

    def __post_init__(self) -> None:
        if not 0 <= self.p <= 1:
            raise UsageError(f"The 'p' parameter of ratio must be a number in [0, 1]. Got {self.p!r} instead.")
        if not 0 <= self.l <= self.h or self.h < 1:
            raise UsageError(f"ratio needs 0 <= l <= h and h >= 1. Got l={self.l}, h={self.h} instead.")

    def __str__(self) -> str:
        return f"ratio(p={float(self.p)!r},l={self.l},h={self.h})"


Rule = Top | Ratio


def cut(rule: Rule, scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """(p, depth) → (p,): the number of documents that a rule returns from each order."""
    depth = scores.shape[1]
    if isinstance(rule, Top) or not depth:
        return np.full(len(scores), min(rule.k, depth) if isinstance(rule, Top) else 0, dtype=np.int64)
    top = scores[:, :1]
    enough = np.where(top[:, 0] > 0, (scores >= rule.p * top).sum(axis=1), 0)
    return np.clip(enough, min(rule.l, depth), min(rule.h, depth)).astype(np.int64)
