"""Excel workbooks (.xlsx, .xls) → one document: the names of the sheets, and a line for each row that is not empty."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time
from typing import Any

from rprs.document import Document, Value
from rprs.read.package import Package
from rprs.read.source import Source
from rprs.read.titles import embedded_title

__all__ = ["read_xls", "read_xlsx"]


def read_xlsx(source: Source, package: Package) -> Document:
    """A workbook is one document, with the values that its formulas had when it was saved."""
    from openpyxl import load_workbook

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about extensions that have no text
        book = load_workbook(io.BytesIO(package.data), read_only=True, data_only=True, keep_links=False)
        sheets = [(sheet.title, sheet.iter_rows(values_only=True)) for sheet in book.worksheets]
        text = _text(sheets)
        book.close()
    title = embedded_title(package.properties.get("title", ""), source, text)
    return Document(source.id, text, title, package.metadata())


def read_xls(source: Source, data: bytes) -> tuple[str, dict[str, Value]]:
    """The text and metadata of an old workbook."""
    import xlrd

    book = xlrd.open_workbook(file_contents=data, logfile=io.StringIO(), on_demand=True)
    text = _text((sheet.name, _rows(book, sheet)) for sheet in book.sheets())
    return text, {"author": book.user_name} if book.user_name else {}


def _rows(book: Any, sheet: Any) -> Iterator[list[Any]]:
    import xlrd

    for number in range(sheet.nrows):
        yield [
            xlrd.xldate_as_datetime(cell.value, book.datemode) if cell.ctype == xlrd.XL_CELL_DATE else cell.value
            for cell in sheet.row(number)
            if cell.ctype != xlrd.XL_CELL_ERROR
        ]


def _text(sheets: Iterable[tuple[str, Iterable[Iterable[Any]]]]) -> str:
    parts: list[str] = []
    for name, rows in sheets:
        lines = [line for row in rows if (line := "\t".join(map(_cell, row)).strip())]
        parts += [name, *lines] if lines else []
    return "\n\n".join(parts)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "minutes")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return " ".join(str(value).split())
