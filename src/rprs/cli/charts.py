"""Coverage charts on a terminal: the sources, the passages without a source and, if asked for, all rows."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rprs.alignment.describe import coverage_percentages, joint_coverage_sentence
from rprs.charts.describe import describe_cover, gap_sentence
from rprs.charts.values import Chart, Row
from rprs.cli.evidence import CELL, STYLES, bar, shorten
from rprs.cli.output import collection_suffix, stdout_console, title_suffix
from rprs.results.one_line import one_line
from rprs.results.wording import CAUTION

GAPS = 20  # passages without --all


def print_chart(chart: Chart, *, all_rows: bool) -> None:
    """The sources with their coverage, then what none of them covers."""
    console = stdout_console()
    console.print(f"{joint_coverage_sentence(chart.coverage, len(chart.sources))}.")
    console.print(f"{gap_sentence(chart)}.\n")
    console.print(_sources(chart))
    console.print()
    if all_rows:
        console.print(_rows(chart))
    _print_gaps(console, chart, all_rows)
    if not all_rows:
        console.print("--all prints the chart row by row; -o chart.docx writes it for Word.")
    console.print(CAUTION)


def _sources(chart: Chart) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for name in ("#", "of yours", "=", "±", "≈"):
        table.add_column(name, justify="left" if name == "of yours" else "right")
    table.add_column("document", overflow="fold")
    for source in chart.sources:
        shares = [f"{share}%" for share in coverage_percentages(source.query_coverage)[1:]]
        document = Text.assemble(
            (source.id, "bold cyan"), title_suffix(source.id, source.title), collection_suffix(source.collection)
        )
        table.add_row(str(source.rank), bar(source.query_coverage), *shares, document)
    return table


def _rows(chart: Chart) -> Table:
    table = Table(box=None, padding=(0, 2, 1, 0), header_style="dim", expand=True, pad_edge=False)
    table.add_column("kind", min_width=12, ratio=1)
    table.add_column("your words", ratio=2)
    table.add_column("best source", ratio=1, overflow="fold")
    table.add_column("its words", ratio=2)
    for group in chart.groups:
        table.add_row(Text(group.label, "bold"))
        for row in chart.rows_of(group):
            table.add_row(*_cells(chart, row), style="dim" if row.boilerplate else "")
    return table


def _cells(chart: Chart, row: Row) -> list[Text]:
    yours = Text(shorten(one_line(row.text), CELL))
    if chart.groups[row.group].claim is not None:
        yours = Text.assemble((f"{row.label} ", "dim"), yours)
    best = row.best
    if best is None:
        return [Text("boilerplate") if row.boilerplate else Text("no source", "bold red"), yours, Text(), Text()]
    kind = Text(describe_cover(row, best), style="" if row.boilerplate else STYLES[best.kind])
    source = chart.sources[best.source]
    name = Text.assemble(source.id, collection_suffix(source.collection))
    return [kind, yours, name, Text(shorten(one_line(best.text), CELL))]


def _print_gaps(console: Console, chart: Chart, all_rows: bool) -> None:
    passages = [one_line(chart.query.text[slice(*span)]) for span in chart.passages_without_source()]
    if passages:
        console.print(Text("Without a source", "bold"))
    for passage in passages if all_rows else passages[:GAPS]:
        console.print(Text(f"  {shorten(passage, max(console.width - 2, 20))}"), soft_wrap=True)
    if not all_rows and len(passages) > GAPS:
        console.print(f"and {len(passages) - GAPS:,} more passages; --all prints them all.")
