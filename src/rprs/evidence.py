"""The evidence of a search: the alignment of a query with documents of an index, and its most telling pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.align import align_sides
from rprs.alignment.boilerplate import is_formal, many_documents
from rprs.alignment.evidence import by_length, most_telling, unchanged
from rprs.alignment.sides import Side, make_side
from rprs.alignment.values import Alignment, Pair, Span
from rprs.commonness import commonness
from rprs.document import Document, Sentences
from rprs.index import Index
from rprs.progress import Progress

__all__ = ["Evidence"]

SHORTLIST = 4  # times as many pairs as are shown are weighed, the longest first
LONG_PASSAGE = 8  # sentences: a longer passage is no boilerplate


class Evidence:
    """Aligns one query with documents of an index; what is read of them is kept for the next question."""

    def __init__(self, query: Document, index: Index, progress: Progress | None = None) -> None:
        self.query, self.index, self.progress = query, index, progress
        self._documents: dict[str, Document] = {}
        self._sides: dict[str, Side] = {}
        self._weights: dict[
            str, tuple[bool, float]
        ] = {}  # of sentences: whether it is boilerplate, and its distinctness

    @cached_property
    def query_side(self) -> Side:
        """The query with its sentences and words."""
        return make_side(self.query, self.index.query_sentences(self.query, self.progress))

    @cached_property
    def _query_boilerplate(self) -> tuple[Span, ...]:
        return self._boilerplate(self.query_side)

    @cached_property
    def knows_query(self) -> bool:
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

    def summary(self, id: str, size: int, *, boilerplate: bool = True) -> Alignment:
        """The alignment with the `size` most telling pairs only, best first; fewer or none if the rest is boilerplate.

        Boilerplate is recognised in these pairs alone, which is fast, unless it is left out of the coverage.
        """
        if not boilerplate:
            alignment = self.align(id, boilerplate=False)
            return replace(alignment, pairs=self._telling(alignment, size))
        alignment = self._compare(self.side(id))
        return replace(alignment, pairs=self._telling(alignment, size))

    def _compare(self, side: Side) -> Alignment:
        return align_sides(self.query_side, side, self.index.calibration, self.knows_query)

    def _align(self, side: Side, boilerplate: bool) -> Alignment:
        alignment = self._compare(side)
        flags, _ = self.weigh(side.document, side.sentences, alignment.pairs)
        alignment = replace(
            alignment,
            pairs=tuple(
                replace(pair, boilerplate=flag) for pair, flag in zip(alignment.pairs, flags.tolist(), strict=True)
            ),
            query_boilerplate=self._query_boilerplate,
            document_boilerplate=self._boilerplate(side),
        )
        return alignment if boilerplate else alignment.without_boilerplate()

    # ------------------------------------------------------------------------ what is telling

    def _telling(self, alignment: Alignment, size: int) -> tuple[Pair, ...]:
        """The most telling pairs among the longest; among more of them, if these are not enough. No boilerplate."""
        ordered, room = by_length(alignment.pairs), SHORTLIST * size
        while True:
            shortlist = ordered[:room]
            flags, distinctness = self.weigh(alignment.document, alignment.document_sentences, shortlist)
            pairs = [replace(pair, boilerplate=flag) for pair, flag in zip(shortlist, flags.tolist(), strict=True)]
            chosen = most_telling(pairs, size, distinctness.tolist())
            if room >= len(ordered) or (len(chosen) == size and not any(pair.boilerplate for pair in chosen)):
                return tuple(pair for pair in chosen if not pair.boilerplate)
            room *= 4

    def weigh(
        self, document: Document, sentences: Sentences, pairs: Sequence[Pair]
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Which pairs with a document are boilerplate, on either side, and how distinct the less distinct side is.

        A reworded pair is boilerplate, too, if all that both sides have in common is.
        """
        left = self._passages(self.query, self.query_side.sentences, [pair.query_span for pair in pairs])
        right = self._passages(document, sentences, [pair.document_span for pair in pairs])
        flags = left[0] | right[0]
        for number, pair in enumerate(pairs):
            if pair.kind == "reworded" and not flags[number]:
                flags[number] = self._is_common(unchanged(pair))
        return flags, np.minimum(left[1], right[1])

    def _is_common(self, texts: Sequence[str]) -> bool:
        """Whether many documents have each of some texts."""
        common, many = commonness(texts, self.index), many_documents(len(self.index))
        return bool(common.phrases.any() and np.all(common.documents[common.phrases > 0] >= many))

    def _passages(
        self, document: Document, sentences: Sentences, spans: Sequence[Span]
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """A passage is boilerplate if each of its sentences is, or what it has of them; and how distinct it is.

        Its longest sentence decides unless that is boilerplate, and how distinct it is.
        """
        pieces = [_pieces(document, sentences, span) for span in spans]
        flagged, distinctness = self._weigh_texts([own[0] if own else "" for own in pieces])
        for number in np.flatnonzero(flagged).tolist():
            if len(pieces[number]) > 1:
                flagged[number] = len(pieces[number]) <= LONG_PASSAGE and bool(
                    self._weigh_texts(pieces[number])[0].all()
                )
        return flagged, distinctness

    def _weigh_texts(self, texts: Sequence[str]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Which sentences are boilerplate, and how distinct each is."""
        new = [text for text in dict.fromkeys(texts) if text not in self._weights]
        if new:
            common, many = commonness(new, self.index), many_documents(len(self.index))
            for text, documents, distinctness in zip(new, common.documents, common.distinctness, strict=True):
                self._weights[text] = documents >= many or is_formal(text), float(distinctness)
        weights = [self._weights[text] for text in texts]
        return np.array([flag for flag, _ in weights], dtype=bool), np.array([value for _, value in weights])

    def _boilerplate(self, side: Side) -> tuple[Span, ...]:
        """The sentences of a text that are boilerplate."""
        flagged, _ = self._weigh_texts(side.sentences.texts(side.document.text))
        return tuple((start, end) for start, end in side.sentences.spans[flagged].tolist())


def _pieces(document: Document, sentences: Sentences, span: Span) -> list[str]:
    """What a passage has of each sentence, the longest first."""
    start, end = span
    first = int(np.searchsorted(sentences.spans[:, 1], start, side="right"))
    stop = int(np.searchsorted(sentences.spans[:, 0], end, side="left"))
    pieces = [document.text[max(start, low) : min(end, high)] for low, high in sentences.spans[first:stop].tolist()]
    return sorted(pieces, key=len, reverse=True)
