"""Tables and texts of Word files.

Rows are written as XML: python-docx needs seconds for a table of a thousand rows, and a long brief has five thousand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from rprs.alignment.values import Kind
from rprs.results.one_line import one_line

if TYPE_CHECKING:
    from docx.document import Document as WordDocument

__all__ = [
    "COMMON",
    "GAP",
    "GROUP",
    "MEDIA_TYPE",
    "QUIET",
    "TINTS",
    "Cell",
    "add_small",
    "add_table",
    "head_row",
    "plain",
    "run",
    "set_page",
    "table_row",
]

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
# The colours of the web interface and of the report.
TINTS: dict[Kind, str] = {"identical": "CDF1D3", "reworded": "F7E4BD", "same idea": "D9E6FB"}
GAP, COMMON, GROUP, HEAD, QUIET = "FBE6DC", "ECEAE4", "E5EDF4", "1F4B73", "5F6168"
_NO_XML = dict.fromkeys((0xFFFE, 0xFFFF))  # the only other characters that XML does not allow

Cell = tuple[str, str]  # its runs as XML, and its colour


def set_page(document: WordDocument) -> None:
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


def add_small(document: WordDocument, text: str) -> None:
    """A paragraph in small, quiet letters."""
    from docx.shared import Pt, RGBColor

    added = document.add_paragraph().add_run(text)
    added.font.size, added.font.color.rgb = Pt(7.5), RGBColor.from_string(QUIET)


def add_table(document: WordDocument, widths: Sequence[int], rows: Iterable[str]) -> None:
    """A table with columns of these widths, in twentieths of a point."""
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


def head_row(*names: str) -> str:
    """A first row that is repeated on every page."""
    cells = [(run(name, bold=True, colour="FFFFFF"), HEAD) for name in names]
    return table_row(cells, properties="<w:tblHeader/>")


def table_row(cells: Sequence[Cell], *, span: int = 1, properties: str = "", with_next: bool = False) -> str:
    """A row that no page break divides, and none separates it from the next `with_next`."""
    listed = "".join(_cell(*cell, span, with_next) for cell in cells)
    return f"<w:tr><w:trPr><w:cantSplit/>{properties}</w:trPr>{listed}</w:tr>"


def _cell(runs: str, colour: str, span: int, with_next: bool) -> str:
    width = f'<w:gridSpan w:val="{span}"/>' if span > 1 else ""
    shade = f'<w:shd w:val="clear" w:color="auto" w:fill="{colour}"/>' if colour else ""
    spacing = '<w:spacing w:before="40" w:after="40" w:line="240" w:lineRule="auto"/>'
    paragraph = f"<w:pPr>{'<w:keepNext/>' if with_next else ''}{spacing}</w:pPr>"
    return f"<w:tc><w:tcPr>{width}{shade}</w:tcPr><w:p>{paragraph}{runs}</w:p></w:tc>"


def run(text: str, *, bold: bool = False, underlined: bool = False, colour: str = "") -> str:
    """Text in one style, without characters that XML forbids and without line breaks; blanks at its ends are kept."""
    if not text:
        return ""
    clean = plain(text)
    kept = f"{' ' * text[:1].isspace()}{clean}{' ' * (text[-1:].isspace() and bool(clean))}"
    styles = (
        "<w:b/>" if bold else "",
        f'<w:color w:val="{colour}"/>' if colour else "",
        '<w:u w:val="single"/>' if underlined else "",
    )
    return f'<w:r><w:rPr>{"".join(styles)}</w:rPr><w:t xml:space="preserve">{escape(kept)}</w:t></w:r>'


def plain(text: str) -> str:
    """A text on one line, without characters that XML forbids."""
    return one_line(text).translate(_NO_XML)
