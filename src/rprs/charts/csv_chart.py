"""A coverage chart as a table of comma-separated values: one line for each sentence or element of a claim."""

from __future__ import annotations

from rprs.charts.values import Chart, Cover, Row, Source
from rprs.document import Value
from rprs.results.csv_table import csv_text
from rprs.results.one_line import one_line, provenance
from rprs.results.passages import describe_pair
from rprs.results.serialize import About

__all__ = ["COLLECTION", "HEADER", "NONE", "write"]

NONE = "none"  # the kind of a row that no source covers
HEADER = (
    *("group", "row", "query_passage", "source", "source_title", "source_passage", "kind", "similarity"),
    *("words_covered", "words", "boilerplate", "other_sources"),
)
COLLECTION = "source_collection"  # a last column, where several collections were searched


def write(chart: Chart, about: About | None = None) -> str:
    """A comment with the provenance of the chart, if it is known, the names of the columns, and one line per row.

    As in the table of hits, a text that a spreadsheet would run as a formula begins with an apostrophe.
    """
    comment = f"# rprs: {provenance(about)}" if about else ""
    if not any(source.collection for source in chart.sources):
        return csv_text(HEADER, (_cells(chart, row) for row in chart.rows), comment)
    rows = ([*_cells(chart, row), _collection(chart, row)] for row in chart.rows)
    return csv_text((*HEADER, COLLECTION), rows, comment)


def _cells(chart: Chart, row: Row) -> list[Value]:
    first: list[Value] = [chart.groups[row.group].label, row.label, one_line(row.text)]
    best = row.best
    if best is None:
        return [*first, None, None, None, NONE, None, 0, row.words, row.boilerplate, None]
    source = chart.sources[best.source]
    others = "; ".join(_other(chart.sources[cover.source], cover) for cover in row.covers[1:])
    found: list[Value] = [source.id, source.title, one_line(best.text), best.kind, best.similarity, best.words]
    return [*first, *found, row.words, row.boilerplate or best.boilerplate, others or None]


def _other(source: Source, cover: Cover) -> str:
    where = f" in {source.collection}" if source.collection else ""
    return f"{source.id}{where} ({describe_pair(cover)})"


def _collection(chart: Chart, row: Row) -> str | None:
    return chart.sources[row.best.source].collection if row.best else None
