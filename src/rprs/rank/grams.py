"""The words and phrases of a query, looked up in an index once for all formulas that use them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rprs.index import Index
from rprs.index.phrases import find_phrases, live_frequencies
from rprs.index.terms import count_terms
from rprs.rank.steps import Counts, Steps, alone
from rprs.scoring import phrases
from rprs.scoring.distinct import distinct, first_places, places_among
from rprs.scoring.phrases import Postings

__all__ = ["Grams", "Places", "QueryGrams", "gram_steps", "phrase_frequencies", "query_grams"]

Ints = NDArray[np.int64]
Places = list[tuple[Ints, Ints]]  # per segment: where postings start and stop


@dataclass(frozen=True, slots=True)
class Grams:
    """The g distinct sequences of `length` adjacent terms of a query."""

    length: int
    numbers: Ints  # (occurrences,): which of them is at each place of the text
    counts: Ints  # (g,): in the query
    postings: list[Postings]  # per segment
    df: Ints  # (g,): live documents that have it
    hashes: NDArray[np.uint32] | None = None  # (g,): of phrases, ascending

    @property
    def first(self) -> Ints:
        """(g,): where each occurs first."""
        return first_places(self.numbers, len(self.counts))

    @property
    def places(self) -> Places:
        """Per segment, where the postings of each start and stop."""
        return [(postings.starts, postings.stops) for postings in self.postings]


@dataclass(frozen=True, slots=True)
class QueryGrams:
    """The words of a query and its phrases, by length, and the size of the collection."""

    grams: Sequence[Grams]  # their postings are those of the documents at hand, df is that of all documents
    documents: int
    words: int  # of all documents

    @property
    def mean_length(self) -> float:
        """The mean number of words of a document."""
        return self.words / self.documents if self.documents else 0.0


def gram_steps(words: Sequence[str], index: Index, longest: int) -> Steps[QueryGrams]:
    """The words of a query and its phrases of up to `longest` words; more than one needs phrases."""
    grams = _locate(words, index, longest)
    size = np.array([len(index), index.lengths.sum()], dtype=np.int64)
    *frequencies, (documents, tokens) = yield Counts((*(each.df for each in grams), size))
    counted = [replace(each, df=df) for each, df in zip(grams, frequencies, strict=True)]
    return QueryGrams(counted, int(documents), int(tokens))


def query_grams(words: Sequence[str], index: Index, longest: int) -> QueryGrams:
    """The same for an index that is the whole collection; the index remembers how common the longest phrases are."""
    queried = alone(gram_steps(words, index, longest))
    if longest > 1 and (last := queried.grams[-1]).hashes is not None:
        index.known_phrases = last.hashes, last.df
    return queried


def _locate(words: Sequence[str], index: Index, longest: int) -> list[Grams]:
    """Words and phrases with the frequencies of the documents at hand."""
    counted = count_terms(words)
    terms, numbers, counts = counted.terms, counted.numbers, counted.counts
    located = [
        Postings(starts, stops, segment.posting_documents, segment.posting_counts)
        for segment, (starts, stops) in zip(index.segments, index.postings(terms), strict=True)
    ]
    grams = [Grams(1, numbers, counts, located, live_frequencies(located, len(counts), index.numbers))]
    longer = phrases.phrase_hashes(terms.hashes[numbers])[: longest - 1] if longest > 1 else ()
    return grams + _phrases(longer, index)


def _phrases(longer: Sequence[NDArray[np.uint32]], index: Index) -> list[Grams]:
    """Phrases by length, those of each in the order of their hashes, from the phrases at each place of the text."""
    if not longer:
        return []
    by_length = [distinct(each) for each in longer]
    every = np.sort(np.concatenate([queried for queried, _, _ in by_length]))  # one pass is faster than one per length
    located = find_phrases(index.segments, every)
    grams = []
    for length, (queried, numbers, counts) in enumerate(by_length, start=2):
        rows = np.searchsorted(every, queried)
        postings = [Postings(each.starts[rows], each.stops[rows], each.documents, each.counts) for each in located]
        df = live_frequencies(postings, len(queried), index.numbers)
        grams.append(Grams(length, numbers, counts, postings, df, queried))
    return grams


def phrase_frequencies(phrases_of_texts: NDArray[np.uint32], index: Index) -> Ints:
    """(p,): how many live documents have each of some phrases, sorted and distinct.

    Those of the last query are known: its evidence asks for many of them again.
    """
    hashes, frequencies = index.known_phrases
    places = places_among(phrases_of_texts, hashes)
    known, df = places >= 0, np.zeros(len(phrases_of_texts), dtype=np.int64)
    df[known] = frequencies[places[known]]
    df[~known] = index.phrase_frequencies(phrases_of_texts[~known])
    return df
