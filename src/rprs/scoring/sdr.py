"""SDR at inference (Ginzburg et al. 2021): paragraphs are aligned by their sentences, documents by their paragraphs.

    P[i, j] = mean over the sentences of query paragraph i of the greatest cosine to the sentences of paragraph j
    score   = mean over i of max_j P[i, j]

With `normalise="zscore"`, P[i, j] is first brought to mean 0 and standard deviation 1 over the paragraphs j of all
documents, separately for each i; a row without spread becomes 0. The z-score is monotonic in P, so the best j remains
the best, and only means and deviations must be known beforehand: they take a pass of their own, so that no matrix is
kept. They are computed from sums of integers, in units of the square of the grid of `scoring.vectors`, which are exact
in any order. A document without sentences has P = −1, the lowest possible value, and does not enter the means.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled
from rprs.document import Sentences
from rprs.errors import UsageError
from rprs.progress import Advance, no_op
from rprs.scoring.aligned import DEFAULT_PLAN, DOCUMENT, PARAGRAPH, Block, Plan, multiply, scan
from rprs.scoring.lists import Wide
from rprs.scoring.vectors import precision_of
from rprs.scoring.widening import widen

__all__ = [
    "Alignment",
    "Normalise",
    "Statistics",
    "add_moments",
    "sdr",
    "sdr_normalised",
    "statistics",
    "statistics_of",
]

Normalise = Literal["none", "zscore"]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LIMB = 28  # bits: sums of similarities are multiplied in two parts, up to 65,536 sentences of float32 vectors
WORD = 32  # bits: totals are stored in two words, enough for two billion paragraphs


@dataclass(frozen=True, slots=True)
class Statistics:
    """Mean and standard deviation of every row of P; the deviation of a row without spread is infinite."""

    mean: Floats  # (query paragraphs,)
    deviation: Floats  # (query paragraphs,)

    @classmethod
    def none(cls, rows: int) -> Statistics:
        """Mean 0 and deviation 1, which leave P unchanged."""
        return cls(np.zeros(rows), np.ones(rows))


def sdr(
    query: Sentences,
    documents: Iterable[Sentences],
    normalise: Normalise = "none",
    *,
    plan: Plan = DEFAULT_PLAN,
    advance: Advance = no_op,
) -> Floats:
    """(k,): the score of every document, for a query with at least one sentence.

    "zscore" makes two passes over the documents. `advance` counts processed sentences.
    """
    if normalise == "none":
        return _mean_of_best(query, documents, None, plan, advance)
    if isinstance(documents, Iterator):
        raise UsageError("zscore goes through the documents twice: pass a list or another re-iterable collection")
    moments = add_moments(query, documents, plan=plan, advance=lambda rows: advance(rows - rows // 2))
    return sdr_normalised(query, documents, moments, plan=plan, advance=lambda rows: advance(rows // 2))


def sdr_normalised(
    query: Sentences,
    documents: Iterable[Sentences],
    moments: Ints,
    *,
    plan: Plan = DEFAULT_PLAN,
    advance: Advance = no_op,
) -> Floats:
    """(k,): the scores with "zscore", from the moments of all documents, of which these may be some."""
    return _mean_of_best(query, documents, statistics_of(query, moments), plan, advance)


def _mean_of_best(
    query: Sentences,
    documents: Iterable[Sentences],
    rows_of_p: Statistics | None,
    plan: Plan,
    advance: Advance,
) -> Floats:
    """(k,): (1 / rows) · Σ_i (max_j P[i, j] − mean_i) / deviation_i; without statistics, the plain mean of max_j P."""
    stops, wide = _stops(query.paragraphs), widen(query.vectors)
    moments = rows_of_p or Statistics.none(len(stops))
    visits = [multiply(wide, [Alignment(wide, stops, moments, plan)], plan) for _ in range(plan.workers)]
    scanned = scan(documents, visits, 1, plan=plan, advance=advance)
    no_sentences = 0.0 + np.sum((-1 - moments.mean) / moments.deviation)  # 0.0 +: avoids -0.0
    return np.asarray(np.where(scanned.sizes > 0, scanned.values[:, 0], no_sentences) / len(stops))


def statistics(
    query: Sentences,
    documents: Iterable[Sentences],
    *,
    plan: Plan = DEFAULT_PLAN,
    advance: Advance = no_op,
) -> Statistics:
    """Mean and (population) standard deviation of P[i, j] over the paragraphs j of all documents, for every i."""
    return statistics_of(query, add_moments(query, documents, plan=plan, advance=advance))


def add_moments(
    query: Sentences,
    documents: Iterable[Sentences],
    *,
    plan: Plan = DEFAULT_PLAN,
    advance: Advance = no_op,
) -> Ints:
    """(query paragraphs, 5, 2): the moments of the rows of P, integers that add up over all documents."""
    stops, wide = _stops(query.paragraphs), widen(query.vectors)
    per_unit = precision_of(query.vectors).per_unit
    folds = [Alignment(wide, stops, Statistics.none(len(stops)), plan, per_unit=per_unit) for _ in range(plan.workers)]
    scan(documents, [multiply(wide, [fold], plan) for fold in folds], 1, plan=plan, advance=advance)
    return np.asarray(np.sum([fold.moments for fold in folds], axis=0), dtype=np.int64)


def statistics_of(query: Sentences, moments: Ints) -> Statistics:
    """Mean and standard deviation of every row of P, from its moments."""
    per_unit = precision_of(query.vectors).per_unit
    sizes = np.diff(_stops(query.paragraphs), prepend=0).tolist()
    rows = [_mean_and_deviation(each, size * per_unit) for each, size in zip(moments.tolist(), sizes, strict=True)]
    mean, deviation = np.array(rows, dtype=np.float64).T
    return Statistics(mean, deviation)


def _mean_and_deviation(moments: Sequence[Sequence[int]], unit: int) -> tuple[float, float]:
    """Mean and deviation of a row of P, from the moments n, Σx and Σx² of sums x, of which `unit` are a P of 1."""
    n, x, high, mixed, low = ((upper << WORD) + lower for upper, lower in moments)
    squares = (high << 2 * LIMB) + (mixed << LIMB + 1) + low
    spread = math.sqrt(n * squares - x * x)  # unbounded integers: 0 only where all sums are equal
    return (x / (n * unit) if n else 0.0), (spread / (n * unit) if spread else math.inf)


def _stops(paragraphs: NDArray[np.int32]) -> Ints:
    """(paragraphs,): the position after the last sentence of each paragraph."""
    return np.append(np.flatnonzero(np.diff(paragraphs)) + 1, len(paragraphs)).astype(np.int64)


class Alignment:
    """Folds products into Σ_i (max_j P[i, j] − mean_i) / deviation_i of every document, in column 0 of the values.

    `level` defines j: PARAGRAPH for each paragraph of a document, DOCUMENT for the document as one unit. With
    `per_unit`, the moments of the sums x = size_i · P[i, j], as integers that are `per_unit` for 1, are added up too:
    n, Σx, and Σx² in three parts, each in two words.
    """

    def __init__(
        self,
        query: Wide,
        stops: Ints,
        statistics: Statistics,
        plan: Plan,
        *,
        level: int = PARAGRAPH,
        per_unit: int = 0,
    ) -> None:
        self.moments = np.zeros((len(stops) if per_unit else 0, 5, 2), dtype=np.int64)
        self._per_unit = float(per_unit)
        self._stops, self._statistics, self._level = stops, statistics, level
        self._running = np.full(stops[-1], -np.inf, dtype=query.dtype)  # best of each query sentence within unit j
        self._best = np.full(len(stops), -np.inf, dtype=np.float64)  # best sum of each query paragraph in the document
        self._sums = np.empty(len(stops), dtype=np.float64)
        self._partial = np.empty(plan.block, dtype=np.float64)  # sums of a query paragraph split between two row blocks

    def __call__(self, products: Wide, top: int, block: Block, values: Floats) -> None:
        """Process the similarities of a block of document sentences with the query sentences from `top` on."""
        state = self._running, self._partial, self._sums, self._best, self.moments
        moments = self._statistics.mean, self._statistics.deviation
        unit = block.ends, block.owner, self._level, self._stops, self._per_unit
        _align(products, top, *unit, *state, *moments, values)


@compiled
def _align(  # type: ignore[no-untyped-def]
    products, top, ends, owner, level, stops, per_unit, running, partial, sums, best, moments, mean, deviation, values
):
    """Update the running maxima sentence by sentence and, where a unit j ends, sum them for every query paragraph i."""
    bottom = top + products.shape[1]
    first = np.searchsorted(stops, top, side="right")  # the query paragraphs of the top and the bottom row
    last = np.searchsorted(stops, bottom - 1, side="right")
    continued = top > (stops[first - 1] if first else 0)  # the first paragraph began in the rows above
    complete = last + 1 if stops[last] == bottom else last  # paragraphs first:complete end in these rows
    for column in range(products.shape[0]):
        _raise(running[top:bottom], products[column])
        if ends[column] < level:
            continue
        _sum(running, top, bottom, stops, first, last, partial[column] if continued else 0.0, sums)
        if complete == last:
            partial[column] = sums[last]
        _raise(best[first:complete], sums[first:complete])
        if moments.size:
            _count(sums, first, complete, per_unit, moments)
        if ends[column] == DOCUMENT:
            values[owner[column], 0] = _add(best, first, complete, stops, mean, deviation, values[owner[column], 0])
        running[top:bottom] = -np.inf


@compiled(fastmath={"nnan", "nsz"})
def _raise(running, others):  # type: ignore[no-untyped-def]
    """running = max(running, others), in a form that compiles to vector instructions: five times as fast as `max`."""
    for row in range(running.size):
        running[row] = -min(-running[row], -others[row])


@compiled
def _sum(running, top, bottom, stops, first, last, total, sums):  # type: ignore[no-untyped-def]
    """sums[i] = Σ of the running maxima of query paragraph i up to bottom, the first on top of a total, in order."""
    start = top
    for i in range(first, last + 1):
        stop = min(stops[i], bottom)
        for row in range(start, stop):
            total += np.float64(running[row])
        sums[i] = total
        start, total = stop, 0.0


@compiled
def _count(sums, first, stop, per_unit, moments):  # type: ignore[no-untyped-def]
    """Add the sums x = high · 2^LIMB + low to the moments n, Σx, Σhigh², Σhigh·low, Σlow²."""
    for i in range(first, stop):
        x = np.int64(sums[i] * per_unit)
        high, low = x >> LIMB, x & ((1 << LIMB) - 1)
        moments[i, 0, 1] += 1
        for place, value in enumerate((x, high * high, high * low, low * low)):
            moments[i, place + 1, 0] += value >> WORD
            moments[i, place + 1, 1] += value & ((1 << WORD) - 1)


@compiled(error_model="numpy")
def _add(best, first, stop, stops, mean, deviation, total):  # type: ignore[no-untyped-def]
    """Add (max_j P[i, j] − mean_i) / deviation_i for i from first to stop, in this order, and reset the best sums."""
    for i in range(first, stop):
        size = stops[i] - (stops[i - 1] if i else 0)
        total += (best[i] / size - mean[i]) / deviation[i]
        best[i] = -np.inf
    return total
