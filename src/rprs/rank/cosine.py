"""The cosine between documents over their terms and phrases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rprs.document import Document, Ranking
from rprs.errors import UsageError
from rprs.index import Index
from rprs.index.segment import Terms, term_hashes
from rprs.rank.stages import Mask
from rprs.scoring import bm25, cosine, phrases
from rprs.spec import Component, Kind, require

__all__ = ["WEIGHTS", "Cosine", "PreparedCosine"]

Floats = NDArray[np.float64]
Places = list[tuple[NDArray[np.int64], NDArray[np.int64]]]  # per segment: where postings start, and how many or stops

WEIGHTS = (0.0, 0.5, 1.0, 2.0, 4.0)  # of phrases, to try when tuning


@dataclass(frozen=True, slots=True)
class PreparedCosine:
    """What does not depend on the weights of the lengths, which are one, two and three terms."""

    products: Floats  # (lengths, documents): Σ w(g, q) · w(g, d)
    squares: Floats  # (lengths,): of the query's norm


@dataclass(frozen=True)
class Cosine(Component):
    """The cosine over sequences of up to `ngrams` adjacent terms, with logarithmic counts and idf.

    `w2` and `w3` are the weights of phrases of two and of three terms; that of single terms is 1.
    """

    ngrams: int = 3
    w2: float = 1.0
    w3: float = 1.0
    name: ClassVar[str] = "cosine"
    kinds: ClassVar[tuple[Kind, ...]] = ("ranker",)
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"w2": WEIGHTS, "w3": WEIGHTS}

    def __post_init__(self) -> None:
        require(self, "ngrams", 1 <= self.ngrams <= 3, "an integer in [1, 3]")
        for name in ("w2", "w3"):
            require(self, name, 0 <= getattr(self, name) < np.inf, "a number in [0, inf)")

    def rank(self, query: Document, index: Index, depth: int, allowed: Mask) -> Ranking:
        """The best documents with at least one term of the query that not all documents have."""
        scores = self.scores(query, index)
        best = bm25.top(scores, depth, allowed)
        return Ranking(tuple(index.ids[number] for number in best), scores[best])

    def scores(self, query: Document, index: Index) -> Floats:
        """The score of every document of the index, by its number."""
        return self.score(self.prepare(query, index), index)

    def prepare(self, query: Document, index: Index) -> PreparedCosine:
        """Everything that does not depend on `w2` and `w3`."""
        if self.ngrams > 1 and not index.has_phrases:
            raise UsageError(
                f"{self} needs phrases, but {index.path} was made without them: run `rprs upgrade {index.path}`, "
                "or use cosine(ngrams=1)"
            )
        words = index.analyzer.terms(query.text)
        longer = phrases.phrase_hashes(term_hashes(words))[: self.ngrams - 1]
        parts = [_terms(words, index), *(_phrases(occurrences, index) for occurrences in longer)]
        return PreparedCosine(np.array([sums for sums, _ in parts]), np.array([square for _, square in parts]))

    def score(self, prepared: PreparedCosine, index: Index) -> Floats:
        """The score of every document with the present weights."""
        return cosine.cosines(prepared.products, prepared.squares, index.squared_norms, (1.0, self.w2, self.w3))


def _terms(words: list[str], index: Index) -> tuple[Floats, float]:
    """(documents,): the products over single terms; and the square of the query's norm."""
    counted = Counter(words)
    places = index.postings(Terms.of(counted))
    df, unused = np.zeros(len(counted), dtype=np.int64), np.zeros(len(counted), dtype=np.int64)
    for segment, numbers, (starts, stops) in zip(index.segments, index.numbers, places, strict=True):
        live = numbers >= 0
        if live.all():
            df += stops - starts
        else:
            bm25.live_counts(starts, stops, segment.posting_documents, segment.posting_counts, live, df, unused)
    idf = cosine.idf(df, len(index))
    values = cosine.sublinear(np.array(list(counted.values()), dtype=np.float64)) * idf
    products = np.zeros(len(index), dtype=np.float64)
    for segment, numbers, (starts, stops) in zip(index.segments, index.numbers, places, strict=True):
        local = np.zeros(len(numbers), dtype=np.float64)
        arrays = (segment.posting_documents, segment.posting_counts)
        cosine.accumulate(starts, stops, values * idf, *arrays, cosine.LOGARITHMS, local)
        live = numbers >= 0
        products[numbers[live]] = local[live]
    return products, float(np.square(values).sum())


def _phrases(occurrences: NDArray[np.uint32], index: Index) -> tuple[Floats, float]:
    """The same over phrases of one length, from those of the query in text order."""
    queried, counts = np.unique(occurrences, return_counts=True)
    places, df = _locate(queried, index)
    idf = cosine.idf(df, len(index))
    values = cosine.sublinear(counts) * idf
    products = np.zeros(len(index), dtype=np.float64)
    for segment, numbers, (starts, sizes) in zip(index.segments, index.numbers, places, strict=True):
        local = np.zeros(len(numbers), dtype=np.float64)
        if segment.phrases is not None:
            phrases.accumulate(segment.phrases.data, starts, sizes, values * idf, cosine.LOGARITHMS, local)
        live = numbers >= 0
        products[numbers[live]] = local[live]
    return products, float(np.square(values).sum())


def _locate(queried: NDArray[np.uint32], index: Index) -> tuple[Places, NDArray[np.int64]]:
    """By segment, where the postings of the phrases start and how many there are; and df over the live documents."""
    df = np.zeros(len(queried), dtype=np.int64)
    places = []
    for segment, numbers in zip(index.segments, index.numbers, strict=True):
        starts, sizes = np.zeros(len(queried), dtype=np.int64), np.zeros(len(queried), dtype=np.int64)
        places.append((starts, sizes))
        if segment.phrases is None:
            continue
        phrases.locate(segment.phrases.directory, segment.phrases.data, queried, starts, sizes)
        live = numbers >= 0
        if live.all():
            df += sizes
        else:
            phrases.live_frequencies(segment.phrases.data, starts, sizes, live, df)
    return places, df
