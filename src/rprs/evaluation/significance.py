"""Is the difference between two systems significant? Paired tests over queries, and corrections for multiple tests.

Both tests are two-sided. Where the systems do not differ on any query, p is 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Pair", "bonferroni", "fisher", "holm", "t_test"]

Floats = NDArray[np.float64]

_BATCH = 2**22  # numbers in one batch of permutations
_ROUNDING = 1e-12  # rounding errors of values that are mathematically equal


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
