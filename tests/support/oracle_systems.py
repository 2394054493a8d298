"""SDR, MaxSim and mean pooling, transcribed literally in fractions: slow, and independent of the package."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt

Vector = Sequence[Fraction]
Paragraph = Sequence[Vector]  # its sentences, at least one
Paragraphs = Sequence[Paragraph]  # of one document; may be empty

HALF = Fraction(1, 2)
A, B = (1, 0, 0, 0), (0, 1, 0, 0)
H, G = (HALF, HALF, HALF, HALF), (HALF, HALF, -HALF, -HALF)
"""Four unit vectors with simple cosines: A·B = 0, A·H = A·G = B·H = B·G = 1/2, H·G = 0."""


def flat(document: Paragraphs) -> list[Vector]:
    return [sentence for paragraph in document for sentence in paragraph]


def cosine(a: Vector, b: Vector) -> Fraction:
    return sum((Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True)), Fraction(0))


def mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def paragraph_similarity(i: Paragraph, j: Paragraph) -> Fraction:
    """P[i, j]."""
    return mean([max(cosine(q, s) for s in j) for q in i])


def sdr(query: Paragraphs, documents: Sequence[Paragraphs]) -> list[float]:
    return [
        float(mean([max(paragraph_similarity(i, j) for j in document) for i in query])) if document else -1.0
        for document in documents
    ]


def sdr_zscore(query: Paragraphs, documents: Sequence[Paragraphs]) -> list[float]:
    rows: list[list[float]] = []
    for i in query:
        p = [[paragraph_similarity(i, j) for j in document] or [Fraction(-1)] for document in documents]
        defined = [value for values, document in zip(p, documents, strict=True) if document for value in values]
        centre = mean(defined) if defined else Fraction(0)
        variance = mean([(value - centre) ** 2 for value in defined]) if defined else Fraction(0)
        z = [[float(value - centre) / sqrt(variance) if variance else 0.0 for value in values] for values in p]
        rows.append([max(values) for values in z])
    return [sum(column) / len(query) for column in zip(*rows, strict=True)]


def maxsim(query: Sequence[Vector], document: Sequence[Vector], direction: str) -> float:
    if not document:
        return -1.0
    of_query = mean([max(cosine(q, s) for s in document) for q in query])
    of_document = mean([max(cosine(q, s) for q in query) for s in document])
    return float({"query": of_query, "document": of_document, "both": (of_query + of_document) / 2}[direction])


def meanpool(query: Sequence[Vector], document: Sequence[Vector]) -> float:
    if not document:
        return -1.0
    left, right = ([mean(column) for column in zip(*rows, strict=True)] for rows in (query, document))
    norms = sqrt(cosine(left, left)) * sqrt(cosine(right, right))
    return float(cosine(left, right)) / norms if norms else 0.0


def best_sentences(query: Sequence[Vector], document: Sequence[Vector], top: int) -> list[float]:
    scores = sorted((float(max(cosine(q, s) for q in query)) for s in document), reverse=True)
    return [*scores[:top], *[0.0] * (top - len(scores))]
