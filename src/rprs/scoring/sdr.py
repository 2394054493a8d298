"""SDR at inference (Ginzburg et al. 2021): paragraphs are aligned by their sentences, documents by their paragraphs.

    P[i, j] = mean over the sentences of query paragraph i of the greatest cosine to the sentences of paragraph j
    score   = mean over i of max_j P[i, j]

With `normalise="zscore"`, P[i, j] is first brought to mean 0 and standard deviation 1 over the paragraphs j of all
documents, for each i by itself; a row without spread is then 0. That grows with P, so the best j stays the best, and
only means and deviations are wanted beforehand: a pass of its own, so that no matrix is ever kept. They come from sums
of whole numbers, in units of GRID²: exact in any order. A document without sentences counts as P = −1, as unlike as can
be, and leaves the means alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numba
import numpy as np
from numpy.typing import NDArray

from rprs.document import Sentences
from rprs.errors import UsageError
from rprs.scoring.aligned import DOCUMENT, PARAGRAPH, USUAL, Block, Plan, multiply, scan
from rprs.scoring.neighbours import widen
from rprs.scoring.vectors import GRID

__all__ = ["Alignment", "Normalise", "Statistics", "sdr", "statistics"]

Normalise = Literal["none", "zscore"]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PER_UNIT = round(GRID**-2)  # similarities are whole multiples of GRID²
LIMB = 18  # bits: squares of sums are kept in three parts, with room for 90 million paragraphs of 20,000 sentences


@dataclass(frozen=True, slots=True)
class Statistics:
    """Mean and standard deviation of every row of P; the deviation of a row without spread is infinite."""

    mean: Floats  # (query paragraphs,)
    deviation: Floats  # (query paragraphs,)

    @classmethod
    def none(cls, rows: int) -> Statistics:
        """Those that leave P as it is."""
        return cls(np.zeros(rows), np.ones(rows))


def sdr(
    query: Sentences,
    documents: Iterable[Sentences],
    normalise: Normalise = "none",
    *,
    plan: Plan = USUAL,
    advance: Callable[[int], None] = lambda _rows: None,
) -> Floats:
    """(k,): the score of every document for a query with at least one sentence.

    "zscore" goes through the documents twice. `advance` is told how many of their sentences are done.
    """
    if normalise == "none":
        return _mean_of_best(query, documents, None, plan, advance)
    if isinstance(documents, Iterator):
        raise UsageError("zscore goes through the documents twice: give a list, or what can be iterated anew")
    found = statistics(query, documents, plan=plan, advance=lambda rows: advance(rows - rows // 2))
    return _mean_of_best(query, documents, found, plan, lambda rows: advance(rows // 2))


def _mean_of_best(
    query: Sentences,
    documents: Iterable[Sentences],
    known: Statistics | None,
    plan: Plan,
    advance: Callable[[int], None],
) -> Floats:
    stops, wide = _stops(query.paragraphs), widen(query.vectors)
    found = known or Statistics.none(len(stops))
    visits = [multiply(wide, [Alignment(stops, found, plan)], plan) for _ in range(plan.workers)]
    scanned = scan(documents, visits, 1, plan=plan, advance=advance)
    hollow = 0.0 + np.sum((-1 - found.mean) / found.deviation)  # 0.0 +: no score is to be shown as -0.0
    return np.asarray(np.where(scanned.sizes > 0, scanned.values[:, 0], hollow) / len(stops))


def statistics(
    query: Sentences,
    documents: Iterable[Sentences],
    *,
    plan: Plan = USUAL,
    advance: Callable[[int], None] = lambda _rows: None,
) -> Statistics:
    """Mean and (population) standard deviation of P[i, j] over the paragraphs j of all documents, for every i."""
    stops, wide = _stops(query.paragraphs), widen(query.vectors)
    folds = [Alignment(stops, Statistics.none(len(stops)), plan, count=True) for _ in range(plan.workers)]
    scan(documents, [multiply(wide, [fold], plan) for fold in folds], 1, plan=plan, advance=advance)
    moments = np.sum([fold.moments for fold in folds], axis=0)
    found = map(_mean_and_deviation, moments.tolist(), np.diff(stops, prepend=0).tolist())
    mean, deviation = np.array(list(found), dtype=np.float64).T
    return Statistics(mean, deviation)


def _mean_and_deviation(moments: Sequence[int], size: int) -> tuple[float, float]:
    """Of sums over `size` sentences, from their moments."""
    n, x, high, mixed, low = moments
    squares = (high << 2 * LIMB) + (mixed << LIMB + 1) + low
    spread = math.sqrt(n * squares - x * x)  # whole numbers without bound: 0 only where all are equal
    unit = n * size * PER_UNIT
    return (x / unit if n else 0.0), (spread / unit if spread else math.inf)


def _stops(paragraphs: NDArray[np.int32]) -> Ints:
    """Where each paragraph's sentences end."""
    return np.append(np.flatnonzero(np.diff(paragraphs)) + 1, len(paragraphs)).astype(np.int64)


