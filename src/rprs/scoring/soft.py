"""RPRS without parameters: expected counts instead of the n nearest, chance instead of k1 and b.

Every query sentence i draws one of the N sentences of the pool at random, similar ones more often. S[i, s] is their
cosine, and σ_i the standard deviation of S[i, ·] over the pool:

    p[i, s] = exp(β_i · S[i, s]) / Σ_t exp(β_i · S[i, t])     β_i = 2 · √(2 ln N) / σ_i     (1 / N where σ_i = 0)

    c[i, d] = Σ_{s ∈ d} p[i, s]               the chance that sentence i draws a sentence of document d
    h[s] = 1 − Π_i (1 − p[i, s])              the chance that sentence s is drawn at least once

Without regard to similarity, c[i, d] would be e_d = |S_d| / N. The distance from that, the information that sentence i
provides about the candidates, is its weight; a sentence that all of them match equally well has none:

    w_i = Σ_d c[i, d] · ln(c[i, d] / e_d)     the Kullback-Leibler divergence; the same for all i where all are 0

    QP(d) = Σ_i w_i · c[i, d] / (c[i, d] + e_d) / Σ_i w_i        DP(d) = Σ_{s ∈ d} h[s] / |S_d|        score = QP · DP

docs/method.md explains this form and β. Three passes over the products, in blocks (see `scoring.aligned`), find β, c
and h; memory holds two numbers per query sentence and document beside the blocks. Exponentials and their sums are not
exact, so they are added in a fixed order: over the sentences of a document, over documents, over the query. Therefore
neither blocks nor threads change a bit of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled
from rprs.document import Sentences
from rprs.progress import Advance, divided, no_op
from rprs.scoring.aligned import DEFAULT_PLAN, Block, Fold, Plan, multiply, scan
from rprs.scoring.lists import Wide
from rprs.scoring.logarithms import exp_of, log
from rprs.scoring.rprs import Proportions
from rprs.scoring.widening import Vectors, widen

__all__ = ["Draws", "soft"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PASSES = 3  # with products; the means need none
NEGLIGIBLE = -37.0  # exp of it is below the rounding error of 1; most sentences of a pool are below it


@dataclass(frozen=True, slots=True)
class Draws:
    """How each of m query sentences draws: p[i, s] = exp(sharpness · (S[i, s] − greatest)) / total."""

    sharpness: Floats  # (m,): β
    greatest: Floats  # (m,): the greatest similarity, so that no exponential overflows
    total: Floats  # (m,)


def soft(
    query: Vectors, documents: Sequence[Sentences], advance: Advance = no_op, *, plan: Plan = DEFAULT_PLAN
) -> Proportions:
    """The score of each of k documents and its two factors, for the vectors (m, dimension) of m > 0 query sentences.

    A document without sentences scores 0. `advance` counts sentences of documents.
    """
    sizes = np.array([len(document) for document in documents], dtype=np.int64)
    if not sizes.sum():
        zero = np.zeros(len(documents))
        return Proportions(zero, zero, zero)
    wide, step = widen(query), divided(advance, PASSES)
    sharpness, greatest = _temperatures(wide, documents, sizes, plan, step)
    weights = _weights(wide, documents, sharpness, greatest, plan, step)  # (k, m)
    total = _ordered_sum(weights)
    qp = _query_proportion(weights / total, sizes / sizes.sum())
    dp = _drawn(wide, documents, Draws(sharpness, greatest, total), plan, step) / np.maximum(sizes, 1)
    return Proportions(qp * dp, qp, dp)


def _query_proportion(c: Floats, expected: Floats) -> Floats:
    """(k,): QP from c (k, m) and what it would be by chance (k,)."""
    expected = expected[:, None]
    ratio = np.divide(c, expected, out=np.zeros_like(c), where=expected > 0)  # 0 for a document without sentences
    logarithm = log(np.where(ratio > 0, ratio, 1.0))
    information = np.maximum(_ordered_sum(c * logarithm), 0.0)  # a divergence is never below 0, but for rounding
    if not information.any():
        information[:] = 1.0
    return _ordered_sum((information * (ratio / (ratio + 1))).T) / _ordered_sum(information[:, None])


def _ordered_sum(rows: Floats) -> Floats:
    """The sum of the rows, one after the other: NumPy's own sum depends on the layout in memory."""
    total = np.zeros(rows.shape[1])
    for row in rows:
        total += row
    return total


# ---------------------------------------------------------------------------- the passes


