"""The words and phrases of a query, looked up in an index once for all formulas that use them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rprs.index import Index
from rprs.index.phrases import find_phrases
from rprs.index.segment import Terms
from rprs.scoring import bm25, phrases
from rprs.scoring.phrases import Postings

__all__ = ["Grams", "Places", "phrase_frequencies", "query_grams"]

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

    @property
    def first(self) -> Ints:
        """(g,): where each occurs first."""
        return np.unique(self.numbers, return_index=True)[1].astype(np.int64)

    @property
    def places(self) -> Places:
        """Per segment, where the postings of each start and stop."""
        return [(postings.starts, postings.stops) for postings in self.postings]


def query_grams(words: list[str], index: Index, longest: int) -> list[Grams]:
    """The words of a query and its phrases of up to `longest` words, by length; more than one needs phrases."""
    counted = Counter(words)
    terms = Terms.of(counted)
    number = {word: place for place, word in enumerate(counted)}
    numbers = np.fromiter(map(number.__getitem__, words), dtype=np.int64, count=len(words))
    located = [
        Postings(starts, stops, segment.posting_documents, segment.posting_counts)
        for segment, (starts, stops) in zip(index.segments, index.postings(terms), strict=True)
    ]
    counts = np.array(list(counted.values()), dtype=np.int64)
    grams = [Grams(1, numbers, counts, located, _frequencies(located, len(counts), index))]
    longer = phrases.phrase_hashes(terms.hashes[numbers])[: longest - 1] if longest > 1 else ()
    return grams + _phrases(longer, index)


def _phrases(longer: Sequence[NDArray[np.uint32]], index: Index) -> list[Grams]:
    """Phrases by length, those of each in the order of their hashes, from the phrases at each place of the text."""
    if not longer:
        return []
    distinct = [np.unique(each, return_inverse=True, return_counts=True) for each in longer]
    every = np.sort(np.concatenate([queried for queried, _, _ in distinct]))  # one pass is faster than one per length
    located = find_phrases(index.segments, every)
    grams = []
    for length, (queried, numbers, counts) in enumerate(distinct, start=2):
        rows = np.searchsorted(every, queried)
        postings = [Postings(each.starts[rows], each.stops[rows], each.documents, each.counts) for each in located]
        df = _frequencies(postings, len(queried), index)
        index.known_phrases = queried, df  # of the longest, in the end
        grams.append(Grams(length, numbers.astype(np.int64), counts.astype(np.int64), postings, df))
    return grams


def _frequencies(located: list[Postings], size: int, index: Index) -> Ints:
    """(size,): how many live documents have each term or phrase."""
    df, unused = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    for postings, documents in zip(located, index.numbers, strict=True):
        live = documents >= 0
        if live.all():
            df += postings.stops - postings.starts
        else:
            columns = (postings.starts, postings.stops, postings.documents, postings.counts)
            bm25.live_counts(*columns, live, df, unused)
    return df


def phrase_frequencies(phrases_of_texts: NDArray[np.uint32], index: Index) -> Ints:
    """(p,): how many live documents have each of some phrases, sorted and distinct.

    Those of the last query are known: its evidence asks for many of them again.
    """
    hashes, frequencies = index.known_phrases
    places = np.searchsorted(hashes, phrases_of_texts)
    known = np.append(hashes, np.uint32(0))[places] == phrases_of_texts
    known &= places < len(hashes)
    df = np.zeros(len(phrases_of_texts), dtype=np.int64)
    df[known] = frequencies[places[known]]
    new = phrases_of_texts[~known]
    df[~known] = _frequencies(find_phrases(index.segments, new), len(new), index)
    return df
