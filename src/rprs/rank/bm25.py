"""BM25 over the counts of an index, optionally with only the most informative terms of the query (KLI)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rprs.document import Document, Ranking
from rprs.errors import UsageError
from rprs.index import Index
from rprs.index.terms import count_terms
from rprs.rank.grams import Places, QueryGrams, gram_steps
from rprs.rank.segments import Rows, add_segments
from rprs.rank.stages import Mask
from rprs.rank.steps import Counts, Steps, alone
from rprs.scoring import bm25
from rprs.scoring.phrases import Postings
from rprs.spec import Component, Kind, require
from rprs.text.analyze import ngrams

__all__ = ["BM25", "QueryTerms"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """The t distinct terms of a query, in the order of their first occurrence, with their statistics."""

    frequency: Floats  # (t,): in the query
    df: NDArray[np.int64]  # (t,): live documents that have the term
    cf: NDArray[np.int64]  # (t,): occurrences in them, if counted
    postings: Places
    documents: int  # of the collection
    lengths: NDArray[np.int64]  # of the documents of the index, as they enter the scores
    tokens: int  # the length of the collection

    @property
    def weights(self) -> Floats:
        """(t,): how often the query has each term, times the weight of the term in the collection."""
        return self.frequency * bm25.rsj(self.df, self.documents)

    @property
    def mean_length(self) -> float:
        """The mean length of the documents of the collection."""
        return self.tokens / self.documents if self.documents else 0.0

    @property
    def in_index(self) -> Mask:
        """(t,): which terms occur in a live document."""
        return np.asarray(self.df > 0)

    def informative(self, share: float) -> Mask:
        """(t,): the given share of the terms, those with the highest KLI."""
        return bm25.kli(self.frequency, self.cf, int(self.frequency.sum()), self.tokens, share)


@dataclass(frozen=True)
class BM25(Component):
    """BM25 over the whole query, of any length; k1 and b are chosen at query time (defaults: the paper's optimum).

    `kli` keeps that share of the query's distinct terms, the most informative ones (none: all of them). `lengths` is
    "lucene" to round document lengths as Lucene does. `phrases=3` adds phrases of up to three words, each with three
    quarters of the information that it adds to its rarer part. `ngrams` uses word n-grams up to that n as plain terms,
    if the analyzer of the index has them.
    """

    k1: float = 2.8
    b: float = 1.0
    kli: float | None = None
    lengths: Literal["exact", "lucene"] = "exact"
    ngrams: int = 1
    phrases: int = 1
    name: ClassVar[str] = "bm25"
    kinds: ClassVar[tuple[Kind, ...]] = ("ranker",)

    def __post_init__(self) -> None:
        require(self, "k1", 0 <= self.k1 < np.inf, "a number in [0, inf)")
        require(self, "b", 0 <= self.b <= 1, "a number in [0, 1]")
        require(self, "kli", self.kli is None or 0 < self.kli <= 1, "none or a number in (0, 1]")
        require(self, "lengths", self.lengths in ("exact", "lucene"), "'exact' or 'lucene'")
        require(self, "ngrams", self.ngrams >= 1, "an integer in [1, inf)")
        require(self, "phrases", 1 <= self.phrases <= 3, "an integer in [1, 3]")

    def rank(self, query: Document, index: Index, depth: int, allowed: Mask) -> Ranking:
        """The best documents with at least one term of the query."""
        scores = self.scores(query, index)
        best = bm25.top(scores, depth, allowed)
        return Ranking(tuple(index.ids[number] for number in best), scores[best])

    def scores(self, query: Document, index: Index) -> Floats:
        """The score of every document of the index, by its number."""
        return alone(self.steps(index.analyzer.terms(query.text), index))

    def steps(self, words: Sequence[str], index: Index) -> Steps[Floats]:
        """The scores for the words of a query, in steps."""
        scores = self._score_terms((yield from self._term_steps(words, index, self.kli is not None)), index)
        if self.phrases > 1:
            if not index.has_phrases:
                raise UsageError(
                    f"{self} needs phrases, but {index.path} was made without them: run `rprs upgrade {index.path}`"
                )
            scores += self._score_phrases((yield from gram_steps(words, index, self.phrases)), index)
        return scores

    def score_grams(self, queried: QueryGrams, index: Index) -> Floats:
        """The same for words and phrases that are looked up already; without `kli` and `ngrams`."""
        words = queried.grams[0]
        terms = QueryTerms(
            frequency=words.counts.astype(np.float64),
            df=words.df,
            cf=np.zeros_like(words.df),
            postings=words.places,
            documents=queried.documents,
            lengths=self._counted_lengths(index.lengths),
            tokens=queried.words,
        )
        scores = self._score_terms(terms, index)
        return scores + self._score_phrases(queried, index) if len(queried.grams) > 1 else scores

    def _score_phrases(self, queried: QueryGrams, index: Index) -> Floats:
        """What phrases add to the score of every document."""
        saturation = bm25.saturation(index.lengths, queried.mean_length, self.k1, self.b)
        scores = np.zeros(len(index), dtype=np.float64)
        for shorter, each in pairwise(queried.grams):
            rsj, part = bm25.rsj(each.df, queried.documents), bm25.rsj(shorter.df, queried.documents)
            gain = bm25.gain(rsj, part[shorter.numbers[each.first]], part[shorter.numbers[each.first + 1]])
            weights = each.counts * gain
            _add_postings(scores, index, each.postings, weights, saturation)
        return scores

    def _score_terms(self, terms: QueryTerms, index: Index) -> Floats:
        keep = terms.in_index if self.kli is None else terms.informative(self.kli)
        weights = terms.weights[keep]
        saturation = bm25.saturation(terms.lengths, terms.mean_length, self.k1, self.b)
        scores = np.zeros(len(index), dtype=np.float64)
        postings = [
            Postings(starts[keep], stops[keep], segment.posting_documents, segment.posting_counts)
            for segment, (starts, stops) in zip(index.segments, terms.postings, strict=True)
        ]
        _add_postings(scores, index, postings, weights, saturation)
        return scores

    def terms(self, query: Document, index: Index, *, counts: bool = False) -> QueryTerms:
        """Everything about the query's terms that does not depend on k1, b and kli; `counts` if kli varies."""
        return alone(self._term_steps(index.analyzer.terms(query.text), index, counts or self.kli is not None))

    def _term_steps(self, words: Sequence[str], index: Index, counts: bool) -> Steps[QueryTerms]:
        if self.ngrams > index.analyzer.ngrams:
            raise UsageError(
                f"{self} needs word n-grams up to {self.ngrams}, but {index.path} was indexed up to "
                f"{index.analyzer.ngrams}: index with --analyzer 'words(ngrams={self.ngrams})'"
            )
        counted = count_terms([*words, *(term for n in range(2, self.ngrams + 1) for term in ngrams(words, n))])
        postings = index.postings(counted.terms)
        lengths = self._lengths(index)
        size = np.array([len(index), lengths.sum()], dtype=np.int64)
        df, cf, (documents, tokens) = yield Counts(
            (*self._frequencies(index, postings, len(counted.counts), counts), size)
        )
        return QueryTerms(
            frequency=counted.counts.astype(np.float64),
            df=df,
            cf=cf,
            postings=postings,
            documents=int(documents),
            lengths=self._counted_lengths(lengths),
            tokens=int(tokens),
        )

    def _frequencies(
        self, index: Index, postings: Places, size: int, counts: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """df of the query's terms over the live documents; cf too, if `counts`."""
        df, cf = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        for segment, numbers, (starts, stops) in zip(index.segments, index.numbers, postings, strict=True):
            live = numbers >= 0
            if live.all() and len(segment.term_hash):
                df += stops - starts
                cf += segment.occurrences(starts, stops) if counts else 0
            else:
                bm25.live_counts(starts, stops, segment.posting_documents, segment.posting_counts, live, df, cf)
        return df, cf

    def _lengths(self, index: Index) -> NDArray[np.int64]:
        """(documents,): terms per document, its words and, where used, its n-grams."""
        lengths = index.lengths
        for n in range(2, self.ngrams + 1):
            lengths = lengths + np.maximum(index.lengths - n + 1, 0)
        return lengths

    def _counted_lengths(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Lengths as they enter the scores."""
        return bm25.lucene_lengths(lengths) if self.lengths == "lucene" else lengths


def _add_postings(
    scores: Floats, index: Index, postings: Sequence[Postings], weights: Floats, saturation: Floats
) -> None:
    """Add what terms or phrases contribute to the score of every document."""

    def add(place: int, rows: Rows, local: Floats) -> None:
        own, saturated = postings[place], saturation[rows] if len(saturation) else local
        bm25.accumulate(own.starts, own.stops, weights, own.documents, own.counts, saturated, local)

    add_segments(scores, index, add)
