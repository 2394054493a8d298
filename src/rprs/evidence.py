"""The evidence of a search: the alignment of a query with documents of an index."""

from __future__ import annotations

from functools import cached_property

from rprs.alignment.align import align_sides
from rprs.alignment.evidence import most_telling
from rprs.alignment.sides import Side, make_side
from rprs.alignment.values import Alignment, Pair
from rprs.document import Document
from rprs.index import Index
from rprs.progress import Progress

__all__ = ["Evidence"]


class Evidence:
    """Aligns one query with documents of an index; what is read of them is kept for the next question."""

    def __init__(self, query: Document, index: Index, progress: Progress | None = None) -> None:
        self.query, self.index, self.progress = query, index, progress
        self._sides: dict[str, Side] = {}

    @cached_property
    def query_side(self) -> Side:
        """The query with its sentences and words."""
        return make_side(self.query, self.index.query_sentences(self.query, self.progress))

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

    def _align(self, side: Side, boilerplate: bool) -> Alignment:
        alignment = align_sides(self.query_side, side, self.index.calibration, self._knows_query)
        return alignment if boilerplate else alignment.without_boilerplate()

    def telling(self, alignment: Alignment, size: int) -> tuple[Pair, ...]:
        """The most telling pairs."""
        return most_telling(alignment.pairs, size)
