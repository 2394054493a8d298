"""Coverage of a document by several others: each is aligned with it, and all alignments together make the chart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rprs.alignment.coverage import cover
from rprs.alignment.values import Coverage
from rprs.alignment.words import fold_words
from rprs.charts.covers import cover_rows
from rprs.charts.rows import lay_out
from rprs.charts.values import Chart, Covers, Source
from rprs.document import Document
from rprs.errors import EmptyQuery, UsageError
from rprs.evidence import Evidence
from rprs.index import Index
from rprs.progress import Progress, silent
from rprs.results.hits import Hit

__all__ = ["MOST_SOURCES", "Charting", "Named", "named_documents", "named_hits"]

MOST_SOURCES = 200


@dataclass(frozen=True, slots=True)
class Named:
    """A document of the index to compare with the query: its rank, and the duplicates that it stands for."""

    rank: int
    id: str
    duplicates: tuple[str, ...] = ()


def named_hits(hits: Iterable[Hit]) -> list[Named]:
    """The hits of a search."""
    return [Named(hit.rank, hit.id, tuple(each.id for each in hit.duplicates)) for hit in hits]


def named_documents(index: Index, ids: object) -> list[Named]:
    """Documents of the index by their ids, each once; an unknown id is an error."""
    if isinstance(ids, str) or not isinstance(ids, Sequence) or not all(isinstance(id, str) for id in ids):
        raise UsageError(f"The ids of documents must be a list of strings. Got {ids!r:.80} instead.")
    if not ids:
        raise UsageError("Name at least one document to compare with: the list of ids is empty")
    named = [Named(rank, id) for rank, id in enumerate(dict.fromkeys(ids), 1)]
    index.read_ahead([each.id for each in named])
    for each in named:
        index.document(each.id)
    return named


class Charting:
    """Makes a chart source by source: `empty` is the chart without sources, `sources` yields one after the other.

    Coverage and kinds are those of `Searcher.align`, but in a patent the elements of the claims are aligned one by one.
    """

    def __init__(self, query: Document, index: Index, progress: Progress = silent, *, boilerplate: bool = True) -> None:
        self.index, self.progress, self.boilerplate = index, progress, boilerplate
        layout = lay_out(query, index, progress)
        if not layout.rows:
            raise EmptyQuery(f"The query {query.id!r} has no sentences: there is nothing to compare")
        self._evidence = Evidence(query, index, progress, layout.sentences)
        marked = set(self._evidence.query_boilerplate)
        rows = tuple(replace(row, boilerplate=row.span in marked) for row in layout.rows)
        self.empty = Chart(query, layout.groups, rows)

    def sources(self, named: Sequence[Named]) -> Iterator[tuple[Source, Covers]]:
        """Each source with the rows that it covers, as soon as it is aligned."""
        if len(named) > MOST_SOURCES:
            raise UsageError(f"A chart has at most {MOST_SOURCES} sources. Got {len(named):,}: name fewer")
        self.index.read_ahead([each.id for each in named])
        with self.progress("evidence", len(named), "sources") as advance:
            for place, each in enumerate(named):
                yield self._source(place, each)
                advance(1)

    def _source(self, place: int, named: Named) -> tuple[Source, Covers]:
        evidence = self._evidence
        alignment = evidence.align(named.id, boilerplate=self.boilerplate)
        document = alignment.document
        source = Source(
            rank=named.rank,
            id=document.id,
            title=document.title,
            metadata=document.metadata,
            relation=alignment.relation,
            query_coverage=alignment.query_coverage,
            document_coverage=alignment.document_coverage,
            duplicates=named.duplicates,
            collection=self.index.collection_of(document.id),
        )
        return source, cover_rows(self.empty.rows, evidence.query_side, evidence.side(named.id), alignment.pairs, place)

    def finish(self, sources: Sequence[tuple[Source, Covers]], notes: Sequence[str] = ()) -> Chart:
        """The chart with all its sources."""
        chart = self.empty.with_sources(sources)
        return replace(chart, coverage=self._coverage(chart), notes=tuple(notes))

    def _coverage(self, chart: Chart) -> Coverage:
        passages = (passage for row in chart.rows for own in row.covers for passage in own.passages)
        left_out = () if self.boilerplate else [row.span for row in chart.rows if row.boilerplate]
        words = fold_words(chart.query.text)
        return cover(words, ((passage.kind, passage.query_span) for passage in passages), left_out)
