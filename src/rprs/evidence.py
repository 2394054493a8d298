"""The evidence of a search: the alignment of a query with documents of an index, and its most telling pairs."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace

from rprs.alignment.align import Comparison, Findings, find_matches, make_comparison
from rprs.alignment.sides import Side, make_side
from rprs.alignment.values import Alignment, Pair, Span
from rprs.document import Document, Sentences
from rprs.forks import PerProcess
from rprs.index import Index
from rprs.once import cached_property
from rprs.progress import Progress
from rprs.scoring.threads import cores, equal_shares, one_blas_thread
from rprs.telling import Shortlist, Weighing, choose_most_telling, passages_of

__all__ = ["Evidence"]

# Shared by all searches of a process: starting threads takes a noticeable part of a short search.
_threads = PerProcess(lambda: ThreadPoolExecutor(max(1, cores() - 1), "evidence"))


class Evidence:
    """Aligns one query with documents of an index; what is read of them is kept for the next question."""

    def __init__(
        self, query: Document, index: Index, progress: Progress | None = None, sentences: Sentences | None = None
    ) -> None:
        self.query, self.index, self.progress = query, index, progress
        self._sentences = sentences  # of the query, if they are not those that the index splits it into
        self._documents: dict[str, Document] = {}
        self._sides: dict[str, Side] = {}
        self.weighing = Weighing(index)

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

        Each thread, this one included, finds the matches of its share of the documents in a few long calls: threads
        that need Python's lock for every document wait for each other most of the time.
        """
        self.query_side.prepare(ideas=self.knows_query)
        sides = [self.side(id) for id in ids]
        own, *shares = equal_shares([len(side.words) for side in sides], cores())
        found: dict[int, Shortlist] = {}
        with one_blas_thread():
            others = [_threads().submit(self._find_matches, [sides[place] for place in share]) for share in shares]
            try:
                found |= _shortlists(own, self._find_matches([sides[place] for place in own]), size)
                for share, other in zip(shares, others, strict=True):
                    found |= _shortlists(share, other.result(), size)
            finally:
                wait(others)  # they read the index, which may be closed after an error
        shortlists = [found[place] for place in range(len(ids))]
        chosen = choose_most_telling(shortlists, self.weighing)
        return [
            replace(self._covered(shortlist.comparison, boilerplate), pairs=pairs)
            for shortlist, pairs in zip(shortlists, chosen, strict=True)
        ]

    def _covered(self, comparison: Comparison, boilerplate: bool) -> Alignment:
        """An alignment whose coverage counts; its pairs do not."""
        return comparison.alignment(pairs=()) if boilerplate else self._flagged(comparison).without_boilerplate()

    def _find_matches(self, sides: Sequence[Side]) -> list[Findings]:
        return find_matches(self.query_side, sides, self.index.calibration, self.knows_query)

    def _align(self, side: Side, boilerplate: bool) -> Alignment:
        alignment = self._flagged(make_comparison(self._find_matches([side])[0]))
        return alignment if boilerplate else alignment.without_boilerplate()

    def _flagged(self, comparison: Comparison) -> Alignment:
        """The whole alignment, with its boilerplate."""
        alignment = comparison.alignment()
        flags = self.weigh(comparison.document.document, comparison.document.sentences, alignment.pairs)
        return replace(
            alignment,
            pairs=tuple(replace(pair, boilerplate=flag) for pair, flag in zip(alignment.pairs, flags, strict=True)),
            query_boilerplate=self.query_boilerplate,
            document_boilerplate=self._boilerplate(comparison.document),
        )

    def weigh(self, document: Document, sentences: Sentences, pairs: Sequence[Pair]) -> list[bool]:
        """Which pairs with a document are boilerplate."""
        passages = passages_of((self.query, self.query_side.sentences), (document, sentences), pairs)
        self.weighing.weigh([passages])
        return passages.boilerplate

    def _boilerplate(self, side: Side) -> tuple[Span, ...]:
        """The sentences of a text that are boilerplate."""
        flagged = self.weighing.are_boilerplate(side.sentences.texts(side.document.text))
        spans = side.sentences.spans.tolist()
        return tuple((start, end) for (start, end), flag in zip(spans, flagged, strict=True) if flag)


def _shortlists(places: Sequence[int], found: Sequence[Findings], size: int) -> dict[int, Shortlist]:
    return {place: Shortlist(make_comparison(findings), size) for place, findings in zip(places, found, strict=True)}
