"""Relevance judgements (qrels), and documents excluded from the ranking of a query; also .gz and .xz.

Judgements are read from TREC files (`query iteration document grade`), from BEIR tables with a header line
(`query-id corpus-id score`) and from such tables without a header. The first line of a file decides which it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from typing import TextIO

from rprs.errors import ReadError, UsageError
from rprs.read.columns import read_columns
from rprs.read.source import find_file

__all__ = ["Exclusions", "Qrels", "find_exclusions", "read_exclusions", "read_pairs", "read_qrels", "write_qrels"]

Qrels = dict[str, dict[str, int]]  # query → document → grade; relevant if above 0
Exclusions = Mapping[str, frozenset[str]]  # query → documents that must not be ranked for it


def read_qrels(path: str | PurePath) -> Qrels:
    """Grades by query and document, in the order of the file. Two different grades for one pair are an error."""
    qrels: Qrels = {}
    width = 0
    for location, columns in read_columns(path, "qrels"):
        if not width:
            width = len(columns)
            if width == 3 and not _is_grade(columns[2]):
                continue  # the header
        if len(columns) != width or width not in (3, 4):
            raise ReadError(
                f"{location}: {len(columns)} columns; judgements have four (query 0 document grade) or three "
                "(query-id corpus-id score), the same number in every line"
            )
        query, document, grade = columns[0], columns[-2], columns[-1]
        if not _is_grade(grade):
            raise ReadError(f"{location}: the grade {grade!r} is not an integer")
        if qrels.setdefault(query, {}).setdefault(document, int(grade)) != int(grade):
            raise ReadError(f"{location}: the document {document} has two different grades for the query {query}")
    return qrels


def _is_grade(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def read_pairs(path: str | PurePath) -> dict[str, frozenset[str]]:
    """Documents by query from a table with the header `query-id corpus-id`, such as `exclude.tsv`."""
    pairs: dict[str, set[str]] = {}
    for number, (location, columns) in enumerate(read_columns(path, "exclusion")):
        if len(columns) != 2:
            raise ReadError(f"{location}: {len(columns)} columns; the table needs two: query-id corpus-id")
        if number:
            pairs.setdefault(columns[0], set()).add(columns[1])
        elif not all("id" in column.lower() for column in columns):
            raise ReadError(f"{location}: the first line must be the header: query-id corpus-id")
    return {query: frozenset(documents) for query, documents in pairs.items()}


def find_exclusions(queries: str | PurePath) -> Path | None:
    """The `exclude.tsv` of the BEIR folder that contains these queries; `queries` is the folder or a file in it."""
    path = Path(queries)
    folder = path if path.is_dir() else path.parent
    if folder != path and find_file(folder / "corpus.jsonl") is None:
        return None
    return find_file(folder / "exclude.tsv")


def read_exclusions(
    exclude: str | PurePath | Mapping[str, Iterable[str]] | None, queries: object = None
) -> dict[str, frozenset[str]]:
    """Documents that must not be ranked, by query: from a table or a mapping, else from the folder of the queries."""
    if exclude is None and isinstance(queries, str | PurePath):
        exclude = find_exclusions(queries)
    if exclude is None:
        return {}
    if isinstance(exclude, str | PurePath):
        return read_pairs(exclude)
    if not isinstance(exclude, Mapping):
        raise UsageError(f"exclude must be a file or a mapping from query ids to document ids. Got {exclude!r:.80}")
    for query, documents in exclude.items():
        if isinstance(documents, str | bytes) or not isinstance(documents, Iterable):
            raise UsageError(f"exclude must map the query {query!r} to a list of document ids. Got {documents!r:.80}")
    return {str(query): frozenset(map(str, documents)) for query, documents in exclude.items()}


def write_qrels(to: TextIO | str | PurePath, qrels: Qrels) -> None:
    """Write judgements in TREC format to a stream or a new file; `read_qrels` reads back the same judgements."""
    for name in (*qrels, *(document for grades in qrels.values() for document in grades)):
        if name.split() != [name]:
            raise UsageError(f"The id {name!r} cannot be written to a qrels file: white space separates its columns")
    lines = (f"{query} 0 {document} {grade}\n" for query, grades in qrels.items() for document, grade in grades.items())
    if isinstance(to, (str, PurePath)):
        with Path(to).open("w", encoding="utf-8") as stream:
            stream.writelines(lines)
    else:
        to.writelines(lines)
