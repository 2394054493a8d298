"""What the functions of the library accept as documents, queries and judgements: files, values, data frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from numbers import Integral
from pathlib import Path, PurePath
from typing import Any

from rprs.document import Document
from rprs.errors import ReadError, UsageError
from rprs.read.files import Report, ignore, read, read_queries
from rprs.read.qrels import Qrels, read_qrels

__all__ = ["Documents", "Judgements", "Queries", "read_documents", "read_judgements", "read_query_set"]

Record = Document | str | Mapping[str, Any]
Documents = str | PurePath | Iterable[Record | PurePath] | Mapping[str, str] | Any  # Any: a pandas DataFrame
Queries = Documents
Judgements = str | PurePath | Mapping[str, Mapping[str, int]] | Any  # Any: a DataFrame, or an iterable of judgements

_ID, _TEXT = ("id", "_id", "doc_id", "docno", "query_id", "qid"), ("text", "body", "contents", "query")


def read_documents(documents: Documents, *, strict: bool = False, skipped: Report = ignore) -> Iterator[Document]:
    """Documents from files and folders, or from values.

    A path, or a list of paths, is read. A mapping has texts by id. In a list, a string is a text (its id is its
    position, from 0) and a mapping is a record with "text" and, optionally, "id", "title" and metadata; a pandas
    DataFrame is a table of such records.
    """
    if isinstance(documents, str | PurePath):
        return read(documents, strict=strict, skipped=skipped)
    items = iter(_items(documents))
    first = next(items, None)
    everything = chain([] if first is None else [first], items)
    if isinstance(first, str):
        texts = list(everything)
        return read([*map(str, texts)], strict=strict, skipped=skipped) if _are_paths(texts) else _values(texts)
    if isinstance(first, PurePath):
        return read(list(everything), strict=strict, skipped=skipped)
    return _values(everything)


def read_query_set(queries: Queries, *, strict: bool = False, skipped: Report = ignore) -> Iterator[Document]:
    """Queries from a file of records, a folder or a BEIR folder, or from the same values as documents."""
    if isinstance(queries, str | PurePath):
        return read_queries(queries, strict=strict, skipped=skipped)
    if isinstance(queries, Document):
        return iter([queries])
    return _values(_items(queries))


def read_judgements(qrels: Judgements) -> Qrels:
    """Judgements from a file, from the test split of a BEIR folder, or from values as ir_measures takes them.

    Those are a dict of dicts, a DataFrame with query_id, doc_id and relevance, or an iterable of such records.
    """
    if isinstance(qrels, str | PurePath):
        return read_qrels(_judgement_file(Path(qrels)))
    if isinstance(qrels, Mapping):
        rows: Iterable[tuple[Any, Any, Any]] = (
            (query, document, grade) for query, grades in qrels.items() for document, grade in _grades(grades)
        )
    else:
        rows = (_judgement(row) for row in _items(qrels))
    judged: Qrels = {}
    for query, document, grade in rows:
        judged.setdefault(_text_id(query), {})[_text_id(document)] = _grade(grade)
    return judged


# ---------------------------------------------------------------------------- documents


def _items(values: Any) -> Iterable[Any]:
    """The records of a DataFrame, the texts of a mapping by id, or the items of an iterable."""
    if isinstance(values, Mapping):
        return [{"id": id, "text": text} if isinstance(text, str) else text for id, text in values.items()]
    if hasattr(values, "to_dict") and hasattr(values, "columns"):
        records: list[Any] = values.to_dict("records")
        return records
    if isinstance(values, bytes) or not isinstance(values, Iterable):
        raise UsageError(f"Expected a path, a list of texts, records or documents, or a DataFrame. Got {values!r:.80}")
    return values


def _are_paths(texts: list[Any]) -> bool:
    """Whether strings in a list name files; neither all nor none is an error, since a mistyped path is not a text."""
    existing = [
        isinstance(text, str) and len(text) < 1000 and "\n" not in text and Path(text).exists() for text in texts
    ]
    if all(existing):
        return True
    missing = next(text for text, exists in zip(texts, existing, strict=True) if not exists)
    if any(existing) or (isinstance(missing, str) and len(missing.split()) == 1 and "." in missing.strip(".")):
        raise ReadError(
            f"{missing!r:.80}: no such file or folder (for a text that looks like a path, give {{'text': ...}})"
        )
    return False


def _values(items: Iterable[Any]) -> Iterator[Document]:
    for position, item in enumerate(items):
        if isinstance(item, Document):
            yield item
        elif isinstance(item, str):
            yield Document(str(position), item)
        elif isinstance(item, Mapping):
            yield _record(item, position)
        else:
            raise UsageError(f"Item {position} must be a text, a record or a Document. Got {item!r:.80}")


def _record(record: Mapping[str, Any], position: int) -> Document:
    id_key = next((key for key in _ID if key in record), None)
    text_key = next((key for key in _TEXT if key in record), None)
    if text_key is None:
        raise UsageError(
            f"Record {position} has no text: it needs the key 'text'. Its keys are {', '.join(map(str, record))}"
        )
    if not isinstance(record[text_key], str):
        raise UsageError(f"The text of record {position} must be a string. Got {record[text_key]!r:.80}")
    nested = record.get("metadata")
    metadata = dict(nested) if isinstance(nested, Mapping) else {}
    used = {id_key, text_key, "title", *(("metadata",) if isinstance(nested, Mapping) else ())}
    metadata |= {str(key): value for key, value in record.items() if key not in used and not _is_missing(value)}
    title = record.get("title")
    id = str(position) if id_key is None else record[id_key]
    return Document(id, record[text_key], "" if title is None or _is_missing(title) else str(title), metadata)


def _is_missing(value: Any) -> bool:
    """NaN, as data frames mark a missing value."""
    return isinstance(value, float) and value != value


# ---------------------------------------------------------------------------- judgements


def _judgement_file(path: Path) -> Path:
    if not path.is_dir():
        return path
    files = [file for file in sorted((path / "qrels").glob("*.tsv*")) if file.is_file()]
    chosen = next((file for file in files if file.name.startswith("test.tsv")), None)
    if chosen is None:
        splits = ", ".join(file.name for file in files) or "none"
        raise ReadError(f"{path} has no judgements qrels/test.tsv: name one of its files ({splits})")
    return chosen


def _grades(grades: Any) -> Iterable[tuple[Any, Any]]:
    if not isinstance(grades, Mapping):
        raise UsageError(f"Judgements map queries to documents with grades. Got {grades!r:.80}")
    return grades.items()


def _judgement(row: Any) -> tuple[Any, Any, Any]:
    names = ("query_id", "doc_id", "relevance")
    if isinstance(row, Mapping):
        keys = [
            next((key for key in options if key in row), None)
            for options in (names[:1] + ("qid",), names[1:2] + ("docno",), names[2:] + ("label",))
        ]
        if None not in keys:
            return tuple(row[key] for key in keys)  # type: ignore[return-value]
    elif all(hasattr(row, name) for name in names):
        return row.query_id, row.doc_id, row.relevance
    raise UsageError(f"A judgement has query_id, doc_id and relevance. Got {row!r:.80}")


def _text_id(value: Any) -> str:
    return str(value)


def _grade(value: Any) -> int:
    if isinstance(value, bool) or (
        not isinstance(value, Integral) and not (isinstance(value, float) and value.is_integer())
    ):
        raise UsageError(f"A grade must be a whole number. Got {value!r} instead.")
    return int(value)
