"""Records → documents: JSON lines, JSON and CSV or TSV, with columns for id, title, text and metadata.

The title is prepended to the text, so that it is searched too, and kept as the label. Every other column is
metadata: an object in the column `metadata` contributes its own keys, and deeper nested values are kept as JSON text.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain, count
from typing import Any, TextIO

from rprs.document import Document, Value
from rprs.errors import ReadError
from rprs.read import source as limits
from rprs.read.encoding import lines
from rprs.read.source import Fields, Skipped, Source
from rprs.read.text import scalar

__all__ = ["bounded_lines", "find_column", "read_csv", "read_json", "read_jsonl", "read_tsv", "record_document", "rows"]

TOO_DEEP = "JSON that cannot be read: nested too deeply"


# ---------------------------------------------------------------------------- one record


def find_column(record: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """The first of some columns that a record has, as the record spells it."""
    spellings = {key.strip().lower(): key for key in reversed(list(record))}
    return next((spellings[name.lower()] for name in names if name.lower() in spellings), None)


def _text_column(record: Mapping[str, Any], fields: Fields) -> str:
    column = find_column(record, fields.text)
    if column is None:
        columns = ", ".join(record) or "none"
        raise ReadError(f"no text: expected one of the columns {', '.join(fields.text)}; the columns are {columns}")
    return column


def _shorten(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=repr)[:40]


def _string(value: Any, what: str) -> str:
    """The text of a cell: a list of texts becomes paragraphs; a number may be an id or a title."""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "\n\n".join(value)
    if value is None:
        return ""
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return str(value)
    raise ReadError(f"its {what} is not a text but {_shorten(value)}")


def record_document(record: Any, default_id: str, fields: Fields) -> Document:
    """The document of a record; `default_id` is used if it has no id column. An invalid record is a `ReadError`."""
    if not isinstance(record, dict):
        raise ReadError(f"not a record with columns but {_shorten(record)}")
    id_column, title_column = find_column(record, fields.id), find_column(record, fields.title)
    text_column = _text_column(record, fields)
    id = default_id if id_column is None else _string(record[id_column], "id").strip()
    if not id:
        raise ReadError(f"its id, in the column {id_column}, is empty")
    title = "" if title_column is None else _string(record[title_column], "title").strip()
    text = _string(record[text_column], "text")
    if title and not text.lstrip().startswith(title):
        text = f"{title}\n\n{text}".rstrip()
    if not text.strip():
        raise ReadError(f"its text, in the column {text_column}, is empty")
    return Document(id, text, title, _metadata(record, {id_column, title_column, text_column}))


def _metadata(record: Mapping[str, Any], used: set[str | None]) -> dict[str, Value]:
    others = {key: value for key, value in record.items() if key not in used}
    inner = others.get("metadata")
    if isinstance(inner, dict):
        del others["metadata"]
        others = {**inner, **others}
    return {key: _value(value) for key, value in others.items() if key}


def _value(value: Any) -> Value:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value


# ---------------------------------------------------------------------------- files of records


def read_jsonl(source: Source) -> Iterator[Document | Skipped]:
    """JSON lines: one record per line. The file is never held in memory as a whole."""
    with lines(source.stream) as stream:
        number = 0
        for line_number, line in enumerate(bounded_lines(stream), 1):
            if not line.strip():
                continue
            number += 1
            try:
                yield record_document(_parse(line.rstrip()), f"{source.id}#{number}", source.fields)
            except ReadError as error:
                yield Skipped(f"{source.path}:{line_number}", str(error))
            except RecursionError:  # a value that can just be read may be too deep to be written
                yield Skipped(f"{source.path}:{line_number}", TOO_DEEP)


def read_json(source: Source) -> Iterator[Document | Skipped]:
    """A list of records, or one record."""
    content = _parse(source.text())
    for number, record in enumerate(content if isinstance(content, list) else [content], 1):
        try:
            yield record_document(record, f"{source.id}#{number}", source.fields)
        except ReadError as error:
            yield Skipped(f"{source.path}#{number}", str(error))
        except RecursionError:
            yield Skipped(f"{source.path}#{number}", TOO_DEEP)


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}" if error.lineno > 1 else f"column {error.colno}"
        hint = "; for one record per line, use .jsonl" if error.msg == "Extra data" and error.lineno > 1 else ""
        raise ReadError(f"not valid JSON: {error.msg} at {place}{hint}") from error
    except RecursionError as error:
        raise ReadError(TOO_DEEP) from error
    except ValueError as error:
        raise ReadError(f"JSON that cannot be read: {error}") from error


def read_csv(source: Source) -> Iterator[Document | Skipped]:
    """A table with a header line, separated by comma, semicolon or tab, whichever gives the most columns."""
    with lines(source.stream) as stream:
        yield from rows(source, bounded_lines(stream), ",;\t")


def read_tsv(source: Source) -> Iterator[Document | Skipped]:
    """A table with a header line, separated by tabs."""
    with lines(source.stream) as stream:
        yield from rows(source, bounded_lines(stream), "\t")


def rows(source: Source, content: Iterator[str], delimiters: str) -> Iterator[Document | Skipped]:
    """The documents of a table: `content` is its lines, of which the first is the header."""
    csv.field_size_limit(limits.LIMIT)
    first = next(content, "")
    delimiter = max(delimiters, key=lambda mark: len(next(csv.reader([first], delimiter=mark), [])))
    # Strict, since an unclosed quote would silently swallow the rest of the file.
    table = csv.reader(chain([first], content), delimiter=delimiter, strict=True)
    header = [name.strip() for name in next(table)]
    _text_column(dict.fromkeys(header), source.fields)
    for number in count(1):
        line_number = table.line_num + 1
        try:
            row = next(table, None)
            if row is None:
                return
            if row:
                yield _typed(record_document(_record(header, row), f"{source.id}#{number}", source.fields))
        except ReadError as error:
            yield Skipped(f"{source.path}:{line_number}", str(error))
        except csv.Error as error:
            yield Skipped(f"{source.path}:{line_number}", f"not valid CSV: {error}; is a quote missing?")
            if "limit" in str(error):  # in the middle of a cell: what follows is not rows
                return


def _typed(document: Document) -> Document:
    """Turn metadata that looks like numbers into numbers: in a table, every cell is text."""
    return replace(document, metadata={key: scalar(str(value)) for key, value in document.metadata.items()})


def _record(header: list[str], row: list[str]) -> dict[str, Any]:
    if len(row) > len(header):
        raise ReadError(f"{len(row)} cells under {len(header)} columns: is a quote missing?")
    cells = dict(zip(header, row, strict=False))
    return {name: cells.get(name, "") for name in header}


def bounded_lines(stream: TextIO) -> Iterator[str]:
    """The lines of a file; a line longer than the largest document is a `ReadError`."""
    while line := stream.readline(limits.LIMIT + 1):
        if len(line) > limits.LIMIT:
            raise ReadError(f"a line longer than {limits.LIMIT / 2**20:.0f} MB")
        yield line
