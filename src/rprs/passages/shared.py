"""What documents share with a passage word for word, as far as the postings of an index tell.

Postings are of terms, which are stemmed and without stop words, while quotations are runs of words. The same run gives
the same terms if its words are plain. A word is not plain if its terms depend on how the text is typed: a single letter
("U.S." or "U. S."), numbers next to each other ("1-000" or "1 000"), or a word that a line break divides. Phrases are
looked up within stretches of plain words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.sides import Side
from rprs.index import Index
from rprs.index.phrases import find_phrases
from rprs.index.segment import Terms, term_hashes
from rprs.rank.steps import Counts, Steps, alone
from rprs.scoring.logarithms import log
from rprs.scoring.phrases import Postings, phrase_hashes
from rprs.scoring.quotes import group_by_document, longest_possible
from rprs.text.marks import UNSPACED

__all__ = ["Phrases", "Shared", "merge_best", "passage_phrases", "shared_steps", "shared_with"]

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_CHUNK = re.compile(r"\S+")
_DIGIT = re.compile(r"\d")
_UNSPACED = re.compile(f"[{UNSPACED}]")


@dataclass(frozen=True, slots=True)
class Shared:
    """Documents with phrases of a passage, by their ids; lists of several parts of a collection can be merged."""

    quoting: list[tuple[int, str]]  # by the words of the longest possible common run, then by id; 0 is left out
    similar: list[tuple[int, str]]  # by how many phrases they share, rare ones more than common ones, then by id


@dataclass(frozen=True, slots=True)
class Phrases:
    """The phrases of a passage, where they occur: from word `first` to word `last`, in the order of `last`."""

    words: int  # of the passage
    first: Ints
    last: Ints
    phrase: Ints  # its number among the p distinct ones
    hashes: NDArray[np.uint32] | None  # (p,): of these, ascending; None if they are single terms
    terms: tuple[str, ...] = ()


def shared_with(passage: Side, index: Index, allowed: Mask, least: int, most_quoting: int, most_similar: int) -> Shared:
    """The allowed documents that share phrases with a passage, the best of each list; a run has `least` words."""
    found = passage_phrases(passage, index.analyzer, phrases=index.has_phrases)
    return alone(shared_steps(found, index, allowed, least, most_quoting, most_similar))


def shared_steps(
    passage: Phrases, index: Index, allowed: Mask, least: int, most_quoting: int, most_similar: int
) -> Steps[Shared]:
    """The same for the phrases of a passage, in steps."""
    distinct = int(passage.phrase.max(initial=-1)) + 1
    numbers, phrases = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for postings, mapping in zip(_postings(passage, index), index.numbers, strict=False):
        sizes = postings.stops - postings.starts
        places = np.concatenate([np.arange(0), *map(np.arange, postings.starts, postings.stops)]).astype(np.int64)
        live = mapping[postings.documents[places]]
        present = live >= 0
        numbers.append(live[present])
        phrases.append(np.repeat(np.arange(distinct), sizes)[present])
    document, phrase = np.concatenate(numbers), np.concatenate(phrases)
    own = np.bincount(phrase, minlength=distinct).astype(np.int64)
    frequencies, (documents,) = yield Counts((own, np.array([len(index)], dtype=np.int64)))
    weights = _weights(frequencies, int(documents))
    kept = allowed[document]
    document, phrase = document[kept], phrase[kept]
    weight = np.bincount(document, weights=weights[phrase], minlength=len(index)).astype(np.int64)
    chosen = np.flatnonzero(weight)
    place = np.zeros(len(index), dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    grouped = group_by_document(place[document], phrase, len(chosen))
    located = passage.first, passage.last, passage.phrase
    longest = longest_possible(passage.words, *located, *grouped, least)
    possible = np.flatnonzero(longest)
    return Shared(
        _best(chosen[possible], longest[possible], index.ids, most_quoting),
        _best(chosen, weight[chosen], index.ids, most_similar),
    )


def _best(numbers: Ints, values: Ints, ids: Sequence[str], most: int) -> list[tuple[int, str]]:
    """The greatest values with the ids of their documents; of equal ones, the smaller id first."""
    order = np.lexsort((numbers, -values))[:most]
    return [(int(values[place]), ids[int(numbers[place])]) for place in order.tolist()]


def merge_best(lists: Iterable[Iterable[tuple[int, str]]], most: int) -> list[tuple[int, str]]:
    """One list of several, in the same order."""
    return sorted((entry for each in lists for entry in each), key=lambda entry: (-entry[0], entry[1]))[:most]


def _weights(frequencies: Ints, documents: int) -> NDArray[np.float64]:
    """Whole numbers, so that their sums do not depend on an order."""
    return np.asarray(1 + np.rint(1024 * log(max(documents, 1) / np.maximum(frequencies, 1)) / log(2.0)))


def passage_phrases(passage: Side, analyzer: Any, *, phrases: bool) -> Phrases:
    """The phrases of two and three terms; single terms if the passage or the index has no phrases."""
    stretches = [_located_terms(passage, first, stop, analyzer) for first, stop in _stretches(passage)]
    rows: list[tuple[int, int, int]] = []  # last word, first word, phrase or number of the term
    if phrases:
        for terms, extents in stretches:
            for length, hashes in enumerate(phrase_hashes(term_hashes(terms)) if len(terms) > 1 else (), start=2):
                for at, value in enumerate(hashes.tolist()):
                    rows.append((extents[at + length - 1][1], extents[at][0], value))
    if rows:
        values, numbers = np.unique([row[2] for row in rows], return_inverse=True)
        return _make(passage, rows, numbers, values.astype(np.uint32), ())
    single = [(term, extent) for terms, extents in stretches for term, extent in zip(terms, extents, strict=True)]
    order = {term: number for number, term in enumerate(dict.fromkeys(term for term, _ in single))}
    rows = [(last, first, order[term]) for term, (first, last) in single]
    return _make(passage, rows, np.array([row[2] for row in rows], dtype=np.int64), None, tuple(order))


def _make(
    passage: Side,
    rows: Sequence[tuple[int, int, int]],
    numbers: Any,
    hashes: NDArray[np.uint32] | None,
    terms: tuple[str, ...],
) -> Phrases:
    places = np.array([row[:2] for row in rows], dtype=np.int64).reshape(-1, 2)
    order = np.lexsort((places[:, 1], places[:, 0]))
    phrase = np.asarray(numbers, dtype=np.int64)[order]
    return Phrases(len(passage.words), places[order, 1], places[order, 0], phrase, hashes, terms)


def _postings(passage: Phrases, index: Index) -> list[Postings]:
    """By segment, those of the distinct phrases or terms."""
    if passage.hashes is not None:
        return find_phrases(index.segments, passage.hashes)
    return [
        Postings(starts, stops, segment.posting_documents, segment.posting_counts)
        for segment, (starts, stops) in zip(index.segments, index.postings(Terms.of(passage.terms)), strict=True)
    ]


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
