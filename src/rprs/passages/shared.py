"""What documents share with a passage word for word, as far as the postings of an index tell.

Postings are of terms, which are stemmed and without stop words, while quotations are runs of words. The same run gives
the same terms if its words are plain. A word is not plain if its terms depend on how the text is typed: a single letter
("U.S." or "U. S."), numbers next to each other ("1,000" or "1 000"), or a word that a line break divides. Phrases are
looked up within stretches of plain words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.sides import Side
from rprs.index import Index
from rprs.index.phrases import find_phrases
from rprs.index.segment import Terms, term_hashes
from rprs.scoring.phrases import Postings, phrase_hashes
from rprs.scoring.quotes import group_by_document, longest_possible
from rprs.text.marks import UNSPACED

__all__ = ["Shared", "shared_with"]

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_CHUNK = re.compile(r"\S+")
_DIGIT = re.compile(r"\d")
_UNSPACED = re.compile(f"[{UNSPACED}]")


@dataclass(frozen=True, slots=True)
class Shared:
    """d documents with phrases of a passage, in the order of their numbers."""

    numbers: Ints  # (d,)
    longest: Ints  # (d,): no common run of words is longer; 0 if it is too short to count
    weight: Ints  # (d,): how many phrases they share, rare ones more than common ones


@dataclass(frozen=True, slots=True)
class _Occurrences:
    """The phrases of a passage, where they occur: from word `first` to word `last`, in the order of `last`."""

    first: Ints
    last: Ints
    phrase: Ints  # its number among the p distinct ones
    postings: list[Postings]  # of these, by segment


def shared_with(passage: Side, index: Index, allowed: Mask, least: int) -> Shared:
    """The allowed documents that share phrases with a passage; a run has at least `least` words."""
    occurrences = _occurrences(passage, index)
    distinct = int(occurrences.phrase.max(initial=-1)) + 1
    numbers, phrases = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for postings, mapping in zip(occurrences.postings, index.numbers, strict=False):
        sizes = postings.stops - postings.starts
        places = np.concatenate([np.arange(0), *map(np.arange, postings.starts, postings.stops)]).astype(np.int64)
        live = mapping[postings.documents[places]]
        present = live >= 0
        numbers.append(live[present])
        phrases.append(np.repeat(np.arange(distinct), sizes)[present])
    document, phrase = np.concatenate(numbers), np.concatenate(phrases)
    weights = _weights(np.bincount(phrase, minlength=distinct), len(index))
    kept = allowed[document]
    document, phrase = document[kept], phrase[kept]
    weight = np.bincount(document, weights=weights[phrase], minlength=len(index)).astype(np.int64)
    chosen = np.flatnonzero(weight)
    place = np.zeros(len(index), dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    grouped = group_by_document(place[document], phrase, len(chosen))
    located = occurrences.first, occurrences.last, occurrences.phrase
    return Shared(chosen, longest_possible(len(passage.words), *located, *grouped, least), weight[chosen])


def _weights(frequencies: Ints, documents: int) -> NDArray[np.float64]:
    """Whole numbers, so that their sums do not depend on an order."""
    return np.asarray(1 + np.rint(1024 * np.log2(max(documents, 1) / np.maximum(frequencies, 1))))


def _occurrences(passage: Side, index: Index) -> _Occurrences:
    """The phrases of two and three terms; single terms if the passage or the index has no phrases."""
    stretches = [_located_terms(passage, first, stop, index.analyzer) for first, stop in _stretches(passage)]
    rows: list[tuple[int, int, int]] = []  # last word, first word, phrase or number of the term
    if index.has_phrases:
        for terms, extents in stretches:
            for length, hashes in enumerate(phrase_hashes(term_hashes(terms)) if len(terms) > 1 else (), start=2):
                for at, value in enumerate(hashes.tolist()):
                    rows.append((extents[at + length - 1][1], extents[at][0], value))
    if rows:
        values, numbers = np.unique([row[2] for row in rows], return_inverse=True)
        return _make(rows, numbers, find_phrases(index.segments, values.astype(np.uint32)))
    single = [(term, extent) for terms, extents in stretches for term, extent in zip(terms, extents, strict=True)]
    order = {term: number for number, term in enumerate(dict.fromkeys(term for term, _ in single))}
    rows = [(last, first, order[term]) for term, (first, last) in single]
    located = [
        Postings(starts, stops, segment.posting_documents, segment.posting_counts)
        for segment, (starts, stops) in zip(index.segments, index.postings(Terms.of(order)), strict=True)
    ]
    return _make(rows, np.array([row[2] for row in rows], dtype=np.int64), located)


def _make(rows: Sequence[tuple[int, int, int]], numbers: Any, postings: list[Postings]) -> _Occurrences:
    places = np.array([row[:2] for row in rows], dtype=np.int64).reshape(-1, 2)
    order = np.lexsort((places[:, 1], places[:, 0]))
    return _Occurrences(places[order, 1], places[order, 0], np.asarray(numbers, dtype=np.int64)[order], postings)


def _stretches(passage: Side) -> Iterator[tuple[int, int]]:
    """Neighbouring plain words: first, stop."""
    words, text = passage.words, passage.document.text
    plain, digits = [], []
    for start, end in zip(words.starts.tolist(), words.ends.tolist(), strict=True):
        word = text[start:end]
        plain.append(len(word) > 1 or _UNSPACED.match(word) is not None or word.isdigit())
        digits.append(_DIGIT.search(word) is not None)
    for at in words.breaks.tolist():
        plain[at] = plain[at + 1] = False
    for at in range(1, len(plain)):
        if digits[at - 1] and digits[at]:
            plain[at - 1] = plain[at] = False
    first = 0
    for at, kept in enumerate([*plain, False]):
        if not kept:
            if at > first:
                yield first, at
            first = at + 1


def _located_terms(passage: Side, first: int, stop: int, analyzer: Any) -> tuple[list[str], list[tuple[int, int]]]:
    """The terms of some words, and the words that each may come from: first, last."""
    words = passage.words
    start, end = int(words.starts[first]), int(words.ends[stop - 1])
    text = passage.document.text[start:end]
    terms: list[str] = []
    extents: list[tuple[int, int]] = []
    for chunk in _CHUNK.finditer(text):
        low, high = np.searchsorted(words.starts, (start + chunk.start(), start + chunk.end())).tolist()
        own = analyzer.terms(chunk[0])
        terms += own
        extents += [(low, max(low, high - 1))] * len(own)
    whole = analyzer.terms(text)
    if terms != whole:  # an analyzer that looks beyond white space: its terms may come from any of the words
        return whole, [(first, stop - 1)] * len(whole)
    return terms, extents