def _temperatures(
    query: Wide, documents: Sequence[Sentences], sizes: Ints, plan: Plan, advance: Advance
) -> tuple[Floats, Floats]:
    """(m,), (m,): β and the greatest similarity of each query sentence."""
    m, size = len(query), int(sizes.sum())
    mean = _products(query, _vector_sum(documents, query.shape[1])) / size

    def fold(products: Wide, top: int, block: Block, values: Floats) -> None:
        columns = slice(top, top + products.shape[1])
        _spread(products, block.owner, mean[columns], values[:, :m][:, columns], values[:, m:][:, columns])

    values = _scan(query, documents, fold, 2 * m, plan, advance)
    deviation = np.sqrt(_ordered_sum(values[:, :m]) / size)
    sharpness = np.divide(2 * np.sqrt(2 * log(size)), deviation, out=np.zeros(m), where=deviation > 0)
    return sharpness, mean + values[:, m:].max(axis=0)


def _products(query: Wide, vector: Floats) -> Floats:
    """(m,): the products of the query vectors with a vector, added in the order of the dimensions, not of BLAS."""
    total = np.zeros(len(query))
    for column, value in zip(query.T, vector.tolist(), strict=True):
        total += column.astype(np.float64) * value
    return total


def _vector_sum(documents: Sequence[Sentences], dimension: int) -> Floats:
    """(dimension,): the sum of all vectors; sums of multiples of the grid are exact."""
    total = np.zeros(dimension)
    for document in documents:
        if len(document):
            total += widen(document.vectors).sum(axis=0, dtype=np.float64)
    return total


def _weights(
    query: Wide, documents: Sequence[Sentences], sharpness: Floats, greatest: Floats, plan: Plan, advance: Advance
) -> Floats:
    """(k, m): the sum over each document's sentences of exp(β · (similarity − the greatest))."""

    def fold(products: Wide, top: int, block: Block, values: Floats) -> None:
        columns = slice(top, top + products.shape[1])
        _add_weights(products, block.owner, sharpness[columns], greatest[columns], values[:, columns])

    return _scan(query, documents, fold, len(query), plan, advance)


def _drawn(query: Wide, documents: Sequence[Sentences], draws: Draws, plan: Plan, advance: Advance) -> Floats:
    """(k,): the expected number of each document's sentences that are drawn at least once."""

    def fold() -> Fold:
        never = np.empty(plan.block)  # for each sentence of the block, the chance that no query sentence drew it yet

        def multiply_chances(products: Wide, top: int, block: Block, values: Floats) -> None:
            columns, rest = slice(top, top + products.shape[1]), never[: len(products)]
            if top == 0:
                rest[:] = 1.0
            _pass_over(products, draws.sharpness[columns], draws.greatest[columns], draws.total[columns], rest)
            if columns.stop == len(query):
                _add_drawn(rest, block.owner, values)

        return multiply_chances

    visits = [multiply(query, [fold()], plan) for _ in range(plan.workers)]
    return scan(documents, visits, 1, plan=plan, advance=advance).values[:, 0]


def _scan(query: Wide, documents: Sequence[Sentences], fold: Fold, width: int, plan: Plan, advance: Advance) -> Floats:
    """(k, width): what a fold without a state of its own collects for each document."""
    visits = [multiply(query, [fold], plan) for _ in range(plan.workers)]
    return scan(documents, visits, width, plan=plan, advance=advance).values


# ---------------------------------------------------------------------------- kernels: products are (c, r)


@compiled
def _spread(products, owner, mean, squares, above):  # type: ignore[no-untyped-def]
    """The sum of squared deviations from the mean, and the greatest deviation, which is never below 0 over a pool."""
    for row in range(products.shape[0]):
        document = owner[row]
        for column in range(products.shape[1]):
            deviation = np.float64(products[row, column]) - mean[column]
            squares[document, column] += deviation * deviation
            above[document, column] = max(above[document, column], deviation)


@compiled
def _add_weights(products, owner, sharpness, greatest, weights):  # type: ignore[no-untyped-def]
    for row in range(products.shape[0]):
        document = owner[row]
        for column in range(products.shape[1]):
            exponent = sharpness[column] * (products[row, column] - greatest[column])
            if exponent > NEGLIGIBLE:
                weights[document, column] += exp_of(exponent)


@compiled
def _pass_over(products, sharpness, greatest, total, never):  # type: ignore[no-untyped-def]
    """never[s] = never[s] · Π_i (1 − p[i, s])."""
    for row in range(products.shape[0]):
        chance = never[row]
        for column in range(products.shape[1]):
            exponent = sharpness[column] * (products[row, column] - greatest[column])
            if exponent > NEGLIGIBLE:
                chance *= 1.0 - exp_of(exponent) / total[column]
        never[row] = chance


@compiled
def _add_drawn(never, owner, values):  # type: ignore[no-untyped-def]
    for row in range(never.size):
        values[owner[row], 0] += 1.0 - never[row]
