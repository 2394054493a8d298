"""The Wikipedia collections of SDR (Ginzburg et al. 2021): wines and video games.

    raw_data  (or wines.txt, video_games.txt)    CSV with the columns Title and Sections; the sections are a Python
                                                 list of (heading, text)
    gt                                           a pickle: title → {similar title: how often experts named it}

A pickle can run code. It is read here by an unpickler that creates only plain containers, texts and numbers. An id is
the title with `_` for white space. The text is the title and the texts of the sections, without their headings, as in
SDR. The grade of a title is how often experts named it.
"""

from __future__ import annotations

import ast
import csv
import html
import io
import pickle
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rprs.collection.source import Report, distinct, document, identifier, missing
from rprs.document import Document
from rprs.errors import ReadError
from rprs.read import Qrels, Skipped, ignore
from rprs.read import source as limits
from rprs.read.encoding import lines
from rprs.read.source import opened
from rprs.spec import Component, Kind

__all__ = ["Wikipedia", "safe_pickle"]

_ARTICLES = ("raw_data", "wines.txt", "video_games.txt", "raw_data.csv", "wines.csv", "video_games.csv")
_HARMLESS = {
    **{("builtins", kind.__name__): kind for kind in (dict, list, set, frozenset, int)},
    **{("collections", kind.__name__): kind for kind in (Counter, OrderedDict, defaultdict)},
}
_RENAMED = {("__builtin__", "long"): ("builtins", "int")}  # names in pickles of Python 2


@dataclass(frozen=True)
class Wikipedia(Component):
    """The articles of one domain; the queries are those for which experts named similar articles."""

    name: ClassVar[str] = "wikipedia"
    kinds: ClassVar[tuple[Kind, ...]] = ("collection",)

    folder: str

    def documents(self, skipped: Report = ignore) -> Iterator[Document]:
        """All articles, including the queries."""
        return distinct(_articles(self._file(*_ARTICLES)), skipped)

    def queries(self, skipped: Report = ignore) -> Iterator[Document]:
        """The articles that have judgements."""
        return distinct(_judged(self.documents(), self.qrels()), skipped)

    def qrels(self) -> Qrels:
        """The counts in the ground truth."""
        path = self._file("gt")
        content = safe_pickle(path)
        if not isinstance(content, dict):
            raise ReadError(f"{path}: not a ground truth, which is a dict of titles, but {type(content).__name__}")
        return {_id(title): _grades(similar, path) for title, similar in content.items()}

    def excluded(self) -> Mapping[str, frozenset[str]]:
        """No documents besides the query itself."""
        return {}

    def files(self) -> Sequence[Path]:
        """The articles and the ground truth."""
        return [self._file(*_ARTICLES), self._file("gt")]

    def _file(self, *names: str) -> Path:
        existing = next((path for name in names if (path := Path(self.folder, name)).is_file()), None)
        if existing is None:
            raise missing(
                f"{names[0]}, which a Wikipedia collection of SDR has",
                Path(self.folder),
                "https://github.com/microsoft/SDR (the articles: https://zenodo.org/record/4812960 for wines, "
                "https://zenodo.org/record/4812962 for video games)",
                "raw_data (or wines.txt, video_games.txt) and gt",
            )
        return existing


def _id(title: object) -> str:
    """The id of a title; the released files write both `&amp;` and `&`."""
    return identifier(html.unescape(str(title)))


def _judged(articles: Iterator[Document], qrels: Qrels) -> Iterator[Document | Skipped]:
    remaining = dict.fromkeys(qrels)
    for article in articles:
        if article.id in remaining:
            del remaining[article.id]
            yield article
    yield from (Skipped(id, "judged, but not among the readable articles") for id in remaining)


def _grades(similar: object, path: Path) -> dict[str, int]:
    if isinstance(similar, dict) and all(isinstance(count, int) for count in similar.values()):
        return {_id(title): int(count) for title, count in similar.items()}
    if isinstance(similar, (list, tuple, set, frozenset)):
        titles = sorted(map(_id, similar)) if isinstance(similar, (set, frozenset)) else map(_id, similar)
        return dict.fromkeys(titles, 1)
    raise ReadError(f"{path}: not a ground truth: the titles similar to one are a dict with counts, or a list")


# ---------------------------------------------------------------------------- articles


def _articles(path: Path) -> Iterator[Document | Skipped]:
    csv.field_size_limit(limits.LIMIT)
    with opened(path) as raw, lines(raw) as stream:
        table = csv.reader(stream)
        try:
            header = next(table, [])
            if len(header) < 2:
                raise ReadError(f"{path}: the columns must be Title and Sections; the first line is {header}")
            for row in table:
                if row:
                    yield _article(f"{path}:{table.line_num}", row)
        except csv.Error as error:
            raise ReadError(f"{path}:{table.line_num}: not valid CSV: {error}") from error


def _article(where: str, row: list[str]) -> Document | Skipped:
    try:
        sections = ast.literal_eval(row[1])
        texts = [section[1] for section in sections if section[1].strip()]
    except (ValueError, SyntaxError, TypeError, AttributeError, LookupError, MemoryError, RecursionError):
        return Skipped(where, "its sections are not a list of (heading, text)")
    title = html.unescape(row[0])
    return document(where, title, "\n\n".join(texts), title)


# ---------------------------------------------------------------------------- pickles


class _Unpickler(pickle.Unpickler):
    """Creates containers, texts and numbers; any other name in the pickle is rejected without being imported."""

    def find_class(self, module: str, name: str) -> Any:
        module, name = _RENAMED.get((module, name), (module.replace("__builtin__", "builtins"), name))
        if (module, name) not in _HARMLESS:
            raise ReadError(f"it refers to {module}.{name}, which is not plain data")
        return _HARMLESS[module, name]


def safe_pickle(path: Path) -> Any:
    """The plain data in a pickle. One that would run code, or is damaged, is a `ReadError` that says why."""
    try:
        return _Unpickler(io.BytesIO(path.read_bytes())).load()
    except ReadError as error:
        raise ReadError(f"{path}: rejected, {error}") from error
    # A damaged pickle can raise almost any exception; no code has been run.
    except Exception as error:
        raise ReadError(f"{path}: not a pickle of plain data: {type(error).__name__}: {error}") from error
