"""The evidence of a search: the alignment of a query with documents of an index, and its most telling pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.align import align_sides
from rprs.alignment.boilerplate import is_formal, many_documents
from rprs.alignment.evidence import by_length, most_telling
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
        self._sides: dict[str, Side] = {}

    @cached_property
    def _query_side(self) -> Side:
        return make_side(self.query, self.index.query_sentences(self.query, self.progress))

    @cached_property
    def _query_boilerplate(self) -> tuple[Span, ...]:
        return self._boilerplate(self._query_side)

    @cached_property
    def _knows_query(self) -> bool:
        return self.index.knows_language(self.query)

    def side(self, id: str) -> Side:
        """A document with its sentences and words."""
        if id not in self._sides:
            self._sides[id] = make_side(self.index.document(id), self.index.sentences(id))
        return self._sides[id]

    def align(self, id: str, *, boilerplate: bool = True) -> Alignment:
        """The alignment of the query with a document."""
        return self._align(self.side(id), boilerplate)

    def align_text(self, document: Document, *, boilerplate: bool = True) -> Alignment:
        """The alignment of the query with a document that need not be in the index."""
        return self._align(make_side(document, self.index.query_sentences(document)), boilerplate)

    def summary(self, id: str, size: int, *, boilerplate: bool = True) -> Alignment:
        """The alignment with the `size` most telling pairs only, best first.

        Boilerplate is recognised in these pairs alone, which is fast, unless it is left out of the coverage.
        """
        if not boilerplate:
            alignment = self.align(id, boilerplate=False)
            return replace(alignment, pairs=self._telling(alignment, size))
        alignment = self._compare(self.side(id))
        return replace(alignment, pairs=self._telling(alignment, size))

    def _compare(self, side: Side) -> Alignment:
        return align_sides(self._query_side, side, self.index.calibration, self._knows_query)

    def _align(self, side: Side, boilerplate: bool) -> Alignment:
        alignment = self._compare(side)
        flags, _ = self._weigh(alignment, alignment.pairs)
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
        """The most telling pairs among the longest; among more of them, if these are not enough."""
        ordered, room = by_length(alignment.pairs), SHORTLIST * size
        while True:
            shortlist = ordered[:room]
            flags, distinctness = self._weigh(alignment, shortlist)
            pairs = [replace(pair, boilerplate=flag) for pair, flag in zip(shortlist, flags.tolist(), strict=True)]
            chosen = most_telling(pairs, size, distinctness.tolist())
            if room >= len(ordered) or (len(chosen) == size and not any(pair.boilerplate for pair in chosen)):
                return chosen
            room *= 4

    def _weigh(self, alignment: Alignment, pairs: Sequence[Pair]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Which pairs are boilerplate, on either side, and how distinct the less distinct side of each is."""
        left = self._passages(alignment.query, alignment.query_sentences, [pair.query_span for pair in pairs])
        right = self._passages(alignment.document, alignment.document_sentences, [p.document_span for p in pairs])
        return left[0] | right[0], np.minimum(left[1], right[1])

    def _passages(
        self, document: Document, sentences: Sentences, spans: Sequence[Span]
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """A passage is boilerplate if each of its sentences is, or what it has of them; and how distinct it is."""
        pieces, owners = list[str](), list[int]()
        for number, (start, end) in enumerate(spans):
            first = max(int(np.searchsorted(sentences.spans[:, 1], start, side="right")), 0)
            stop = int(np.searchsorted(sentences.spans[:, 0], end, side="left"))
            for sentence in range(first, min(stop, first + LONG_PASSAGE + 1)):
                own_start, own_end = sentences.spans[sentence].tolist()
                pieces.append(document.text[max(start, own_start) : min(end, own_end)])
                owners.append(number)
        flagged, distinctness = self._weigh_texts(pieces)
        lengths = np.array([len(piece) for piece in pieces], dtype=np.float64)
        total = np.bincount(owners, lengths, minlength=len(spans))
        plain = np.bincount(owners, ~flagged, minlength=len(spans))
        weighted = np.bincount(owners, lengths * distinctness, minlength=len(spans))
        return plain == 0, weighted / np.maximum(total, 1)

    def _weigh_texts(self, texts: Sequence[str]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Which sentences are boilerplate, and how distinct each is."""
        formal = np.array([is_formal(text) for text in texts], dtype=bool)
        common = commonness(texts, self.index)
        return formal | (common.documents >= many_documents(len(self.index))), common.distinctness

    def _boilerplate(self, side: Side) -> tuple[Span, ...]:
        """The sentences of a text that are boilerplate."""
        flagged, _ = self._weigh_texts(side.sentences.texts(side.document.text))
        return tuple((start, end) for start, end in side.sentences.spans[flagged].tolist())
