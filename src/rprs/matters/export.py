"""The file formats of a matter's report: Word, HTML, Markdown and CSV."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from rprs.document import Value
from rprs.errors import UsageError
from rprs.matters.report import Entry, MatterReport, Section
from rprs.results.csv_table import condensed_csv
from rprs.results.html_page import html_page
from rprs.results.one_line import describe_details, one_line
from rprs.results.panes import html_text
from rprs.results.word import (
    COMMON,
    MEDIA_TYPE,
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

__all__ = ["MATTER_FORMATS", "MatterFormat", "matter_format_of"]

_OF_SEARCH = ("search", "query", "collection")  # columns of the CSV file that describe a search
_CSV_HEADER = (
    *(*_OF_SEARCH, "rank", "id", "title", "mark", "tags", "note"),
    *("kind", "similarity", "query_passage", "document_passage"),
)
_COLUMNS = ("Rank", "Document", "Mark", "Notes", "Your words", "Its words", "Kind")
_WIDTHS = (700, 2700, 1300, 3000, 3300, 3300, 1000)
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|])")
_STYLE = """body { margin: 2rem auto; max-width: 85rem; padding: 0 1.5rem; color: #1d2126; background: #fffefb;
  font: 1rem/1.5 system-ui, sans-serif; }
h1, h2 { line-height: 1.25; } h2 { margin-top: 2.5rem; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { border: 1px solid #d8d6cf; padding: .4rem .6rem; text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
th { background: #1f4b73; color: #fff; } .aside td { color: #5f6168; } small { color: #5f6168; }
@media print { thead { display: table-header-group; } tr { break-inside: avoid; } }"""


@dataclass(frozen=True, slots=True)
class MatterFormat:
    """A file format; `write` returns the bytes of the file."""

    name: str
    suffix: str
    media_type: str
    write: Callable[[MatterReport], bytes]


# ---------------------------------------------------------------------------- the same in all formats


def _facts(report: MatterReport) -> Iterator[str]:
    matter = report.matter
    yield f"Saved {matter.saved}, revision {matter.revision}"
    if matter.tags:
        yield f"Tags: {', '.join(map(one_line, matter.tags))}"


def _about(section: Section) -> Iterator[str]:
    yield one_line(f"Query: {section.query}. Collection: {section.search.collection.name}")
    if section.settings:
        yield f"Settings: {describe_details(section.settings)}"
    yield from map(one_line, section.notes)


def _cells(entry: Entry) -> tuple[str, ...]:
    """The cells of an entry, in the order of the columns."""
    title, pair = one_line(entry.title), entry.pair
    name = one_line(entry.id) if title in ("", entry.id) else f"{title} ({one_line(entry.id)})"
    notes = " ".join(part for part in (one_line(entry.note), *(f"#{one_line(tag)}" for tag in entry.tags)) if part)
    words = (one_line(pair.query), one_line(pair.document), pair.kind) if pair else ("", "", "")
    return ("" if entry.rank is None else str(entry.rank), name, entry.mark, notes, *words)


# ---------------------------------------------------------------------------- Word


def _word(report: MatterReport) -> bytes:
    import docx

    document = docx.Document()
    set_page(document)
    name = plain(report.matter.name)
    document.core_properties.title, document.core_properties.author = name[:255], "rprs"
    document.add_heading(name, 0)
    for line in _facts(report):
        add_small(document, plain(line))
    for paragraph in report.matter.notes.splitlines():
        document.add_paragraph(plain(paragraph))
    for section in report.sections:
        document.add_heading(plain(section.search.name), 1)
        for line in _about(section):
            document.add_paragraph(plain(line))
        rows = [head_row(*_COLUMNS), *(table_row(list(_word_cells(entry))) for entry in section.entries)]
        add_table(document, _WIDTHS, rows)
    document.add_paragraph()
    document.add_paragraph(CAUTION)
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def _word_cells(entry: Entry) -> Iterator[Cell]:
    for column, text in zip(_COLUMNS, _cells(entry), strict=True):
        tint = TINTS[entry.pair.kind] if column == "Kind" and entry.pair else ""
        yield run(text, bold=column == "Mark"), tint or (COMMON if column == "Mark" and text else "")


# ---------------------------------------------------------------------------- HTML


def _html(report: MatterReport) -> bytes:
    matter = report.matter
    parts = [f"<h1>{html_text(one_line(matter.name))}</h1>"]
    parts += [f"<p><small>{html_text(line)}</small></p>" for line in _facts(report)]
    parts += [f"<p>{html_text(line)}</p>" for line in matter.notes.splitlines() if line.strip()]
    for section in report.sections:
        parts.append(f"<h2>{html_text(one_line(section.search.name))}</h2>")
        parts += [f"<p>{html_text(line)}</p>" for line in _about(section)]
        head = "".join(f'<th scope="col">{name}</th>' for name in _COLUMNS)
        rows = "\n".join(map(_html_row, section.entries))
        parts.append(f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table>")
    body = "\n".join([*parts, f"<p><small>{html_text(CAUTION)}</small></p>"])
    return html_page(matter.name, _STYLE, body).encode("utf-8", "replace")


def _html_row(entry: Entry) -> str:
    look = ' class="aside"' if entry.mark in ("hidden", "not relevant") else ""
    cells = "".join(f'<td dir="auto">{html_text(cell)}</td>' for cell in _cells(entry))
    return f"<tr{look}>{cells}</tr>"


# ---------------------------------------------------------------------------- Markdown and CSV


def _markdown(report: MatterReport) -> bytes:
    matter = report.matter
    lines = [f"# {_escaped(matter.name)}", "", *(line for fact in _facts(report) for line in (_escaped(fact), ""))]
    lines += [line for note in matter.notes.splitlines() for line in (_escaped(note), "")]
    for section in report.sections:
        lines += [f"## {_escaped(section.search.name)}", "", *(f"- {_escaped(line)}" for line in _about(section)), ""]
        lines += [f"| {' | '.join(_COLUMNS)} |", f"|{'---|' * len(_COLUMNS)}"]
        lines += [f"| {' | '.join(map(_escaped, _cells(entry)))} |" for entry in section.entries]
        lines.append("")
    return "\n".join([*lines, _escaped(CAUTION), ""]).encode("utf-8", "replace")


def _escaped(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def _csv(report: MatterReport) -> bytes:
    rows = [_csv_row(section, entry) for section in report.sections for entry in section.entries]
    table = {name: [row[at] for row in rows] for at, name in enumerate(_CSV_HEADER)}
    text = condensed_csv(table, _csv_settings(report), _OF_SEARCH)
    return text.encode("utf-8-sig", "replace")  # spreadsheets need the mark to see UTF-8


def _csv_settings(report: MatterReport) -> dict[str, object]:
    """The matter, and the settings and notes of each search."""
    matter, several = report.matter, len(report.sections) > 1
    settings: dict[str, object] = {"matter": matter.name, "saved": matter.saved, "revision": matter.revision}
    for number, section in enumerate(report.sections, 1):
        name = f"settings of search {number}" if several else "settings"
        lines = [*([describe_details(section.settings)] if section.settings else []), *section.notes]
        if lines:
            settings[name] = ". ".join(lines)
    return settings


def _csv_row(section: Section, entry: Entry) -> list[Value]:
    search, pair = section.search, entry.pair
    own: list[Value] = [one_line(search.name), one_line(section.query), search.collection.name, entry.rank, entry.id]
    own += [one_line(entry.title), entry.mark, "; ".join(entry.tags), entry.note]
    words: list[Value] = [pair.kind, pair.similarity, one_line(pair.query), one_line(pair.document)] if pair else []
    return [*own, *(words or [None] * 4)]


MATTER_FORMATS: Mapping[str, MatterFormat] = {
    format.name: format
    for format in (
        MatterFormat("docx", ".docx", MEDIA_TYPE, _word),
        MatterFormat("html", ".html", "text/html", _html),
        MatterFormat("md", ".md", "text/markdown", _markdown),
        MatterFormat("csv", ".csv", "text/csv", _csv),
    )
}


def matter_format_of(path: str | PurePath) -> MatterFormat:
    """The format that the suffix of a file names."""
    format = MATTER_FORMATS.get(PurePath(path).suffix.lower().removeprefix("."))
    if format is None:
        listed = ", ".join(each.suffix for each in MATTER_FORMATS.values())
        raise UsageError(f"The suffix of an exported matter must be one of {listed}. Got {str(path)!r:.200}")
    return format
