"""The words and phrases of a query, looked up in an index once for all formulas that use them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rprs.index import Index
from rprs.index.segment import Terms, term_hashes
from rprs.scoring import bm25, phrases

__all__ = ["Grams", "Places", "query_grams"]

Ints = NDArray[np.int64]
Places = list[tuple[Ints, Ints]]  # per segment: where postings start; where they stop (words) or how many (phrases)


@dataclass(frozen=True, slots=True)
class Grams:
    """The g distinct sequences of `length` adjacent terms of a query."""

    length: int
    numbers: Ints  # (occurrences,): which of them is at each place of the text
    counts: Ints  # (g,): in the query
    places: Places
    df: Ints  # (g,): live documents that have it

    @property
    def first(self) -> Ints:
        """(g,): where each occurs first."""
        return np.unique(self.numbers, return_index=True)[1].astype(np.int64)


def query_grams(words: list[str], index: Index, longest: int) -> list[Grams]:
    """The words of a query and its phrases of up to `longest` words, by length."""
    longer = phrases.phrase_hashes(term_hashes(words))[: longest - 1] if longest > 1 else ()
    return [_words(words, index), *(_phrases(length, each, index) for length, each in enumerate(longer, start=2))]


def _words(words: list[str], index: Index) -> Grams:
    """Words in the order of their first occurrence."""
    counted = Counter(words)
    number = {word: place for place, word in enumerate(counted)}
    places = index.postings(Terms.of(counted))
    df, unused = np.zeros(len(counted), dtype=np.int64), np.zeros(len(counted), dtype=np.int64)
    for segment, numbers, (starts, stops) in zip(index.segments, index.numbers, places, strict=True):
        live = numbers >= 0
        if live.all():
            df += stops - starts
        else:
            bm25.live_counts(starts, stops, segment.posting_documents, segment.posting_counts, live, df, unused)
    occurrences = np.array([number[word] for word in words], dtype=np.int64)
    return Grams(1, occurrences, np.array(list(counted.values()), dtype=np.int64), places, df)


def _phrases(length: int, occurrences: NDArray[np.uint32], index: Index) -> Grams:
    """Phrases in the order of their hashes."""
    queried, numbers, counts = np.unique(occurrences, return_inverse=True, return_counts=True)
    df = np.zeros(len(queried), dtype=np.int64)
    places: Places = []
    for segment, documents in zip(index.segments, index.numbers, strict=True):
        starts, sizes = np.zeros(len(queried), dtype=np.int64), np.zeros(len(queried), dtype=np.int64)
        places.append((starts, sizes))
        if segment.phrases is None:
            continue
        phrases.locate(segment.phrases.directory, segment.phrases.data, queried, starts, sizes)
        live = documents >= 0
        if live.all():
            df += sizes
        else:
            phrases.live_frequencies(segment.phrases.data, starts, sizes, live, df)
    return Grams(length, numbers.astype(np.int64), counts.astype(np.int64), places, df)
