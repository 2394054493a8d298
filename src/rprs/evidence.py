"""The evidence of a search: the alignment of a query with documents of an index, and its most telling pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from operator import or_
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.align import Comparison, Findings, find_matches, make_comparison
from rprs.alignment.boilerplate import formal_texts, many_documents
from rprs.alignment.evidence import choose_telling, length_of, lengths_of, unchanged
from rprs.alignment.matches import Matches
from rprs.alignment.sides import Side, make_side
from rprs.alignment.values import Alignment, Pair, Span
from rprs.commonness import commonness
from rprs.document import Document, Sentences
from rprs.forks import PerProcess
from rprs.index import Index
from rprs.once import cached_property
from rprs.progress import Progress
from rprs.scoring.threads import cores, one_blas_thread

__all__ = ["Evidence"]

# The longest pairs are weighed: first twice as many as are shown, then four times, then four times those.
FIRST, SHORTLIST = 2, 4
LONG_PASSAGE = 8  # sentences: a longer passage is no boilerplate

# Shared by all searches of a process: starting threads takes a noticeable part of a short search.
_threads = PerProcess(lambda: ThreadPoolExecutor(cores(), "evidence"))

_Text = tuple[Document, Sentences]
_Known = tuple[int, int, float, bool]  # documents that have most of a text, its phrases, distinctness, boilerplate


class Evidence:
    """Aligns one query with documents of an index; what is read of them is kept for the next question."""

    def __init__(
        self, query: Document, index: Index, progress: Progress | None = None, sentences: Sentences | None = None
    ) -> None:
        self.query, self.index, self.progress = query, index, progress
        self._sentences = sentences  # of the query, if they are not those that the index splits it into
        self._documents: dict[str, Document] = {}
        self._sides: dict[str, Side] = {}
        self._many = many_documents(len(index))
        self._known: dict[str, _Known] = {}  # of texts that were looked up

    @cached_property
    def query_side(self) -> Side:
        """The query with its sentences and words."""
        sentences = self._sentences
        if sentences is None:
            sentences = self.index.query_sentences(self.query, self.progress)
        return make_side(self.query, sentences)

    @cached_property
    def query_boilerplate(self) -> tuple[Span, ...]:
        """The sentences of the query that are boilerplate."""
        return self._boilerplate(self.query_side)

    @cached_property
    def knows_query(self) -> bool:
        """Whether the encoder knows the language of the query."""
        return self.index.knows_language(self.query)

    def document(self, id: str) -> Document:
        """A document of the index."""
        if id not in self._documents:
            self._documents[id] = self.index.document(id)
        return self._documents[id]

    def side(self, id: str) -> Side:
        """A document with its sentences and words."""
        if id not in self._sides:
            self._sides[id] = make_side(self.document(id), self.index.sentences(id))
        return self._sides[id]

    def align(self, id: str, *, boilerplate: bool = True) -> Alignment:
        """The alignment of the query with a document."""
        return self._align(self.side(id), boilerplate)

    def align_text(self, document: Document, *, boilerplate: bool = True) -> Alignment:
        """The alignment of the query with a document that need not be in the index."""
        return self._align(make_side(document, self.index.query_sentences(document)), boilerplate)

    def summaries(self, ids: Sequence[str], size: int, *, boilerplate: bool = True) -> list[Alignment]:
        """The alignments with the `size` most telling pairs only, best first; fewer or none if the rest is boilerplate.

        Boilerplate is recognised in these pairs alone, which is fast, unless it is left out of the coverage.
        """
        weighed = FIRST * size
        compared = self._compare_all(ids, weighed)
        chosen: dict[int, tuple[Pair, ...]] = {}
        while rest := [number for number in range(len(ids)) if number not in chosen]:
            for number in rest:
                comparison, order, shortlist = compared[number]
                shortlist.add(comparison.pairs(order.numbers[len(shortlist.pairs) : weighed]))
            self._look_up([text for number in rest for text in compared[number].shortlist.texts])
            for number in rest:
                telling = self._telling(compared[number].shortlist, compared[number].order, size)
                if telling is not None:
                    chosen[number] = telling
            weighed = SHORTLIST * (weighed if weighed >= SHORTLIST * size else size)
        return [
            replace(self._covered(comparison, boilerplate), pairs=chosen[number])
            for number, (comparison, _, _) in enumerate(compared)
        ]

    def _covered(self, comparison: Comparison, boilerplate: bool) -> Alignment:
        """An alignment whose coverage counts; its pairs do not."""
        return comparison.alignment(pairs=()) if boilerplate else self._flagged(comparison).without_boilerplate()

    def _find_matches(self, sides: Sequence[Side]) -> list[Findings]:
        return find_matches(self.query_side, sides, self.index.calibration, self.knows_query)

    def _compare_all(self, ids: Sequence[str], weighed: int) -> list[_Compared]:
        """The query with several documents, each with its longest pairs, the first to be weighed.

        Each thread, this one included, finds the matches of its share of the documents in a few long calls: threads
        that need Python's lock for every document wait for each other most of the time.
        """
        self.query_side.prepare(ideas=self.knows_query)
        number = max(1, min(cores(), len(ids)))
        parts = [ids[start::number] for start in range(number)]
        with one_blas_thread():
            others = [_threads().submit(self._find_matches_by_id, part) for part in parts[1:]]
            found = [self._find_matches_by_id(parts[0]), *(other.result() for other in others)]
        return [_compared(found[place % number][place // number], weighed) for place in range(len(ids))]

    def _find_matches_by_id(self, ids: Sequence[str]) -> list[Findings]:
        return self._find_matches([self.side(id) for id in ids])

    def _align(self, side: Side, boilerplate: bool) -> Alignment:
        alignment = self._flagged(make_comparison(self._find_matches([side])[0]))
        return alignment if boilerplate else alignment.without_boilerplate()

    def _flagged(self, comparison: Comparison) -> Alignment:
        """The whole alignment, with its boilerplate."""
        alignment = comparison.alignment()
        flags, _ = self._weigh(_passages_of(comparison, alignment.pairs))
        return replace(
            alignment,
            pairs=tuple(replace(pair, boilerplate=flag) for pair, flag in zip(alignment.pairs, flags, strict=True)),
            query_boilerplate=self.query_boilerplate,
            document_boilerplate=self._boilerplate(comparison.document),
        )

    # ------------------------------------------------------------------------ what is telling

    def _telling(self, shortlist: _Passages, order: _Order, size: int) -> tuple[Pair, ...] | None:
        """The most telling of the longest pairs, without boilerplate; None if more pairs have to be weighed."""
        flags, distinctness = self._weigh(shortlist)
        pairs = shortlist.pairs
        numbers = choose_telling(pairs, size, flags, distinctness)
        telling = tuple(pairs[number] for number in numbers if not flags[number])
        if len(pairs) == len(order.numbers):
            return telling
        if len(telling) < size:
            return None
        least = distinctness[numbers[-1]] * length_of(telling[-1])
        return telling if len(pairs) >= SHORTLIST * size or least > order.lengths[len(pairs)] else None

    def weigh(self, document: Document, sentences: Sentences, pairs: Sequence[Pair]) -> NDArray[np.bool_]:
        """Which pairs with a document are boilerplate."""
        query = self.query_side
        passages = _Passages((query.document, query.sentences), (document, sentences), pairs)
        return np.array(self._weigh(passages)[0], dtype=bool)

    def _weigh(self, passages: _Passages) -> tuple[list[bool], list[float]]:
        """Which pairs are boilerplate, on either side, and how distinct the less distinct side of each is.

        A reworded pair is boilerplate, too, if all that both sides have in common is.
        """
        self._look_up(list(passages.texts))
        left, right = self._weigh_passages(passages.query), self._weigh_passages(passages.document)
        flags = list(map(or_, left[0], right[0]))
        for number, texts in passages.kept.items():
            flags[number] |= self._are_common(texts)
        return flags, list(map(min, left[1], right[1]))

    def _are_common(self, texts: Sequence[str]) -> bool:
        """Whether many documents have each of some texts that have phrases."""
        counted = [documents for documents, phrases, _, _ in map(self._known.__getitem__, texts) if phrases]
        return bool(counted) and min(counted) >= self._many

    def _weigh_passages(self, pieces: Sequence[Sequence[str]]) -> tuple[list[bool], list[float]]:
        """A passage is boilerplate if each of its sentences is, or what it has of them; and how distinct it is.

        Its longest sentence decides unless that is boilerplate, and how distinct it is.
        """
        flagged, distinctness = self._weigh_texts([own[0] if own else "" for own in pieces])
        several = [number for number, flag in enumerate(flagged) if flag and len(pieces[number]) > 1]
        self._look_up([text for number in several for text in pieces[number][:LONG_PASSAGE]])
        for number in several:
            flagged[number] = len(pieces[number]) <= LONG_PASSAGE and all(self._weigh_texts(pieces[number])[0])
        return flagged, distinctness

    def _weigh_texts(self, texts: Sequence[str]) -> tuple[list[bool], list[float]]:
        """Which sentences are boilerplate, and how distinct each is."""
        self._look_up(texts)
        known = [self._known[text] for text in texts]
        return [flag for _, _, _, flag in known], [value for _, _, value, _ in known]

    def _look_up(self, texts: Sequence[str]) -> None:
        """Find out how common texts are, and whether they are boilerplate, unless it is known."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            found = commonness(new, self.index)
            flags = (found.documents >= self._many) | formal_texts(new)
            columns = (found.documents, found.phrases, found.distinctness, flags)
            self._known.update(zip(new, zip(*(each.tolist() for each in columns), strict=True), strict=True))

    def _boilerplate(self, side: Side) -> tuple[Span, ...]:
        """The sentences of a text that are boilerplate."""
        flagged, _ = self._weigh_texts(side.sentences.texts(side.document.text))
        spans = side.sentences.spans.tolist()
        return tuple((start, end) for (start, end), flag in zip(spans, flagged, strict=True) if flag)


