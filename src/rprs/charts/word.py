"""A coverage chart as a Word file: the sources, then a table of your words, the best source, its words and the kind."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from rprs.alignment.describe import coverage_percentages, joint_coverage_sentence
from rprs.alignment.values import Span
from rprs.charts.describe import describe_cover, gap_sentence
from rprs.charts.values import Chart, Cover, Passage, Row, Source
from rprs.results.names import title_of
from rprs.results.one_line import one_line, provenance
from rprs.results.passages import SIGNS, pieces_of
from rprs.results.serialize import About
from rprs.results.word import (
    COMMON,
    GAP,
    GROUP,
    QUIET,
    TINTS,
    Cell,
    add_small,
    add_table,
    head_row,
    plain,
    run,
    set_page,
    table_row,
)
from rprs.results.wording import CAUTION

if TYPE_CHECKING:
    from docx.document import Document as WordDocument

__all__ = ["NO_SOURCE", "write"]

NO_SOURCE = "No source"
OTHERS = 5  # further sources that are named in a row
_WIDTHS = (5100, 2900, 5100, 1900)  # of the columns, in twentieths of a point
_LEGEND = (
    "Identical: the same words; reworded: mostly the same words, with the differing words of the source underlined; "
    "same idea: similar meaning in different words. Where a source covers only a part of a row, the number of words is "
    "given. Numbers of sources are their ranks."
)


def write(chart: Chart, about: About | None = None) -> bytes:
    """The chart as a file for Word and other word processors."""
    import docx

    document = docx.Document()
    set_page(document)
    name = plain(title_of(chart.query))
    document.core_properties.title = f"Coverage of {name}"[:255]
    document.core_properties.author = "rprs"
    if about:
        document.core_properties.created = datetime.fromisoformat(about.date).replace(tzinfo=None)
    document.add_heading(f"Coverage of {name}", 0)
    document.add_paragraph(_summary(chart))
    document.add_heading("Sources", 1)
    add_table(document, (700, 7600, 1700, 1600, 1600, 1800), _source_rows(chart))
    document.add_heading("Chart", 1)
    document.add_paragraph(_LEGEND)
    add_table(document, _WIDTHS, _chart_rows(chart))
    _add_gaps(document, chart)
    document.add_paragraph(CAUTION)
    if about:
        add_small(document, f"Made by rprs: {plain(provenance(about))}")
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def _summary(chart: Chart) -> str:
    return f"{joint_coverage_sentence(chart.coverage, len(chart.sources))}. {gap_sentence(chart)}."


def _add_gaps(document: WordDocument, chart: Chart) -> None:
    document.add_heading("Without a source", 1)
    passages = [plain(chart.query.text[slice(*span)]) for span in chart.passages_without_source()]
    bullet = document.styles["List Bullet"]  # looked up once: there may be thousands of passages
    for passage in passages:
        document.add_paragraph(passage, style=bullet)
    if not passages:
        document.add_paragraph("Every sentence has a counterpart, but for boilerplate.")


# ---------------------------------------------------------------------------- tables


def _source_rows(chart: Chart) -> Iterator[str]:
    yield head_row("No.", "Document", "Of yours", "Identical", "Reworded", "Same idea")
    for source in chart.sources:
        shares = [f"{share}%" for share in coverage_percentages(source.query_coverage)]
        cells = (str(source.rank), _source_name(source), *shares)
        yield table_row([(run(cell), "") for cell in cells])


def _source_name(source: Source) -> str:
    title, more = " ".join(source.title.split()), len(source.duplicates)
    name = source.id if title in ("", source.id) else f"{title} ({source.id})"
    where = f", in {source.collection}" if source.collection else ""
    duplicates = f", and {more:,} near duplicate{'' if more == 1 else 's'}" if more else ""
    return f"{name}{where}{duplicates}"


def _chart_rows(chart: Chart) -> Iterator[str]:
    yield head_row("Your words", "Best source", "Its words", "Kind")
    for group in chart.groups:
        yield table_row([(run(group.label, bold=True), GROUP)], span=len(_WIDTHS), with_next=True)
        for row in chart.rows_of(group):
            yield table_row(list(_cells(chart, row)))


def _cells(chart: Chart, row: Row) -> Iterator[Cell]:
    best = row.best
    label = run(f"{row.label}  ", colour=QUIET) if chart.groups[row.group].claim else ""
    gap = GAP if row.is_gap else ""
    yield label + run(row.text), gap
    if best is None:
        yield run(NO_SOURCE if row.is_gap else "", bold=True), gap
        yield "", gap
        yield run("boilerplate" if row.boilerplate else "none"), gap or COMMON
        return
    yield run(_best_name(chart, best)) + _others(chart, row), ""
    yield _source_words(best), ""
    yield run(describe_cover(row, best)), COMMON if best.boilerplate else TINTS[best.kind]


def _best_name(chart: Chart, cover: Cover) -> str:
    source = chart.sources[cover.source]
    where = f", in {source.collection}" if source.collection else ""
    return f"{source.rank}. {one_line(source.title) or source.id}{where}"


def _others(chart: Chart, row: Row) -> str:
    """The ranks of the other sources of a row."""
    ranks = [f"{chart.sources[cover.source].rank} {SIGNS[cover.kind]}" for cover in row.covers[1:]]
    more = f", and {len(ranks) - OTHERS} more" if len(ranks) > OTHERS else ""
    return run(f" (also {', '.join(ranks[:OTHERS])}{more})", colour=QUIET) if ranks else ""


def _source_words(cover: Cover) -> str:
    """The passages of a source; words that differ from yours are underlined."""
    runs: list[str] = []
    for passage in cover.distinct_passages:
        if runs:
            runs.append(run(" … "))
        runs += [run(piece.text, underlined=piece.changed) for piece in pieces_of(passage.text, *_changed(passage))]
    return "".join(runs)


def _changed(passage: Passage) -> tuple[int, list[Span]]:
    return passage.document_span[0], [change.document_span for change in passage.changes]
