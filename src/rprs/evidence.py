"""The evidence of a search: the alignment of a query with documents of an index, and its most telling pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.align import Comparison, compare_sides
from rprs.alignment.boilerplate import is_formal, many_documents
from rprs.alignment.evidence import by_length, most_telling, unchanged
from rprs.alignment.sides import Side, make_side
from rprs.alignment.values import Alignment, Pair, Span
from rprs.commonness import commonness
from rprs.document import Document, Sentences
from rprs.index import Index
from rprs.progress import Progress
from rprs.scoring.threads import cores, one_blas_thread

__all__ = ["Evidence"]

SHORTLIST = 4  # times as many pairs as are shown are weighed, the longest first
LONG_PASSAGE = 8  # sentences: a longer passage is no boilerplate

_Text = tuple[Document, Sentences]


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
        self._commonness: dict[str, tuple[int, int, float]] = {}  # of texts: documents, phrases, distinctness

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
        """Whether the encoder knows the script of the query."""
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
        comparisons = self._compare_all([self.side(id) for id in ids])
        shortlists = [self._shortlist(comparison, SHORTLIST * size) for comparison in comparisons]
        self._look_up([text for shortlist in shortlists for text in shortlist.texts])
        summaries = []
        for comparison, shortlist in zip(comparisons, shortlists, strict=True):
            if boilerplate:
                alignment = comparison.alignment(pairs=())
            else:
                alignment = self._flagged(comparison).without_boilerplate()
            summaries.append(replace(alignment, pairs=self._telling(comparison, shortlist, size)))
        return summaries

    def _compare(self, side: Side) -> Comparison:
        return compare_sides(self.query_side, side, self.index.calibration, self.knows_query)

    def _compare_all(self, sides: Sequence[Side]) -> list[Comparison]:
        """The query with several documents, in threads; the first makes the tables of the query for all."""
        with one_blas_thread(), ThreadPoolExecutor(cores(), "evidence") as threads:
            first = [self._compare(side) for side in sides[:1]]
            return [*first, *threads.map(self._compare, sides[1:])]

    def _align(self, side: Side, boilerplate: bool) -> Alignment:
        alignment = self._flagged(self._compare(side))
        return alignment if boilerplate else alignment.without_boilerplate()

    def _flagged(self, comparison: Comparison) -> Alignment:
        """The whole alignment, with its boilerplate."""
        alignment = comparison.alignment()
        flags, _ = self._weigh(_passages_of(comparison, alignment.pairs))
        return replace(
            alignment,
            pairs=tuple(
                replace(pair, boilerplate=flag) for pair, flag in zip(alignment.pairs, flags.tolist(), strict=True)
            ),
            query_boilerplate=self.query_boilerplate,
            document_boilerplate=self._boilerplate(comparison.document),
        )

    # ------------------------------------------------------------------------ what is telling

    def _shortlist(self, comparison: Comparison, size: int) -> _Passages:
        """The longest pairs."""
        return _passages_of(comparison, [comparison.pair(match) for match in by_length(comparison.matches)[:size]])

    def _telling(self, comparison: Comparison, shortlist: _Passages, size: int) -> tuple[Pair, ...]:
        """The most telling pairs among the longest; among more of them, if these are not enough. No boilerplate."""
        while True:
            flags, distinctness = self._weigh(shortlist)
            pairs = [
                replace(pair, boilerplate=flag) for pair, flag in zip(shortlist.pairs, flags.tolist(), strict=True)
            ]
            chosen = most_telling(pairs, size, distinctness.tolist())
            enough = len(chosen) == size and not any(pair.boilerplate for pair in chosen)
            if enough or len(pairs) == len(comparison.matches):
                return tuple(pair for pair in chosen if not pair.boilerplate)
            shortlist = self._shortlist(comparison, 4 * max(len(pairs), 1))

    def weigh(self, document: Document, sentences: Sentences, pairs: Sequence[Pair]) -> NDArray[np.bool_]:
        """Which pairs with a document are boilerplate."""
        query = self.query_side
        return self._weigh(_passages((query.document, query.sentences), (document, sentences), pairs))[0]

    def _weigh(self, passages: _Passages) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Which pairs are boilerplate, on either side, and how distinct the less distinct side of each is.

        A reworded pair is boilerplate, too, if all that both sides have in common is.
        """
        self._look_up(list(passages.texts))
        left, right = self._weigh_passages(passages.query), self._weigh_passages(passages.document)
        flags = left[0] | right[0]
        for number, texts in passages.kept.items():
            flags[number] |= self._are_common(texts)
        return flags, np.minimum(left[1], right[1])

    def _are_common(self, texts: Sequence[str]) -> bool:
        """Whether many documents have each of some texts that have phrases."""
        known = [self._commonness[text] for text in texts]
        counted = [documents for documents, phrases, _ in known if phrases]
        return bool(counted) and min(counted) >= self._many

    def _weigh_passages(self, pieces: Sequence[Sequence[str]]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """A passage is boilerplate if each of its sentences is, or what it has of them; and how distinct it is.

        Its longest sentence decides unless that is boilerplate, and how distinct it is.
        """
        flagged, distinctness = self._weigh_texts([own[0] if own else "" for own in pieces])
        several = [number for number in np.flatnonzero(flagged).tolist() if len(pieces[number]) > 1]
        self._look_up([text for number in several for text in pieces[number][:LONG_PASSAGE]])
        for number in several:
            flagged[number] = len(pieces[number]) <= LONG_PASSAGE and bool(self._weigh_texts(pieces[number])[0].all())
        return flagged, distinctness

    def _weigh_texts(self, texts: Sequence[str]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Which sentences are boilerplate, and how distinct each is."""
        self._look_up(texts)
        known = [self._commonness[text] for text in texts]
        flags = [
            documents >= self._many or is_formal(text) for text, (documents, _, _) in zip(texts, known, strict=True)
        ]
        return np.array(flags, dtype=bool), np.array([distinctness for _, _, distinctness in known])

    def _look_up(self, texts: Sequence[str]) -> None:
        """Find out how common texts are, unless it is known."""
        new = [text for text in dict.fromkeys(texts) if text not in self._commonness]
        if new:
            found = commonness(new, self.index)
            rows = zip(found.documents.tolist(), found.phrases.tolist(), found.distinctness.tolist(), strict=True)
            self._commonness.update(zip(new, rows, strict=True))

    def _boilerplate(self, side: Side) -> tuple[Span, ...]:
        """The sentences of a text that are boilerplate."""
        flagged, _ = self._weigh_texts(side.sentences.texts(side.document.text))
        return tuple((start, end) for start, end in side.sentences.spans[flagged].tolist())


@dataclass(frozen=True, slots=True)
class _Passages:
    """Pairs with what each has of every sentence, the longest first, and what reworded ones kept."""

    pairs: Sequence[Pair]
    query: list[list[str]]
    document: list[list[str]]
    kept: dict[int, list[str]]  # by the number of the pair

    @property
    def texts(self) -> Iterator[str]:
        """All texts whose frequency decides first."""
        yield from (own[0] for pieces in (self.query, self.document) for own in pieces if own)
        yield from (text for texts in self.kept.values() for text in texts)


def _passages(query: _Text, document: _Text, pairs: Sequence[Pair]) -> _Passages:
    return _Passages(
        pairs,
        [_pieces(query, pair.query_span) for pair in pairs],
        [_pieces(document, pair.document_span) for pair in pairs],
        {number: unchanged(pair) for number, pair in enumerate(pairs) if pair.kind == "reworded"},
    )


def _passages_of(comparison: Comparison, pairs: Sequence[Pair]) -> _Passages:
    query, document = comparison.query, comparison.document
    return _passages((query.document, query.sentences), (document.document, document.sentences), pairs)


def _pieces(text: _Text, span: Span) -> list[str]:
    """What a passage has of each sentence, the longest first."""
    (start, end), (document, sentences) = span, text
    first = int(np.searchsorted(sentences.spans[:, 1], start, side="right"))
    stop = int(np.searchsorted(sentences.spans[:, 0], end, side="left"))
    pieces = [document.text[max(start, low) : min(end, high)] for low, high in sentences.spans[first:stop].tolist()]
    return sorted(pieces, key=len, reverse=True)
