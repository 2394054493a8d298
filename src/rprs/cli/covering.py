"""The verb that shows which parts of a document the best hits cover, and which none of them does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from rprs.charts import SOURCES
from rprs.cli.groups import QueryGroup, RestrictionGroup, SystemGroup, with_groups
from rprs.cli.messages import Messages, counted
from rprs.cli.options import (
    IndexPath,
    NoBoilerplate,
    NoGrouping,
    chosen_format,
)
from rprs.cli.queries import check_index_first
from rprs.cli.searching import EvidenceOptions, open_search
from rprs.errors import UsageError

if TYPE_CHECKING:
    from rprs.charts.values import Chart
    from rprs.results.serialize import About


class ChartFormats(StrEnum):
    """Formats of a coverage chart."""

    table = "table"
    json = "json"
    csv = "csv"
    docx = "docx"


CoveredFile = Annotated[
    str | None,
    typer.Argument(metavar="QUERYFILE", help="Your document: a file, or - for standard input.", show_default=False),
]
Best = Annotated[int, typer.Option("-k", help="The number of sources: the best hits of a search.", min=1)]
SourceIds = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        help="A document of the index to compare with, in place of a search. May be repeated.",
        metavar="ID",
        show_default=False,
    ),
]
AllRows = Annotated[bool, typer.Option("--all", help="Print the chart row by row, and all passages without a source.")]
ChartFile = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="The file to write: .docx for Word, .csv or .json.",
        metavar="FILE",
        show_default="standard output",
    ),
]
ChartFormat = Annotated[
    ChartFormats | None,
    typer.Option("--format", help="The format of the chart.", show_default="table, or that of the file"),
]


@with_groups
def coverage(
    context: typer.Context,
    *,
    path: IndexPath,
    query: CoveredFile = None,
    queries: QueryGroup,
    k: Best = SOURCES,
    sources: SourceIds = None,
    ranking: SystemGroup,
    restrictions: RestrictionGroup,
    no_grouping: NoGrouping = False,
    no_boilerplate: NoBoilerplate = False,
    all_rows: AllRows = False,
    output: ChartFile = None,
    format: ChartFormat = None,
) -> None:
    """Show which parts of a document the best hits cover, and how; and what none of them covers.

    Your document is aligned with each hit: a match is identical (=), reworded (±) or has the same idea (≈). The chart
    has your words, the best source, its words and the kind, by paragraph; in a patent, it has a row for each element of
    a claim. The docx format is a chart for Word.

    Example: rprs coverage cases.rprs brief.pdf

    Example: rprs coverage cases.rprs brief.pdf -o chart.docx

    Example: rprs coverage cases.rprs brief.pdf --source 2016/brown.txt --source 2016/smith.txt --all

    Example: rprs coverage patents.rprs claims.txt -k 5 --format csv > chart.csv
    """
    from rprs.charts.formats import format_of
    from rprs.index.lookup import resolve_id

    check_index_first("coverage", path, query)
    messages: Messages = context.obj
    started = perf_counter()
    chosen = chosen_format(format, output, ChartFormats.table, lambda path: format_of(path).name)
    with open_search(context, path, query) as (searcher, documents, options):
        named = [resolve_id(searcher.index, id) for id in sources] if sources else None
        evidence: EvidenceOptions = {"group": not no_grouping, "boilerplate": not no_boilerplate}
        chart = searcher.coverage(documents, named, k, **options, **evidence)
        about = partial(searcher.about, documents, len(named) if named else k, **options, **evidence)
        _print_chart(chart, about, chosen, output, all_rows)
    for note in chart.notes:
        messages.print(note)
    if output is not None:
        messages.print(f"{output} written")
    size = f"{counted(len(chart.sources), 'source')}, {counted(len(chart.rows), 'row')}"
    messages.print(f"{size} in {perf_counter() - started:.2f} s")


def _print_chart(
    chart: Chart, about: Callable[[], About], format: ChartFormats, output: Path | None, all_rows: bool
) -> None:
    from rprs.charts.formats import CHART_FORMATS
    from rprs.cli.charts import print_chart
    from rprs.cli.output import print_object
    from rprs.files.atomic import write_atomically

    if format is ChartFormats.table:
        if output is not None:
            raise UsageError(f"A table is printed, not written to {output}: choose the format docx, csv or json")
        print_chart(chart, all_rows=all_rows)
    elif output is not None:
        write_atomically(output, CHART_FORMATS[format].write(chart, about()))
    elif format is ChartFormats.json:
        from rprs.charts.serialize import chart_object

        print_object({"about": about().object(), **chart_object(chart)}, lines=False)
    elif format is ChartFormats.csv:
        from rprs.charts.csv_chart import write

        sys.stdout.write(write(chart, about()))
    else:
        sys.stdout.buffer.write(CHART_FORMATS[format].write(chart, about()))
