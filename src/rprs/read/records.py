"""Records → documents: JSON lines, JSON and CSV or TSV, with columns for id, title, text and metadata.

The title is put before the text, so that it is searched too, and kept as the label. Every other column is
metadata; an object in the column `metadata` gives its own keys; what is nested deeper is kept as JSON text.
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

__all__ = ["read_csv", "read_json", "read_jsonl", "read_tsv"]


# ---------------------------------------------------------------------------- one record


def _column(record: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """The record's own spelling of the first of some columns that it has."""
    spelled = {key.strip().lower(): key for key in reversed(list(record))}
    return next((spelled[name.lower()] for name in names if name.lower() in spelled), None)


def _text_column(record: Mapping[str, Any], fields: Fields) -> str:
    column = _column(record, fields.text)
    if column is None:
        has = ", ".join(record) or "none"
        raise ReadError(f"no text: looked for the columns {', '.join(fields.text)}; it has {has}")
    return column


def _string(value: Any, what: str) -> str:
    """Several texts are paragraphs of one; a number does as an id or a title."""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "\n\n".join(value)
    if value is None:
        return ""
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return str(value)
    raise ReadError(f"its {what} is not a text but {json.dumps(value, ensure_ascii=False)[:40]}")


def _document(record: Any, number: int, source: Source) -> Document:
    """A record as a document, or a `ReadError` that says what is wrong with it."""
    if not isinstance(record, dict):
        raise ReadError(f"not a record with columns but {json.dumps(record, ensure_ascii=False)[:40]}")
    id_column, title_column = _column(record, source.fields.id), _column(record, source.fields.title)
    text_column = _text_column(record, source.fields)
    id = f"{source.id}#{number}" if id_column is None else _string(record[id_column], "id").strip()
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
    """JSON lines: one record a line. The file is never in memory as a whole."""
    with lines(source.stream) as stream:
        number = 0
        for at, line in enumerate(_limited(stream), 1):
            if not line.strip():
                continue
            number += 1
            try:
                yield _document(_parsed(line.rstrip()), number, source)
            except ReadError as error:
                yield Skipped(f"{source.path}:{at}", str(error))


def read_json(source: Source) -> Iterator[Document | Skipped]:
    """A list of records, or one record."""
    content = _parsed(source.text())
    for number, record in enumerate(content if isinstance(content, list) else [content], 1):
        try:
            yield _document(record, number, source)
        except ReadError as error:
            yield Skipped(f"{source.path}#{number}", str(error))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}" if error.lineno > 1 else f"column {error.colno}"
        hint = "; one record a line is .jsonl" if error.msg == "Extra data" and error.lineno > 1 else ""
        raise ReadError(f"not JSON: {error.msg} at {place}{hint}") from error
    except RecursionError as error:
        raise ReadError("not JSON that can be read: nested too deeply") from error
    except ValueError as error:
        raise ReadError(f"not JSON that can be read: {error}") from error


def read_csv(source: Source) -> Iterator[Document | Skipped]:
    """A table with a header line, separated by comma, semicolon or tab, whichever gives the most columns."""
    with lines(source.stream) as stream:
        yield from _rows(source, stream, ",;\t")


def read_tsv(source: Source) -> Iterator[Document | Skipped]:
    """A table with a header line, separated by tabs."""
    with lines(source.stream) as stream:
        yield from _rows(source, stream, "\t")


def _rows(source: Source, stream: TextIO, delimiters: str) -> Iterator[Document | Skipped]:
    csv.field_size_limit(limits.LIMIT)
    content = _limited(stream)
    first = next(content, "")
    delimiter = max(delimiters, key=lambda mark: len(next(csv.reader([first], delimiter=mark), [])))
    # Strict, for an unclosed quote would swallow the rest of the file without a word.
    table = csv.reader(chain([first], content), delimiter=delimiter, strict=True)
    header = [name.strip() for name in next(table)]
    _text_column(dict.fromkeys(header), source.fields)
    for number in count(1):
        at = table.line_num + 1
        try:
            row = next(table, None)
            if row is None:
                return
            if row:
                yield _typed(_document(_record(header, row), number, source))
        except ReadError as error:
            yield Skipped(f"{source.path}:{at}", str(error))
        except csv.Error as error:
            yield Skipped(f"{source.path}:{at}", f"not CSV: {error}; is a quote missing?")
            if "limit" in str(error):  # in the middle of a cell: what follows is not rows
                return


def _typed(document: Document) -> Document:
    """With numbers for the metadata that look like numbers: in a table, all is text."""
    return replace(document, metadata={key: scalar(str(value)) for key, value in document.metadata.items()})


def _record(header: list[str], row: list[str]) -> dict[str, Any]:
    if len(row) > len(header):
        raise ReadError(f"{len(row)} cells under {len(header)} columns: is a quote missing?")
    cells = dict(zip(header, row, strict=False))
    return {name: cells.get(name, "") for name in header}


def _limited(stream: TextIO) -> Iterator[str]:
    """The lines of a file, none of which may be longer than a document may be."""
    while line := stream.readline(limits.LIMIT + 1):
        if len(line) > limits.LIMIT:
            raise ReadError(f"a line longer than {limits.LIMIT / 2**20:.0f} MB")
        yield line
