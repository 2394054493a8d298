"""Norms of the documents of an index that is a part of a collection: they need the frequencies of the whole collection.

In three steps, each in ranges of hashes that fit in memory: every part counts its documents for each term and phrase
(`frequencies`), the counts of all parts are added up (`add_frequencies`), and every part weighs its postings with them
(`norms`). Sums are formed in the order of the hashes, as `phrases.squared_norms` forms them for one index.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.errors import InvalidIndex
from rprs.index.phrases import streams
from rprs.index.reader import Index
from rprs.scoring import bm25, cosine, phrases

__all__ = ["Frequencies", "add_frequencies", "frequencies", "narrowed", "norms"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How many documents have each term and each phrase of a range of hashes, which ascend."""

    terms: NDArray[np.uint64]
    term_documents: Ints
    phrases: NDArray[np.uint32]
    phrase_documents: Ints


def frequencies(index: Index, part: int, parts: int) -> Frequencies:
    """The counts of the documents of an index, for one of some equal parts of all hashes."""
    terms, term_documents, found, found_documents = [], [], [], []
    for segment, numbers in zip(index.segments, index.numbers, strict=True):
        segment.check_postings()
        live = numbers >= 0
        first, stop = _term_range(segment.term_hash, part, parts)
        hashes = segment.term_hash[first:stop]
        if np.any(hashes[1:] == hashes[:-1]):
            raise InvalidIndex(f"Two words in {index.path} have the same hash: their norms cannot be part of a cluster")
        df = np.zeros(len(hashes), dtype=np.int64)
        bounds = segment.posting_offsets[first:stop], segment.posting_offsets[first + 1 : stop + 1]
        bm25.live_counts(*bounds, segment.posting_documents, segment.posting_counts, live, df, np.zeros_like(df))
        terms.append(hashes)
        term_documents.append(df)
        if segment.phrases is not None:
            postings = phrases.decode(segment.phrases, *_phrase_range(part, parts))
            kept = postings.phrases[live[postings.documents]]
            distinct, counts = np.unique(kept, return_counts=True)
            found.append(distinct)
            found_documents.append(counts.astype(np.int64))
    return Frequencies(*_added(terms, term_documents, np.uint64), *_added(found, found_documents, np.uint32))


def add_frequencies(parts: Sequence[Frequencies]) -> Frequencies:
    """The counts of all parts of a collection, for the same range of hashes."""
    return Frequencies(
        *_added([part.terms for part in parts], [part.term_documents for part in parts], np.uint64),
        *_added([part.phrases for part in parts], [part.phrase_documents for part in parts], np.uint32),
    )


def _added(hashes: Sequence[NDArray[Any]], counts: Sequence[Ints], kind: Any) -> tuple[NDArray[Any], Ints]:
    """Distinct hashes in ascending order, with the sums of their counts."""
    every = np.concatenate([np.empty(0, dtype=kind), *hashes])
    distinct, place = np.unique(every, return_inverse=True)
    totals = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(totals, place, np.concatenate([np.empty(0, dtype=np.int64), *counts]))
    return distinct, totals


def narrowed(counts: Frequencies, part: int, parts: int) -> Frequencies:
    """The counts of a range of hashes that is within that of `counts`."""
    words = slice(*_term_range(counts.terms, part, parts))
    pairs = slice(*np.searchsorted(counts.phrases, _phrase_range(part, parts)).tolist())
    return Frequencies(
        counts.terms[words], counts.term_documents[words], counts.phrases[pairs], counts.phrase_documents[pairs]
    )


def norms(index: Index, documents: int, totals: Iterable[Frequencies], parts: int) -> NDArray[np.float64]:
    """(documents of the index, 3): their squared norms in a collection of so many documents.

    `totals` are the counts of the whole collection for each of the parts of all hashes, in their order.
    """
    squares = [np.zeros((len(numbers), 3), dtype=np.float64) for numbers in index.numbers]
    for part, total in enumerate(totals):
        term_weights = cosine.idf(total.term_documents, documents)
        phrase_weights = cosine.idf(total.phrase_documents, documents)
        for segment, sums in zip(index.segments, squares, strict=True):
            first, stop = _term_range(segment.term_hash, part, parts)
            weights = term_weights[np.searchsorted(total.terms, segment.term_hash[first:stop])]
            postings = segment.posting_documents, segment.posting_counts
            column = np.ascontiguousarray(sums[:, 0])
            offsets = segment.posting_offsets[first : stop + 1]
            cosine.add_squares(offsets, weights, *postings, cosine.LOGARITHMS, column)
            sums[:, 0] = column
        for stream, numbers, sums in zip(streams(index.segments), index.numbers, squares, strict=False):
            decoded = phrases.decode(stream, *_phrase_range(part, parts))
            present = numbers[decoded.documents] >= 0
            phrase = decoded.phrases[present]
            weights = phrase_weights[np.searchsorted(total.phrases, phrase)]
            columns = decoded.documents[present], decoded.counts[present]
            phrases.add_weighted_squares(phrase, *columns, weights, cosine.LOGARITHMS, sums)
    result = np.zeros((len(index), 3), dtype=np.float64)
    for numbers, sums in zip(index.numbers, squares, strict=True):
        live = numbers >= 0
        result[numbers[live]] = sums[live]
    return result


def _term_range(hashes: NDArray[np.uint64], part: int, parts: int) -> tuple[int, int]:
    """Those of ascending hashes of terms that are in a part of all hashes: first, stop."""
    bounds = [np.uint64(min(each * 2**64 // parts, 2**64 - 1)) for each in (part, part + 1)]
    first, stop = np.searchsorted(hashes, bounds).tolist()
    return first, stop if part + 1 < parts else len(hashes)


def _phrase_range(part: int, parts: int) -> tuple[int, int]:
    return part * phrases.SPACE // parts, (part + 1) * phrases.SPACE // parts
