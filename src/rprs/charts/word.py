"""A coverage chart as a Word file: the sources, then a table of your words, the best source, its words and the kind.

Rows are written as XML: python-docx needs seconds for a table of a thousand rows, and a long brief has five thousand.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from rprs.alignment.describe import coverage_percentages, joint_coverage_sentence
from rprs.alignment.values import Kind, Span
from rprs.charts.describe import describe_cover, gap_sentence
from rprs.charts.values import Chart, Cover, Passage, Row, Source
from rprs.results.names import title_of
from rprs.results.one_line import one_line, provenance
from rprs.results.passages import SIGNS, pieces_of
from rprs.results.serialize import About
from rprs.results.wording import CAUTION

if TYPE_CHECKING:
    from docx.document import Document as WordDocument

__all__ = ["NO_SOURCE", "write"]

NO_SOURCE = "No source"
OTHERS = 5  # further sources that are named in a row
# The colours of the web interface and of the report.
TINTS: dict[Kind, str] = {"identical": "CDF1D3", "reworded": "F7E4BD", "same idea": "D9E6FB"}
GAP, COMMON, GROUP, HEAD, QUIET = "FBE6DC", "ECEAE4", "E5EDF4", "1F4B73", "5F6168"
_NO_XML = dict.fromkeys((0xFFFE, 0xFFFF))  # the only other characters that XML does not allow
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
    _set_page(document)
    name = _plain(title_of(chart.query))
    document.core_properties.title = f"Coverage of {name}"[:255]
    document.core_properties.author = "rprs"
    if about:
        document.core_properties.created = datetime.fromisoformat(about.date).replace(tzinfo=None)
    document.add_heading(f"Coverage of {name}", 0)
    document.add_paragraph(_summary(chart))
    document.add_heading("Sources", 1)
    _add_table(document, (700, 7600, 1700, 1600, 1600, 1800), _source_rows(chart))
    document.add_heading("Chart", 1)
    document.add_paragraph(_LEGEND)
    _add_table(document, _WIDTHS, _chart_rows(chart))
    _add_gaps(document, chart)
    document.add_paragraph(CAUTION)
    if about:
        _add_small(document, f"Made by rprs: {_plain(provenance(about))}")
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def _summary(chart: Chart) -> str:
    return f"{joint_coverage_sentence(chart.coverage, len(chart.sources))}. {gap_sentence(chart)}."


def _set_page(document: WordDocument) -> None:
    """Landscape, with narrow margins, and smaller letters than those of a text."""
    from docx.enum.section import WD_ORIENT
    from docx.shared import Cm, Pt

    section = document.sections[0]
    section.orientation = WD_ORIENT.LANDSCAPE
    section.page_width, section.page_height = Cm(29.7), Cm(21)
    section.left_margin = section.right_margin = Cm(1.6)
    section.top_margin = section.bottom_margin = Cm(1.6)
    document.styles["Normal"].font.size = Pt(9.5)
    document.styles["Title"].font.size = Pt(20)


def _add_small(document: WordDocument, text: str) -> None:
    from docx.shared import Pt, RGBColor

    run = document.add_paragraph().add_run(text)
    run.font.size, run.font.color.rgb = Pt(7.5), RGBColor.from_string(QUIET)


def _add_gaps(document: WordDocument, chart: Chart) -> None:
    document.add_heading("Without a source", 1)
    passages = [_plain(chart.query.text[slice(*span)]) for span in chart.passages_without_source()]
    bullet = document.styles["List Bullet"]  # looked up once: there may be thousands of passages
    for passage in passages:
        document.add_paragraph(passage, style=bullet)
    if not passages:
        document.add_paragraph("Every sentence has a counterpart, but for boilerplate.")


# ---------------------------------------------------------------------------- tables

Cell = tuple[str, str]  # its runs as XML, and its colour


def _source_rows(chart: Chart) -> Iterator[str]:
    yield _head("No.", "Document", "Of yours", "Identical", "Reworded", "Same idea")
    for source in chart.sources:
        shares = [f"{share}%" for share in coverage_percentages(source.query_coverage)]
        cells = (str(source.rank), _source_name(source), *shares)
        yield _row([(_run(cell), "") for cell in cells])


def _source_name(source: Source) -> str:
    title, more = " ".join(source.title.split()), len(source.duplicates)
    name = source.id if title in ("", source.id) else f"{title} ({source.id})"
    return f"{name}, and {more:,} near duplicate{'' if more == 1 else 's'}" if more else name


def _chart_rows(chart: Chart) -> Iterator[str]:
    yield _head("Your words", "Best source", "Its words", "Kind")
    for group in chart.groups:
        yield _row([(_run(group.label, bold=True), GROUP)], span=len(_WIDTHS), with_next=True)
        for row in chart.rows_of(group):
            yield _row(list(_cells(chart, row)))


def _cells(chart: Chart, row: Row) -> Iterator[Cell]:
    best = row.best
    label = _run(f"{row.label}  ", colour=QUIET) if chart.groups[row.group].claim else ""
    gap = GAP if row.is_gap else ""
    yield label + _run(row.text), gap
    if best is None:
        yield _run(NO_SOURCE if row.is_gap else "", bold=True), gap
        yield "", gap
        yield _run("boilerplate" if row.boilerplate else "none"), gap or COMMON
        return
    yield _run(_best_name(chart, best)) + _others(chart, row), ""
    yield _source_words(best), ""
    yield _run(describe_cover(row, best)), COMMON if best.boilerplate else TINTS[best.kind]


def _best_name(chart: Chart, cover: Cover) -> str:
    source = chart.sources[cover.source]
    return f"{source.rank}. {one_line(source.title) or source.id}"


def _others(chart: Chart, row: Row) -> str:
    """The ranks of the other sources of a row."""
    ranks = [f"{chart.sources[cover.source].rank} {SIGNS[cover.kind]}" for cover in row.covers[1:]]
    more = f", and {len(ranks) - OTHERS} more" if len(ranks) > OTHERS else ""
    return _run(f" (also {', '.join(ranks[:OTHERS])}{more})", colour=QUIET) if ranks else ""


def _source_words(cover: Cover) -> str:
    """The passages of a source; words that differ from yours are underlined."""
    runs: list[str] = []
    for passage in cover.distinct_passages:
        if runs:
            runs.append(_run(" … "))
        runs += [_run(piece.text, underlined=piece.changed) for piece in pieces_of(passage.text, *_changed(passage))]
    return "".join(runs)


def _changed(passage: Passage) -> tuple[int, list[Span]]:
    return passage.document_span[0], [change.document_span for change in passage.changes]


# ---------------------------------------------------------------------------- XML


def _add_table(document: WordDocument, widths: Sequence[int], rows: Iterable[str]) -> None:
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls

    columns = "".join(f'<w:gridCol w:w="{width}"/>' for width in widths)
    edges = "".join(
        f'<w:{edge} w:val="single" w:sz="4" w:space="0" w:color="B8B4A8"/>'
        for edge in ("top", "left", "bottom", "right", "insideH", "insideV")
    )
    margins = "".join(f'<w:{edge} w:w="80" w:type="dxa"/>' for edge in ("left", "right"))
    properties = (
        f'<w:tblPr><w:tblW w:w="{sum(widths)}" w:type="dxa"/><w:tblBorders>{edges}</w:tblBorders>'
        f'<w:tblLayout w:type="fixed"/><w:tblCellMar>{margins}</w:tblCellMar></w:tblPr>'
    )
    table: Any = parse_xml(f"<w:tbl {nsdecls('w')}>{properties}<w:tblGrid>{columns}</w:tblGrid>{''.join(rows)}</w:tbl>")
    document.element.body.insert_element_before(table, "w:sectPr")


def _head(*names: str) -> str:
    """A first row that is repeated on every page."""
    cells = [(_run(name, bold=True, colour="FFFFFF"), HEAD) for name in names]
    return _row(cells, properties="<w:tblHeader/>")


def _row(cells: Sequence[Cell], *, span: int = 1, properties: str = "", with_next: bool = False) -> str:
    """A row that no page break divides, and none separates it from the next `with_next`."""
    listed = "".join(_cell(*cell, span, with_next) for cell in cells)
    return f"<w:tr><w:trPr><w:cantSplit/>{properties}</w:trPr>{listed}</w:tr>"


def _cell(runs: str, colour: str, span: int, with_next: bool) -> str:
    width = f'<w:gridSpan w:val="{span}"/>' if span > 1 else ""
    shade = f'<w:shd w:val="clear" w:color="auto" w:fill="{colour}"/>' if colour else ""
    spacing = '<w:spacing w:before="40" w:after="40" w:line="240" w:lineRule="auto"/>'
    paragraph = f"<w:pPr>{'<w:keepNext/>' if with_next else ''}{spacing}</w:pPr>"
    return f"<w:tc><w:tcPr>{width}{shade}</w:tcPr><w:p>{paragraph}{runs}</w:p></w:tc>"


def _run(text: str, *, bold: bool = False, underlined: bool = False, colour: str = "") -> str:
    """Text in one style, without characters that XML forbids and without line breaks; blanks at its ends are kept."""
    if not text:
        return ""
    clean = _plain(text)
    kept = f"{' ' * text[:1].isspace()}{clean}{' ' * (text[-1:].isspace() and bool(clean))}"
    styles = (
        "<w:b/>" if bold else "",
        f'<w:color w:val="{colour}"/>' if colour else "",
        '<w:u w:val="single"/>' if underlined else "",
    )
    return f'<w:r><w:rPr>{"".join(styles)}</w:rPr><w:t xml:space="preserve">{escape(kept)}</w:t></w:r>'


def _plain(text: str) -> str:
    return one_line(text).translate(_NO_XML)
