"""RPRS without parameters, transcribed literally into lists and exact cosines: slow, and independent of the package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, fsum, log, prod, sqrt

from tests.support.oracle_systems import Vector, cosine, mean


@dataclass(frozen=True)
class Soft:
    """For each document."""

    qp: list[float]
    dp: list[float]
    score: list[float]


def draw(sentence: Vector, pool: Sequence[Vector]) -> list[float]:
    """p[i, s] of one query sentence, for each sentence of the pool."""
    similarities = [cosine(sentence, other) for other in pool]
    centre = mean(similarities)
    variance = mean([(similarity - centre) ** 2 for similarity in similarities])
    if variance == 0:
        return [1 / len(pool)] * len(pool)
    sharpness = 2 * sqrt(2 * log(len(pool))) / sqrt(variance)
    weights = [exp(sharpness * float(similarity - max(similarities))) for similarity in similarities]
    return [weight / fsum(weights) for weight in weights]


def soft(query: Sequence[Vector], documents: Sequence[Sequence[Vector]]) -> Soft:
    pool = [sentence for document in documents for sentence in document]
    if not pool:
        zeros = [0.0] * len(documents)
        return Soft(zeros, zeros, zeros)
    places = iter(range(len(pool)))
    own = [[next(places) for _ in document] for document in documents]  # the places of each document in the pool
    p = [draw(sentence, pool) for sentence in query]
    c = [[fsum(row[place] for place in document) for document in own] for row in p]
    by_chance = [len(document) / len(pool) for document in own]
    pairs = [[(x, e) for x, e in zip(row, by_chance, strict=True) if x > 0] for row in c]
    weights = [max(0.0, fsum(x * log(x / e) for x, e in row)) for row in pairs]
    if max(weights) < 1e-12:
        weights = [1.0] * len(query)
    qp = [
        fsum(weight * row[d] / (row[d] + e) for weight, row in zip(weights, c, strict=True)) / fsum(weights)
        if e
        else 0.0
        for d, e in enumerate(by_chance)
    ]
    hit = [1 - prod(1 - row[place] for row in p) for place in range(len(pool))]
    dp = [fsum(hit[place] for place in document) / len(document) if document else 0.0 for document in own]
    return Soft(qp, dp, [a * b for a, b in zip(qp, dp, strict=True)])
