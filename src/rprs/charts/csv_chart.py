"""A coverage chart as a table of comma-separated values: one line for each sentence or element of a claim."""

from __future__ import annotations

from rprs.charts.values import Chart, Row
from rprs.document import Value
from rprs.results.csv_table import csv_text
from rprs.results.one_line import one_line, provenance
from rprs.results.passages import describe_pair
from rprs.results.serialize import About

__all__ = ["HEADER", "NONE", "write"]

NONE = "none"  # the kind of a row that no source covers
HEADER = (
    *("group", "row", "query_passage", "source", "source_title", "source_passage", "kind", "similarity"),
    *("words_covered", "words", "boilerplate", "other_sources"),
)


def write(chart: Chart, about: About | None = None) -> str:
    """A comment with the provenance of the chart, if it is known, the names of the columns, and one line per row.

    As in the table of hits, a text that a spreadsheet would run as a formula begins with an apostrophe.
    """
    comment = f"# rprs: {provenance(about)}" if about else ""
    return csv_text(HEADER, (_cells(chart, row) for row in chart.rows), comment)


def _cells(chart: Chart, row: Row) -> list[Value]:
    first: list[Value] = [chart.groups[row.group].label, row.label, one_line(row.text)]
    best = row.best
    if best is None:
        return [*first, None, None, None, NONE, None, 0, row.words, row.boilerplate, None]
    source = chart.sources[best.source]
    others = "; ".join(f"{chart.sources[cover.source].id} ({describe_pair(cover)})" for cover in row.covers[1:])
    found: list[Value] = [source.id, source.title, one_line(best.text), best.kind, best.similarity, best.words]
    return [*first, *found, row.words, row.boilerplate or best.boilerplate, others or None]
