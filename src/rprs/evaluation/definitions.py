"""What a measure is, and the measures that ir_measures lacks: sets of returned documents, and those of SDR."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rprs.evaluation.cutoff import Rule, Top, cut
from rprs.evaluation.gains import first_hit

__all__ = ["MPR", "Measure", "Over", "Quantity", "Ranked", "Returned", "SdrRR", "judge"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranked:
    """One query under p settings: the grade of the document at each rank."""

    gains: Ints  # (p, depth): the grade of the document; 0 where it is not judged, or judged below 0
    scores: Floats  # (p, depth), falling
    grades: Ints  # all positive grades of the query's judgements
    # (p, depth), and the number of documents judged 0: for measures such as Bpref, where unjudged is not irrelevant
    judged: NDArray[np.bool_] | None = None
    irrelevant: int = 0


def judge(ids: Sequence[str], scores: Floats, judgements: Mapping[str, int]) -> Ranked:
    """A ranking with the judgements of its query: `Ranked` with p = 1."""
    grades = np.array([[judgements.get(id, -1) for id in ids]], dtype=np.int64).reshape(1, len(ids))
    positive = np.array([grade for grade in judgements.values() if grade > 0], dtype=np.int64)
    irrelevant = sum(grade == 0 for grade in judgements.values())
    return Ranked(np.maximum(grades, 0), np.asarray(scores, np.float64)[None], positive, grades >= 0, irrelevant)


class Measure(ABC):
    """A measure; its text is its name in commands, files and tables."""

    @property
    def averaged(self) -> bool:
        """Whether the total is the mean of the queries' values."""
        return True

    @property
    def compared(self) -> bool:
        """Whether a greater value is better; False for Judged@k, which describes the judgements."""
        return True

    @property
    def cutoff(self) -> int | None:
        """The rank at which the measure stops counting, if there is one."""
        return None

    @abstractmethod
    def parts(self, ranked: Ranked) -> Floats:
        """(p, j): the numbers of one query that the total is made of."""

    def combine(self, parts: Floats) -> Floats:
        """(..., j) → (...): the value of one query, or of the mean over many."""
        return np.asarray(parts[..., 0])

    def values(self, parts: Floats) -> Floats:
        """(..., j) → (...): the value of each query."""
        return self.combine(parts)

    def total(self, parts: Floats) -> Floats:
        """(queries, ..., j) → (...): the value over all queries."""
        return self.combine(parts.mean(axis=0))


# ---------------------------------------------------------------------------- measures of this package

Quantity = Literal["P", "R", "F1"]
Over = Literal["each", "macro", "micro"]


@dataclass(frozen=True, slots=True)
class Returned(Measure):
    """Precision, recall or F1 of the documents that a rule returns: per query, of the means, or over all pairs."""

    quantity: Quantity
    over: Over
    rule: Rule

    def __str__(self) -> str:
        return f"{'' if self.over == 'each' else self.over + '_'}{self.quantity}@{self.rule}"

    @property
    def averaged(self) -> bool:
        """False for counts over all pairs, and for the F1 of means."""
        return self.over == "each" or (self.over == "macro" and self.quantity != "F1")

    @property
    def cutoff(self) -> int:
        """The greatest number of documents that the rule returns."""
        return self.rule.k if isinstance(self.rule, Top) else self.rule.h

    def parts(self, ranked: Ranked) -> Floats:
        """(p, 3): hits, returned, relevant; or (p, 2): P, R; or (p, 1): F1."""
        returned = cut(self.rule, ranked.scores)
        most = int(returned.max(initial=0))
        hits = ((ranked.gains[:, :most] > 0) & (np.arange(most) < returned[:, None])).sum(axis=1)
        counts = np.stack([hits, returned, np.full(len(hits), len(ranked.grades))], axis=1).astype(np.float64)
        if self.over == "micro":
            return counts
        p, r = _share(counts[:, 0], counts[:, 1]), _share(counts[:, 0], counts[:, 2])
        return np.stack([p, r], axis=1) if self.over == "macro" else _f1(p, r)[:, None]

    def combine(self, parts: Floats) -> Floats:
        """The quantity from its parts."""
        if self.over == "each":
            return np.asarray(parts[..., 0])
        if self.over == "macro":
            p, r = parts[..., 0], parts[..., 1]
        else:
            p, r = _share(parts[..., 0], parts[..., 1]), _share(parts[..., 0], parts[..., 2])
        return np.asarray({"P": p, "R": r}[self.quantity] if self.quantity != "F1" else _f1(p, r))


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def _f1(p: Floats, r: Floats) -> Floats:
    return _share(2 * p * r, p + r)


@dataclass(frozen=True, slots=True)
class MPR(Measure):
    """The mean percentile rank of SDR, turned so that 1 is best."""

    def __str__(self) -> str:
        return "MPR"

    @property
    def averaged(self) -> bool:
        """The mean is over pairs: a query with more relevant documents counts more."""
        return False

    def parts(self, ranked: Ranked) -> Floats:
        """(p, 4): for the relevant documents in the list, the sum of rank / length (weighted by grade), the sum of the
        grades and their number; and the number of all relevant documents."""
        depth = max(ranked.gains.shape[1], 1)
        percentiles = (ranked.gains * (np.arange(ranked.gains.shape[1]) / depth)).sum(axis=1)
        listed = (ranked.gains > 0).sum(axis=1)
        relevant = np.full(len(listed), len(ranked.grades))
        return np.stack([percentiles, ranked.gains.sum(axis=1), listed, relevant], axis=1).astype(np.float64)

    def combine(self, parts: Floats) -> Floats:
        """1 − the mean; 0 where no relevant document is listed."""
        return np.asarray(np.where(parts[..., 1] > 0, 1 - _share(parts[..., 0], parts[..., 1]), 0.0))


@dataclass(frozen=True, slots=True)
class SdrRR(Measure):
    """The reciprocal rank as computed by SDR's code: ranks count from 0, and 0 is replaced by 1."""

    def __str__(self) -> str:
        return "sdr_RR"

    def parts(self, ranked: Ranked) -> Floats:
        """(p, 1): 1 / max(rank, 1)."""
        any_hit, first = first_hit(ranked.gains > 0)
        return np.where(any_hit, 1.0 / np.maximum(first, 1), 0.0)[:, None]
