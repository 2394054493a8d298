"""The cosine between documents over their terms and phrases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rprs.document import Document, Ranking
from rprs.errors import UsageError
from rprs.index import Index
from rprs.rank.grams import QueryGrams, gram_steps, query_grams
from rprs.rank.segments import Rows, add_segments
from rprs.rank.stages import Mask
from rprs.rank.steps import Steps
from rprs.scoring import bm25, cosine
from rprs.scoring.phrases import Postings
from rprs.spec import Component, Kind, require

__all__ = ["WEIGHTS", "Cosine", "PreparedCosine", "prepare_cosine"]

Floats = NDArray[np.float64]

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
        self._require_phrases(index)
        return prepare_cosine(query_grams(index.analyzer.terms(query.text), index, self.ngrams), index)

    def steps(self, words: Sequence[str], index: Index) -> Steps[Floats]:
        """The score of every document for the words of a query, in steps."""
        self._require_phrases(index)
        return self.score(prepare_cosine((yield from gram_steps(words, index, self.ngrams)), index), index)

    def _require_phrases(self, index: Index) -> None:
        if self.ngrams > 1 and not index.has_phrases:
            raise UsageError(
                f"{self} needs phrases, but {index.path} was made without them: run `rprs upgrade {index.path}`, "
                "or use cosine(ngrams=1)"
            )

    def score(self, prepared: PreparedCosine, index: Index) -> Floats:
        """The score of every document with the present weights."""
        return cosine.cosines(prepared.products, prepared.squares, index.squared_norms, (1.0, self.w2, self.w3))


def prepare_cosine(queried: QueryGrams, index: Index) -> PreparedCosine:
    """The products and norms of each length, from the words and phrases of the query."""
    grams = queried.grams
    products = np.zeros((len(grams), len(index)), dtype=np.float64)
    squares = np.zeros(len(grams), dtype=np.float64)
    for row, each in enumerate(grams):
        idf = cosine.idf(each.df, queried.documents)
        values = cosine.sublinear(each.counts) * idf
        squares[row] = np.square(values).sum()
        _add_products(products[row], index, each.postings, values * idf)
    return PreparedCosine(products, squares)


def _add_products(products: Floats, index: Index, postings: Sequence[Postings], weights: Floats) -> None:
    def add(place: int, _: Rows, local: Floats) -> None:
        own = postings[place]
        cosine.accumulate(own.starts, own.stops, weights, own.documents, own.counts, cosine.LOGARITHMS, local)

    add_segments(products, index, add)
