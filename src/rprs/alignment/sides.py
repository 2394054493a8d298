"""One of the two texts of an alignment: its sentences and its words, and which words belong to which sentence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.boilerplate import Formal
from rprs.alignment.candidates import WordPairs
from rprs.alignment.values import Span
from rprs.alignment.verbatim import Sequences
from rprs.alignment.words import Words, fold_words, full_stops, resolve_breaks
from rprs.compiled import compiled
from rprs.document import Document, Sentences
from rprs.once import cached_property
from rprs.scoring.sorting import first_at_least
from rprs.scoring.widening import widen_rows
from rprs.text.marks import WHITE_SPACE
from rprs.text.pieces import codes_of

__all__ = ["LEAST_WORDS", "Side", "make_excerpt", "make_side", "settle_breaks", "span_of"]

Ints = NDArray[np.int64]

LEAST_WORDS = 4  # of a sentence: the vector of a shorter one says little

_STOPS, _CLOSING = (tuple(map(ord, marks)) for marks in (".!?。！？", "\"'”’)]"))
_WHITE_SPACE = np.array(list(map(ord, WHITE_SPACE)), dtype=np.uint32)

Places = tuple[Ints, Ints, Ints, Ints, NDArray[np.uint32]]


@dataclass(frozen=True)
class Side:
    """A text with its m sentences and w words; a word belongs to the sentence in which it starts."""

    document: Document
    sentences: Sentences
    words: Words
    bounds: Ints  # (m + 1,): the words of sentence s are bounds[s]:bounds[s + 1]

    @cached_property
    def sizes(self) -> Ints:
        """(m,): the number of words of each sentence."""
        return np.diff(self.bounds)

    @cached_property
    def codes(self) -> NDArray[np.uint32]:
        """The characters of the text as numbers."""
        return codes_of(self.document.text)

    @cached_property
    def formal(self) -> Formal:
        """Which sentences are captions, headings, bare citations, or very short."""
        return Formal(self.document.text, self.sentences.spans, self.codes)

    @cached_property
    def bound_list(self) -> list[int]:
        """`bounds` for many single lookups, for which lists are faster."""
        return list(self.bounds.tolist())

    @cached_property
    def stops(self) -> Ints:
        """The words behind a full stop, whether a sentence ends there or not, with the first word and the end."""
        return full_stops(self.codes, self.words)

    @cached_property
    def sequences(self) -> Sequences:
        """Its sequences of words."""
        return Sequences(self.words.hashes, self.bounds)

    @cached_property
    def word_pairs(self) -> WordPairs:
        """Its sentences by their pairs of words."""
        return WordPairs(self.words.hashes, self.bounds)

    def prepare(self, *, ideas: bool) -> None:
        """Compute what every comparison with another text needs, before threads share it."""
        self.sequences.prepare()
        self.word_pairs.prepare()
        _ = self.formal, self.bound_list, self.stops
        if ideas:
            _ = self.vectors

    @cached_property
    def with_ideas(self) -> Ints:
        """The sentences that have vectors and enough words for them."""
        if len(self.sentences.vectors) != len(self.sentences):
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(self.sizes >= LEAST_WORDS)

    @cached_property
    def vectors(self) -> NDArray[np.floating[Any]]:
        """The vectors of these sentences in the type in which their products are exact."""
        return widen_rows(self.sentences.vectors, self.with_ideas)

    def span(self, first: int, stop: int) -> Span:
        """The characters of the words from `first` to `stop`, with the punctuation of sentences that they fill."""
        return self.spans(np.array([[first, stop]]))[0]

    def spans(self, ranges: Ints) -> list[Span]:
        """The same for ranges (r, 2) of words."""
        return [(start, end) for start, end in _spans(ranges, self.places).tolist()]

    @cached_property
    def places(self) -> Places:
        """What `span_of` needs to know of the text."""
        return self.bounds, self.words.starts, self.words.ends, self.sentences.spans, self.codes


def make_side(document: Document, sentences: Sentences) -> Side:
    """A text of an alignment."""
    return _with_words(document, sentences, fold_words(document.text))


def make_excerpt(document: Document, sentences: Sentences, first: int, stop: int) -> Side:
    """Some neighbouring sentences of a text, with its spans: as quick as they are short, however long the text is."""
    part = slice(first, stop)
    start, end = int(sentences.spans[first, 0]), int(sentences.spans[stop - 1, 1])
    words = fold_words(document.text[start:end])
    kept = Sentences(sentences.spans[part], sentences.paragraphs[part], sentences.vectors[part])
    return _with_words(document, kept, replace(words, starts=words.starts + start, ends=words.ends + start))


def settle_breaks(query: Side, document: Side) -> tuple[Side, Side]:
    """Both texts with the words joined that a hyphen at the end of a line divides in one of them."""
    sides = []
    for side, other in ((query, document), (document, query)):
        words = resolve_breaks(side.words, other.words)
        sides.append(side if words is side.words else _with_words(side.document, side.sentences, words))
    return sides[0], sides[1]


def _with_words(document: Document, sentences: Sentences, words: Words) -> Side:
    first = np.searchsorted(words.starts, sentences.spans[:, 0])
    return Side(document, sentences, words, np.append(first, len(words)).astype(np.int64))


@compiled
def _spans(ranges: Any, places: Any) -> Any:
    """(r, 2): the characters of ranges of words."""
    spans = np.empty((len(ranges), 2), dtype=np.int64)
    for number in range(len(ranges)):
        spans[number, 0], spans[number, 1] = span_of(ranges[number, 0], ranges[number, 1], places)
    return spans


@compiled
def span_of(first: int, stop: int, places: Any) -> Any:
    """The characters of a range of words, with the punctuation of sentences that it fills, or with which it ends."""
    bounds, starts, ends, sentences, codes = places
    start, end = starts[first], ends[stop - 1]
    sentence = first_at_least(bounds, first + 1) - 1
    if 0 <= sentence < len(sentences) and bounds[sentence] == first:
        start = min(start, np.int64(sentences[sentence, 0]))
    sentence = first_at_least(bounds, stop) - 1
    if 0 <= sentence < len(sentences) and bounds[sentence + 1] == stop:
        return start, max(end, np.int64(sentences[sentence, 1]))
    return start, _behind_stops(codes, end)


@compiled
def _behind_stops(codes: Any, end: int) -> Any:
    """Where the marks end that end a sentence here, with quotes and brackets behind them and then white space."""
    at = end
    while at < len(codes) and codes[at] in _STOPS:
        at += 1
    if at == end:
        return end
    while at < len(codes) and codes[at] in _CLOSING:
        at += 1
    if at < len(codes):
        place = first_at_least(_WHITE_SPACE, codes[at])
        if place == len(_WHITE_SPACE) or _WHITE_SPACE[place] != codes[at]:
            return end
    return at