class _Order(NamedTuple):
    """The numbers of all matches, the longest first, and their lengths: no pair is more telling than it is long."""

    numbers: list[int]
    lengths: list[float]


class _Compared(NamedTuple):
    """The query and a document, their matches by length, and the passages that are weighed so far."""

    comparison: Comparison
    order: _Order
    shortlist: _Passages


def _compared(findings: Findings, weighed: int) -> _Compared:
    comparison = make_comparison(findings)
    order = _by_length(comparison.matches)
    return _Compared(comparison, order, _passages_of(comparison, comparison.pairs(order.numbers[:weighed])))


def _by_length(matches: Matches) -> _Order:
    lengths = lengths_of(matches)
    order = np.argsort(-lengths, kind="stable")  # of equally long ones, the first in the query
    return _Order(order.tolist(), lengths[order].tolist())


class _Passages:
    """Pairs with what each has of every sentence, the longest first, and what reworded ones kept."""

    def __init__(self, query: _Text, document: _Text, pairs: Sequence[Pair]) -> None:
        self._sides = query, document
        self.pairs: list[Pair] = []
        self.query: list[list[str]] = []
        self.document: list[list[str]] = []
        self.kept: dict[int, list[str]] = {}  # by the number of the pair
        self.add(pairs)

    def add(self, pairs: Sequence[Pair]) -> None:
        """Add more pairs."""
        count = len(self.pairs)
        self.kept |= {count + number: unchanged(pair) for number, pair in enumerate(pairs) if pair.kind == "reworded"}
        self.query += _pieces(self._sides[0], [pair.query_span for pair in pairs])
        self.document += _pieces(self._sides[1], [pair.document_span for pair in pairs])
        self.pairs += pairs

    @property
    def texts(self) -> Iterator[str]:
        """All texts whose frequency decides first."""
        yield from (own[0] for pieces in (self.query, self.document) for own in pieces if own)
        yield from (text for texts in self.kept.values() for text in texts)


def _passages_of(comparison: Comparison, pairs: Sequence[Pair]) -> _Passages:
    query, document = comparison.query, comparison.document
    return _Passages((query.document, query.sentences), (document.document, document.sentences), pairs)


def _pieces(text: _Text, spans: Sequence[Span]) -> list[list[str]]:
    """What each of some passages has of every sentence, the longest first."""
    document, sentences = text
    firsts = np.searchsorted(sentences.spans[:, 1], [start for start, _ in spans], side="right")
    stops = np.searchsorted(sentences.spans[:, 0], [end for _, end in spans], side="left")
    pieces = []
    for (start, end), first, stop in zip(spans, firsts.tolist(), stops.tolist(), strict=True):
        own = sentences.spans[first:stop].tolist()
        parts = [document.text[max(start, low) : min(end, high)] for low, high in own]
        pieces.append(sorted(parts, key=len, reverse=True))
    return pieces
