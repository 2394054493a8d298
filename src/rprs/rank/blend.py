"""The cosine over phrases and BM25 as one first stage; the length of the query decides between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rprs.document import Document, Ranking
from rprs.index import Index
from rprs.rank.bm25 import BM25
from rprs.rank.cosine import WEIGHTS, Cosine, PreparedCosine, prepare_cosine
from rprs.rank.grams import QueryGrams, gram_steps, query_grams
from rprs.rank.stages import Mask
from rprs.rank.steps import Least, Steps, alone
from rprs.scoring import blend, bm25
from rprs.spec import Component, Kind, require

__all__ = ["Blend", "PreparedBlend"]

Floats = NDArray[np.float64]

NO_PHRASES = "this index has no phrases, which rank better than single words: run `rprs upgrade {}`"


@dataclass(frozen=True, slots=True)
class PreparedBlend:
    """What does not depend on the weights."""

    cosine: PreparedCosine
    bm25: Floats  # (documents,)
    ratio: float  # the length of the query against the mean of the documents


@dataclass(frozen=True)
class Blend(Component):
    """cosine^λ · BM25^(1 − λ): the cosine for whole documents, BM25 for queries that are short against the documents.

    `weight` is λ; by default it follows from r, the query's number of terms over the mean of the documents, as
    min(1, (3r)²). `w2` and `w3` are those of `cosine`, `k1` and `b` those of `bm25`. In an index without phrases, the
    cosine is that of single terms.
    """

    weight: float | None = None
    w2: float = 1.0
    w3: float = 1.0
    k1: float = 2.8
    b: float = 1.0
    name: ClassVar[str] = "blend"
    kinds: ClassVar[tuple[Kind, ...]] = ("ranker",)
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "weight": (None, *(tenth / 10 for tenth in range(11))),
        "w2": WEIGHTS,
        "w3": WEIGHTS,
    }

    def __post_init__(self) -> None:
        require(self, "weight", self.weight is None or 0 <= self.weight <= 1, "none or a number in [0, 1]")
        Cosine(w2=self.w2, w3=self.w3)  # raises an error for a wrong value
        BM25(self.k1, self.b)

    def rank(self, query: Document, index: Index, depth: int, allowed: Mask) -> Ranking:
        """The best documents with at least one term of the query."""
        scores = self.scores(query, index)
        best = bm25.top(scores, depth, allowed)
        return Ranking(tuple(index.ids[number] for number in best), scores[best], notes=self.notes(index))

    def notes(self, index: Index) -> tuple[str, ...]:
        """What a user of this index has to know, whatever the query."""
        return () if index.has_phrases else (NO_PHRASES.format(index.path),)

    def scores(self, query: Document, index: Index) -> Floats:
        """The score of every document of the index, by its number."""
        return self.score(self.prepare(query, index), index)

    def prepare(self, query: Document, index: Index) -> PreparedBlend:
        """Everything that does not depend on the weights."""
        words = index.analyzer.terms(query.text)
        return self._prepare(len(words), query_grams(words, index, self._longest(index)), index)

    def score(self, prepared: PreparedBlend, index: Index) -> Floats:
        """The score of every document with the present weights."""
        return alone(self._score_steps(prepared, index))

    def steps(self, words: Sequence[str], index: Index) -> Steps[Floats]:
        """The score of every document for the words of a query, in steps."""
        queried = yield from gram_steps(words, index, self._longest(index))
        return (yield from self._score_steps(self._prepare(len(words), queried, index), index))

    def _longest(self, index: Index) -> int:
        return 3 if index.has_phrases else 1

    def _prepare(self, length: int, queried: QueryGrams, index: Index) -> PreparedBlend:
        mean = queried.mean_length
        scores = BM25(self.k1, self.b).score_grams(queried, index)
        return PreparedBlend(prepare_cosine(queried, index), scores, length / mean if mean else 1.0)

    def _score_steps(self, prepared: PreparedBlend, index: Index) -> Steps[Floats]:
        weight = blend.weight_of_length(prepared.ratio) if self.weight is None else self.weight
        cosine = Cosine(w2=self.w2, w3=self.w3).score(prepared.cosine, index)
        least = yield Least((blend.least(cosine), blend.least(prepared.bm25)))
        return blend.geometric(cosine, prepared.bm25, weight, least)
