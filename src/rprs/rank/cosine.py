"""The cosine between documents over their terms and phrases."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rprs.document import Document, Ranking
from rprs.errors import UsageError
from rprs.index import Index
from rprs.index.segment import Terms, term_hashes
from rprs.rank.stages import Mask
from rprs.scoring import bm25, cosine, phrases
from rprs.spec import Component, Kind, require

__all__ = ["Cosine"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cosine(Component):
    """The cosine over sequences of up to `ngrams` adjacent terms, with logarithmic counts and idf.

    `w2` and `w3` are the weights of phrases of two and of three terms against 1 for single terms.
    """

    ngrams: int = 3
    w2: float = 1.0
    w3: float = 1.0
    name: ClassVar[str] = "cosine"
    kinds: ClassVar[tuple[Kind, ...]] = ("ranker",)

    def __post_init__(self) -> None:
        require(self, "ngrams", 1 <= self.ngrams <= 3, "an integer in [1, 3]")
        for name in ("w2", "w3"):
            require(self, name, 0 <= getattr(self, name) < np.inf, "a number in [0, inf)")

    @property
    def weights(self) -> tuple[float, float, float]:
        """The weights of one, two and three terms; 0 for a length that is not used."""
        return 1.0, self.w2 if self.ngrams > 1 else 0.0, self.w3 if self.ngrams > 2 else 0.0

    def rank(self, query: Document, index: Index, depth: int, allowed: Mask) -> Ranking:
        """The best documents with at least one term of the query that not all documents have."""
        scores = self.scores(query, index)
        best = bm25.top(scores, depth, allowed)
        return Ranking(tuple(index.ids[number] for number in best), scores[best])

    def scores(self, query: Document, index: Index) -> Floats:
        """The score of every document of the index, by its number."""
        if self.ngrams > 1 and not index.has_phrases:
            raise UsageError(
                f"{self} needs phrases, but {index.path} was made without them: run `rprs upgrade {index.path}`, "
                "or use cosine(ngrams=1)"
            )
        words = index.analyzer.terms(query.text)
        sums = np.zeros(len(index), dtype=np.float64)
        square = _add_terms(words, index, sums)
        if self.ngrams > 1:
            square += self._add_phrases(words, index, sums)
        norms = cosine.norms(index.squared_norms, self.weights) * np.sqrt(square)
        return np.asarray(np.divide(sums, norms, out=np.zeros_like(sums), where=norms > 0))

    def _add_phrases(self, words: list[str], index: Index, sums: Floats) -> float:
        """Add the phrases' contributions to the documents' sums; the query's squared norm over phrases."""
        square = 0.0
        for queried, weight in zip(phrases.phrase_hashes(term_hashes(words)), self.weights[1:], strict=True):
            if weight == 0:
                continue
            unique, counts = np.unique(queried, return_counts=True)
            located, df = _locate(unique, index)
            idf = cosine.idf(df, len(index))
            values = weight * cosine.sublinear(counts) * idf
            square += float(np.square(values).sum())
            for segment, numbers, (starts, sizes) in zip(index.segments, index.numbers, located, strict=True):
                local = np.zeros(len(numbers), dtype=np.float64)
                if segment.phrases is not None:
                    data = segment.phrases.data
                    phrases.accumulate(data, starts, sizes, weight * values * idf, cosine.LOGARITHMS, local)
                live = numbers >= 0
                sums[numbers[live]] += local[live]
        return square


def _add_terms(words: list[str], index: Index, sums: Floats) -> float:
    """Add the single terms' contributions to the documents' sums; the query's squared norm over single terms."""
    counted = Counter(words)
    postings = index.postings(Terms.of(counted))
    df, unused = np.zeros(len(counted), dtype=np.int64), np.zeros(len(counted), dtype=np.int64)
    for segment, numbers, (starts, stops) in zip(index.segments, index.numbers, postings, strict=True):
        live = numbers >= 0
        if live.all():
            df += stops - starts
        else:
            bm25.live_counts(starts, stops, segment.posting_documents, segment.posting_counts, live, df, unused)
    idf = cosine.idf(df, len(index))
    values = cosine.sublinear(np.array(list(counted.values()), dtype=np.float64)) * idf
    for segment, numbers, (starts, stops) in zip(index.segments, index.numbers, postings, strict=True):
        local = np.zeros(len(numbers), dtype=np.float64)
        arrays = (segment.posting_documents, segment.posting_counts)
        cosine.accumulate(starts, stops, values * idf, *arrays, cosine.LOGARITHMS, local)
        live = numbers >= 0
        sums[numbers[live]] += local[live]
    return float(np.square(values).sum())


def _locate(
    queried: NDArray[np.uint32], index: Index
) -> tuple[list[tuple[NDArray[np.int64], NDArray[np.int64]]], NDArray[np.int64]]:
    """By segment, where the postings of the phrases start and how many there are; and df over the live documents."""
    df = np.zeros(len(queried), dtype=np.int64)
    located = []
    for segment, numbers in zip(index.segments, index.numbers, strict=True):
        starts, sizes = np.zeros(len(queried), dtype=np.int64), np.zeros(len(queried), dtype=np.int64)
        located.append((starts, sizes))
        if segment.phrases is None:
            continue
        phrases.locate(segment.phrases.directory, segment.phrases.data, queried, starts, sizes)
        live = numbers >= 0
        if live.all():
            df += sizes
        else:
            phrases.live_frequencies(segment.phrases.data, starts, sizes, live, df)
    return located, df