class Alignment:
    """Folds products into Σ_i (max_j P[i, j] − mean_i) / deviation_i of every document, in the column 0 of the values.

    `level` says what j is: the paragraphs of a document, or the document as a whole. With `count`, the moments of the
    sums that P is made of, in units of GRID², are added up too: n, Σx, and Σx² in three parts.
    """

    def __init__(
        self, stops: Ints, known: Statistics, plan: Plan, *, level: int = PARAGRAPH, count: bool = False
    ) -> None:
        self.moments = np.zeros((len(stops) if count else 0, 5), dtype=np.int64)
        self._stops, self._known, self._level = stops, known, level
        self._running = np.full(stops[-1], -np.inf, dtype=np.float32)  # of each query sentence, within the paragraph j
        self._best = np.full(len(stops), -np.inf, dtype=np.float64)  # of each query paragraph, within the document
        self._sums = np.empty(len(stops), dtype=np.float64)
        self._partial = np.empty(plan.block, dtype=np.float64)  # sums over a query paragraph that is cut

    def __call__(self, products: NDArray[np.float32], top: int, block: Block, values: Floats) -> None:
        """Take the similarities of a block and some rows of the query."""
        state = self._running, self._partial, self._sums, self._best, self.moments
        known = self._known.mean, self._known.deviation
        _align(products, top, block.ends, block.owner, self._level, self._stops, *state, *known, values)


@numba.njit(nogil=True, cache=True)
def _align(  # type: ignore[no-untyped-def]
    products, top, ends, owner, level, stops, running, partial, sums, best, moments, mean, deviation, values
):
    """Raise the running maxima by sentence after sentence and, where a paragraph j ends, sum them for every i."""
    bottom = top + products.shape[1]
    first = np.searchsorted(stops, top, side="right")  # the query paragraph of the top row, and of the bottom one
    last = np.searchsorted(stops, bottom - 1, side="right")
    cut = top > (stops[first - 1] if first else 0)
    whole = last + 1 if stops[last] == bottom else last  # the first that does not end here
    for column in range(products.shape[0]):
        _raise(running[top:bottom], products[column])
        if ends[column] < level:
            continue
        _sum(running, top, bottom, stops, first, last, sums)
        if cut:
            sums[first] += partial[column]
        if whole == last:
            partial[column] = sums[last]
        _raise(best[first:whole], sums[first:whole])
        if moments.size:
            _count(sums, first, whole, moments)
        if ends[column] == DOCUMENT:
            values[owner[column], 0] = _add(best, first, whole, stops, mean, deviation, values[owner[column], 0])
        running[top:bottom] = -np.inf


@numba.njit(nogil=True, cache=True, fastmath={"nnan", "nsz"})
def _raise(running, others):  # type: ignore[no-untyped-def]
    """To the greater of both, in a form that becomes vector instructions, which `max` does not: five times as fast."""
    for row in range(running.size):
        running[row] = -min(-running[row], -others[row])


@numba.njit(nogil=True, cache=True)
def _sum(running, top, bottom, stops, first, last, sums):  # type: ignore[no-untyped-def]
    """sums[i] over the rows of every query paragraph i between top and bottom: exact."""
    start = top
    for i in range(first, last + 1):
        stop = min(stops[i], bottom)
        total = 0.0
        for row in range(start, stop):
            total += np.float64(running[row])
        sums[i] = total
        start = stop


@numba.njit(nogil=True, cache=True)
def _count(sums, first, stop, moments):  # type: ignore[no-untyped-def]
    """Add sums, x = high · 2^LIMB + low, to their moments."""
    for i in range(first, stop):
        x = np.int64(sums[i] * PER_UNIT)
        high, low = x >> LIMB, x & ((1 << LIMB) - 1)
        moments[i, 0] += 1
        moments[i, 1] += x
        moments[i, 2] += high * high
        moments[i, 3] += high * low
        moments[i, 4] += low * low


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _add(best, first, stop, stops, mean, deviation, total):  # type: ignore[no-untyped-def]
    """Add a document's best, one query paragraph after the other, and begin anew."""
    for i in range(first, stop):
        size = stops[i] - (stops[i - 1] if i else 0)
        total += (best[i] / size - mean[i]) / deviation[i]
        best[i] = -np.inf
    return total
