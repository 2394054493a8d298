"""What the functions of the library accept as documents, queries and judgements: files, values, data frames."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from numbers import Integral
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from rprs.document import Document
from rprs.errors import ReadError, UsageError
from rprs.read.encoding import clean
from rprs.read.files import Report, ignore, read, read_queries
from rprs.read.qrels import Qrels, read_qrels
from rprs.read.records import find_column, record_document
from rprs.read.source import USUAL, find_file
from rprs.read.topics import query_fields

__all__ = ["Documents", "Judgements", "Queries", "read_documents", "read_judgements", "read_query_set"]

Record = Document | str | Mapping[str, Any]
Documents = str | PurePath | Iterable[Record | PurePath] | Mapping[str, str] | Any  # Any: a pandas DataFrame
Queries = Documents
Judgements = str | PurePath | Mapping[str, Mapping[str, int]] | Any  # Any: a DataFrame, or an iterable of judgements

_FIELDS = query_fields(USUAL)


def read_documents(documents: Documents, *, strict: bool = False, skipped: Report = ignore) -> Iterator[Document]:
    """Documents from files and folders, or from values.

    A path, or a list of paths, is read. A mapping has texts or records by id. In a list, a string is a text (its id is
    its position, from 0) and a mapping is a record with the columns of a JSON lines file: a text and, optionally, an
    id, a title and metadata. A pandas DataFrame is a table of such records.
    """
    return _read_any(documents, lambda paths: read(paths, strict=strict, skipped=skipped))


def read_query_set(queries: Queries, *, strict: bool = False, skipped: Report = ignore) -> Iterator[Document]:
    """Queries from a file of records or topics, a folder or a BEIR folder, or from the same values as documents."""

    def read_files(paths: list[Any]) -> Iterator[Document]:
        return chain.from_iterable([read_queries(path, strict=strict, skipped=skipped) for path in paths])

    return _distinct(_read_any(queries, read_files))


def read_judgements(qrels: Judgements) -> Qrels:
    """Judgements from a file, from the test split of a BEIR folder, or from values.

    Values are, as in ir_measures, a dict of dicts, a DataFrame with query_id, doc_id and relevance, or an iterable of
    such records; the column names of PyTerrier (qid, docno, label) and BEIR (query-id, corpus-id, score) work too.
    """
    if isinstance(qrels, str | PurePath):
        return read_qrels(_judgement_file(Path(qrels)))
    judgements: Qrels = {}
    for query, document, grade in _judgements(qrels):
        query_id, document_id = _id(query, "query"), _id(document, "document")
        grades = judgements.setdefault(query_id, {})
        if grades.setdefault(document_id, _grade(grade)) != _grade(grade):
            raise UsageError(f"The document {document_id!r} has two different grades for the query {query_id!r}")
    return judgements


def _shorten(value: object) -> str:
    """A value for a message of one line."""
    return " ".join(repr(value).split())[:80]


# ---------------------------------------------------------------------------- documents


def _read_any(values: Any, read_files: Callable[[list[Any]], Iterator[Document]]) -> Iterator[Document]:
    """The documents of paths or values; the first item of an iterable decides which of the two it contains."""
    if isinstance(values, str | PurePath):
        return read_files([values])
    items = iter([values] if isinstance(values, Document) else _items(values))
    head = list(islice(items, 1))
    everything = chain(head, items)
    first = head[0] if head else None
    if isinstance(first, PurePath):
        return read_files(list(everything))
    if isinstance(first, str):
        texts = list(everything)
        return read_files(texts) if _are_paths(texts) else _documents(texts)
    return _documents(everything)


def _items(values: Any) -> Iterable[Any]:
    """The records of a DataFrame, the records of a mapping by id, or the items of an iterable."""
    if isinstance(values, Mapping):
        if find_column(_with_text_keys(values), _FIELDS.id) and find_column(_with_text_keys(values), _FIELDS.text):
            raise UsageError(f"A single record must be in a list: [{{...}}]. Got {_shorten(values)}")
        return (_named(id, value) for id, value in values.items())
    if (frame := _as_records(values)) is not None:
        return frame
    if isinstance(values, bytes) or not isinstance(values, Iterable):
        raise UsageError(
            f"Expected a path, a list of texts, records or documents, or a DataFrame. Got {_shorten(values)}"
        )
    return values


def _named(id: Any, value: Any) -> Any:
    if isinstance(value, str):
        return {"id": id, "text": value}
    return {**value, "id": id} if isinstance(value, Mapping) else value


def _as_records(values: Any) -> list[dict[Any, Any]] | None:
    """The rows of a pandas DataFrame, with its index if that is a column of ids; None for any other value."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(values, pandas.DataFrame):
        return None
    if values.index.name is not None:
        values = values.reset_index()
    if not values.columns.is_unique:
        raise UsageError(f"The columns of a DataFrame must be distinct. Got {', '.join(map(str, values.columns))}")
    records: list[dict[Any, Any]] = values.to_dict("records")
    return records


