"""Relevance judgements (qrels), and pairs of a query and a document; also .gz and .xz.

Judgements are read from TREC files (`query iteration document grade`), from BEIR tables with a header line
(`query-id corpus-id score`) and from such tables without one; the first line of a file tells which it is.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterable, Iterator, Mapping
from lzma import LZMAError
from pathlib import Path, PurePath
from typing import TextIO

from rprs.errors import ReadError, UsageError
from rprs.read.source import opened

__all__ = ["Exclusions", "Qrels", "find_exclusions", "read_exclusions", "read_pairs", "read_qrels", "write_qrels"]

Qrels = dict[str, dict[str, int]]  # query → document → grade; relevant if above 0
Exclusions = Mapping[str, frozenset[str]]  # query → documents that must not be ranked for it


def read_qrels(path: str | PurePath) -> Qrels:
    """The grades by query and document, in the order of the file. A pair with two different grades is an error."""
    found: Qrels = {}
    width = 0
    for where, columns in _rows(path, "judgements"):
        if not width:
            width = len(columns)
            if width == 3 and not _is_grade(columns[2]):
                continue  # the header
        if len(columns) != width or width not in (3, 4):
            raise ReadError(
                f"{where}: {len(columns)} columns; judgements have four (query 0 document grade) or three "
                "(query-id corpus-id score), the same in all lines"
            )
        query, document, grade = columns[0], columns[-2], columns[-1]
        if not _is_grade(grade):
            raise ReadError(f"{where}: the grade {grade!r} is not a whole number")
        if found.setdefault(query, {}).setdefault(document, int(grade)) != int(grade):
            raise ReadError(f"{where}: the document {document} has two grades for the query {query}")
    return found


def read_pairs(path: str | PurePath) -> dict[str, frozenset[str]]:
    """The documents by query of a table with the header `query-id corpus-id`, such as the `exclude.tsv` of a folder."""
    found: dict[str, set[str]] = {}
    for number, (where, columns) in enumerate(_rows(path, "pairs")):
        if len(columns) != 2:
            raise ReadError(f"{where}: {len(columns)} columns; pairs have two: query-id corpus-id")
        if number:
            found.setdefault(columns[0], set()).add(columns[1])
        elif not all("id" in column.lower() for column in columns):
            raise ReadError(f"{where}: the first line must be the header: query-id corpus-id")
    return {query: frozenset(documents) for query, documents in found.items()}


def find_exclusions(queries: str | PurePath) -> Path | None:
    """The `exclude.tsv` of the BEIR folder that holds these queries; `queries` is the folder or a file in it."""
    path = Path(queries)
    folder = path if path.is_dir() else path.parent
    if folder != path and not any((folder / f"corpus.jsonl{end}").is_file() for end in _ENDINGS):
        return None
    return next((file for end in _ENDINGS if (file := folder / f"exclude.tsv{end}").is_file()), None)


_ENDINGS = ("", ".gz", ".xz")


def read_exclusions(
    exclude: str | PurePath | Mapping[str, Iterable[str]] | None, queries: object = None
) -> dict[str, frozenset[str]]:
    """What must not be ranked for which query: from a table, from a mapping, or else from beside the queries."""
    if exclude is None and isinstance(queries, str | PurePath):
        exclude = find_exclusions(queries)
    if exclude is None:
        return {}
    if isinstance(exclude, str | PurePath):
        return read_pairs(exclude)
    if not isinstance(exclude, Mapping):
        raise UsageError(f"exclude must be a file or a mapping from query ids to document ids. Got {exclude!r:.80}")
    return {str(query): frozenset(map(str, documents)) for query, documents in exclude.items()}


def write_qrels(to: TextIO | str | PurePath, qrels: Qrels) -> None:
    """Write judgements as TREC has them, to a stream or to a new file, so that `read_qrels` gives them back."""
    for name in (*qrels, *(document for grades in qrels.values() for document in grades)):
        if name.split() != [name]:
            raise UsageError(f"The id {name!r} cannot stand in judgements: their columns are parted by white space")
    lines = (f"{query} 0 {document} {grade}\n" for query, grades in qrels.items() for document, grade in grades.items())
    if isinstance(to, (str, PurePath)):
        with Path(to).open("w", encoding="utf-8") as stream:
            stream.writelines(lines)
    else:
        to.writelines(lines)


def _is_grade(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def _rows(path: str | PurePath, what: str) -> Iterator[tuple[str, list[str]]]:
    """Where each line that is not blank stands, and its columns."""
    try:
        with opened(Path(path)) as stream, io.TextIOWrapper(stream, encoding="utf-8-sig") as lines:
            for at, line in enumerate(lines, 1):
                if line.strip():
                    yield f"{path}:{at}", line.split()
    except FileNotFoundError as error:
        raise ReadError(f"{path}: no such file of {what}") from error
    except (OSError, EOFError, ValueError, LZMAError, zlib.error) as error:
        raise ReadError(f"{path}: cannot be read as {what}: {error}") from error
