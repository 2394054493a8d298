"""Is the difference between two systems significant, and how large is it?

Paired tests over queries, both two-sided, and corrections for multiple tests; confidence intervals of the difference,
and an effect size. Where the systems do not differ on any query, p is 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Pair", "bonferroni", "bootstrap_interval", "effect_size", "fisher", "holm", "t_interval", "t_test"]

Floats = NDArray[np.float64]

_BATCH = 2**22  # numbers in one batch of permutations
_ROUNDING = 1e-12  # rounding errors of values that are mathematically equal
_RESAMPLES = 10_000  # of the queries, for an interval by bootstrap


def t_test(a: Floats, b: Floats) -> float:
    """The p of Student's paired t-test of the queries' values, (queries,) each; 1 if there is only one query."""
    from scipy.special import stdtr

    difference = a - b
    if len(difference) < 2 or np.abs(difference).max() <= _ROUNDING:
        return 1.0
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    if error <= _ROUNDING * abs(difference.mean()):  # the same difference on every query
        return 0.0
    return float(2 * stdtr(len(difference) - 1, -abs(difference.mean() / error)))


def fisher(pairs: Sequence[Pair], *, permutations: int = 100_000, seed: int = 0) -> Floats:
    """Fisher's randomisation test: how often swapping two systems on some queries gives a difference at least as large.

    (len(pairs),): the p of each pair, all on the same n queries. All 2^n permutations are used if that is at most
    `permutations`; otherwise that many are drawn, and p is (as large + 1) / (permutations + 1).
    """
    if not pairs:
        return np.empty(0, dtype=np.float64)
    queries = len(pairs[0].a)
    every = queries < 63 and 2**queries <= permutations
    changes = np.concatenate([pair.b - pair.a for pair in pairs], axis=1) / queries
    ends = np.cumsum([pair.a.shape[1] for pair in pairs])[:-1]
    large = np.zeros(len(pairs), dtype=np.int64)
    for swaps in _all_swaps(queries) if every else _random_swaps(queries, permutations, seed):
        moved = np.split(swaps @ changes, ends, axis=1)
        large += [pair.as_large(change) for pair, change in zip(pairs, moved, strict=True)]
    return large / 2**queries if every else (large + 1) / (permutations + 1)


@dataclass(frozen=True)
class Pair:
    """The parts, (queries, j), of a measure for two systems; `combine` turns means into values: (..., j) → (...)."""

    a: Floats
    b: Floats
    combine: Callable[[Floats], Floats]

    def as_large(self, moved: Floats) -> int:
        """How many swaps, which move a's mean towards b's by (swaps, j), leave at least the observed difference."""
        a, b = self.a.mean(axis=0), self.b.mean(axis=0)
        observed = abs(self.combine(a) - self.combine(b))
        return int((abs(self.combine(a + moved) - self.combine(b - moved)) >= observed - _ROUNDING).sum())


def _all_swaps(queries: int) -> Iterator[Floats]:
    rows = max(_BATCH // max(queries, 1), 1)
    for start in range(0, 2**queries, rows):
        numbers = np.arange(start, min(start + rows, 2**queries), dtype=np.int64)
        yield (numbers[:, None] >> np.arange(queries) & 1).astype(np.float64)


def _random_swaps(queries: int, permutations: int, seed: int) -> Iterator[Floats]:
    random, rows = np.random.default_rng(seed), max(_BATCH // queries, 1)
    for start in range(0, permutations, rows):
        count = min(rows, permutations - start)
        bits = np.frombuffer(random.bytes(count * -(-queries // 8)), dtype=np.uint8).reshape(count, -1)
        yield np.unpackbits(bits, axis=1, count=queries).astype(np.float64)


def t_interval(a: Floats, b: Floats, confidence: float) -> tuple[float, float]:
    """Student's confidence interval of the mean of a − b over queries; NaN if there is only one query."""
    from scipy.special import stdtrit

    difference = a - b
    if len(difference) < 2:
        return np.nan, np.nan
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    half = stdtrit(len(difference) - 1, (1 + confidence) / 2) * error
    return float(difference.mean() - half), float(difference.mean() + half)


def bootstrap_interval(
    a: Floats, b: Floats, total: Callable[[Floats], Floats], confidence: float, *, seed: int = 0
) -> tuple[float, float]:
    """The interval of total(a) − total(b) between percentiles of resamples of the queries; NaN for only one query.

    `a` and `b` are the parts of a measure, (queries, j), and `total` turns (queries, resamples, j) into (resamples,).
    """
    queries, random = len(a), np.random.default_rng(seed)
    if queries < 2:
        return np.nan, np.nan
    columns, differences = max(_BATCH // queries, 1), []
    for start in range(0, _RESAMPLES, columns):
        picks = random.integers(0, queries, (min(columns, _RESAMPLES - start), queries)).T
        differences.append(total(a[picks]) - total(b[picks]))
    tail = 50 * (1 - confidence)
    low, high = np.percentile(np.concatenate(differences), [tail, 100 - tail])
    return float(low), float(high)


def effect_size(a: Floats, b: Floats) -> float:
    """Cohen's d_z: the mean of the queries' differences a − b divided by their standard deviation.

    NaN where it is not defined: for only one query, and where all differences are the same and not 0.
    """
    difference = a - b
    if len(difference) < 2:
        return np.nan
    mean, deviation = float(difference.mean()), float(difference.std(ddof=1))
    if np.abs(difference).max() <= _ROUNDING:
        return 0.0
    return mean / deviation if deviation > _ROUNDING * abs(mean) else np.nan


def bonferroni(p: Floats) -> Floats:
    """Each p times the number of comparisons, at most 1."""
    return np.minimum(p * len(p), 1.0)


def holm(p: Floats) -> Floats:
    """Holm's step-down: the smallest p times the number of comparisons, the next times one less, and so on."""
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(np.minimum(p[order] * np.arange(len(p), 0, -1), 1.0))
    corrected = np.empty(len(p), dtype=np.float64)
    corrected[order] = stepped
    return corrected