def _are_paths(texts: list[Any]) -> bool:
    """Whether the strings in a list are paths; one that does not exist, or looks like a mistyped path, is an error."""
    existing = [isinstance(text, str) and os.path.exists(text) for text in texts]  # noqa: PTH110  # never raises
    if all(existing):
        return True
    missing = next(text for text, exists in zip(texts, existing, strict=True) if not exists)
    like_path = isinstance(missing, str) and len(missing.split()) == 1 and any(mark in missing[:-1] for mark in "./")
    if any(existing) or like_path:
        raise ReadError(
            f"{_shorten(missing)}: no such file or folder (for a text that looks like a path, use {{'text': ...}})"
        )
    return False


def _documents(items: Iterable[Any]) -> Iterator[Document]:
    for position, item in enumerate(items):
        if isinstance(item, Document):
            yield item
        elif isinstance(item, str):
            if not item.strip():
                raise UsageError(f"Text {position} is empty")
            yield Document(str(position), clean(item))
        elif isinstance(item, Mapping):
            yield _document(item, position)
        else:
            raise UsageError(f"Item {position} must be a text, a record or a Document. Got {_shorten(item)}")


def _document(mapping: Mapping[Any, Any], position: int) -> Document:
    """The document of a record, by the rules for records in files."""
    record = {key: _plain(value) for key, value in _with_text_keys(mapping).items()}
    if encoded := next((key for key, value in record.items() if isinstance(value, bytes)), None):
        raise UsageError(f"Record {position}: the column {encoded!r} is bytes; decode it to text")
    id_column = find_column(record, _FIELDS.id)
    if id_column is not None and record[id_column] is not None:
        record[id_column] = _id(record[id_column], "record")
    try:
        document = record_document(record, str(position), _FIELDS)
    except ReadError as error:
        raise UsageError(f"Record {position}: {' '.join(str(error).split())}") from error
    metadata = {key: value for key, value in document.metadata.items() if value is not None}
    return Document(clean(document.id), clean(document.text), clean(document.title), metadata)


def _with_text_keys(mapping: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(key): value for key, value in mapping.items()}


def _plain(value: Any) -> Any:
    """A value in JSON types: None for missing values, Python numbers for NumPy ones, text for other objects."""
    if isinstance(value, np.generic):
        value = value.item()
    if (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float) and not math.isfinite(value))
    ):
        return None
    if isinstance(value, str | int | float | bytes):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return [_plain(inner) for inner in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _distinct(documents: Iterator[Document]) -> Iterator[Document]:
    """The queries of a set, whose ids must differ, since the rankings are stored by id."""
    ids: set[str] = set()
    for document in documents:
        if document.id in ids:
            raise UsageError(f"Two queries have the same id {document.id!r}")
        ids.add(document.id)
        yield document


# ---------------------------------------------------------------------------- judgements

_COLUMNS = {
    "query_id": ("query_id", "qid", "query-id"),
    "doc_id": ("doc_id", "docno", "corpus-id"),
    "relevance": ("relevance", "label", "score"),
}


def _judgement_file(path: Path) -> Path:
    if not path.is_dir():
        return path
    file = find_file(path / "qrels" / "test.tsv")
    if file is None:
        files = ", ".join(file.name for file in sorted((path / "qrels").glob("*.tsv*"))) or "none"
        raise ReadError(f"{path} has no judgements qrels/test.tsv: name one of its files ({files})")
    return file


def _judgements(qrels: Any) -> Iterator[tuple[Any, Any, Any]]:
    """(query, document, grade) of each judgement."""
    if isinstance(qrels, Mapping):
        for query, grades in qrels.items():
            if not isinstance(grades, Mapping):
                raise UsageError(f"Judgements must map {query!r} to grades by document. Got {_shorten(grades)}")
            yield from ((query, document, grade) for document, grade in grades.items())
        return
    rows = _as_records(qrels)
    if rows is None and (isinstance(qrels, bytes) or not isinstance(qrels, Iterable)):
        raise UsageError(
            f"Expected a qrels file, grades by query and document, or a DataFrame of judgements. Got {_shorten(qrels)}"
        )
    for row in qrels if rows is None else rows:
        yield _judgement(row)


def _judgement(row: Any) -> tuple[Any, Any, Any]:
    if isinstance(row, Mapping):
        keys = [next((name for name in names if name in row), None) for names in _COLUMNS.values()]
        if None not in keys:
            query, document, grade = (row[key] for key in keys)
            return query, document, grade
    elif all(hasattr(row, name) for name in _COLUMNS):
        return row.query_id, row.doc_id, row.relevance
    raise UsageError(f"A judgement must have query_id, doc_id and relevance. Got {_shorten(row)}")


def _id(value: Any, what: str) -> str:
    if (isinstance(value, str) and value.strip()) or (isinstance(value, Integral) and not isinstance(value, bool)):
        return str(value)
    raise UsageError(f"The id of a {what} must be a text or an integer. Got {_shorten(value)}")


def _grade(value: Any) -> int:
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, bool) or not (isinstance(number, int) or (isinstance(number, float) and number.is_integer())):
        raise UsageError(f"A grade must be an integer. Got {_shorten(value)}")
    return int(number)
