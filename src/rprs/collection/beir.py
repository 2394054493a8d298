"""BEIR folders: `corpus.jsonl`, `queries.jsonl`, `qrels/<split>.tsv` and optionally `exclude.tsv`; also .gz and .xz.

`exclude.tsv` (header `query-id corpus-id`), an addition of rprs, lists documents that must not be ranked for a query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rprs.collection.source import Report, missing, queries_from
from rprs.document import Document
from rprs.errors import ReadError
from rprs.read import Qrels, ignore, read, read_exclusions, read_qrels, read_queries
from rprs.read.qrels import find_exclusions
from rprs.read.source import find_file
from rprs.spec import Component, Kind

__all__ = ["Beir"]

_MAKERS = "its makers (https://github.com/beir-cellar/beir lists many)"


@dataclass(frozen=True)
class Beir(Component):
    """A BEIR folder.

    `judgements` names a file of judgements to use instead of those of the split. `query` names a metadata field of the
    queries whose text is used instead of their own.
    """

    name: ClassVar[str] = "beir"
    kinds: ClassVar[tuple[Kind, ...]] = ("collection",)
    paths: ClassVar[tuple[str, ...]] = ("folder", "judgements")

    folder: str
    split: str = "test"
    judgements: str | None = None
    query: str | None = None

    def documents(self, skipped: Report = ignore) -> Iterator[Document]:
        """The documents that `rprs index` reads from the folder."""
        return read(self._file("corpus.jsonl"), skipped=skipped)

    def queries(self, skipped: Report = ignore) -> Iterator[Document]:
        """The queries that `rprs run` reads from the folder, or the texts of the metadata field `query`."""
        queries = read_queries(self._file("queries.jsonl"), skipped=skipped)
        return queries_from(self.query, queries, skipped) if self.query else queries

    def qrels(self) -> Qrels:
        """The judgements of the split, or of the file `judgements`."""
        return read_qrels(self._qrels_file())

    def excluded(self) -> Mapping[str, frozenset[str]]:
        """The pairs in `exclude.tsv`, if there is one."""
        return read_exclusions(None, self.folder)

    def files(self) -> Sequence[Path]:
        """Corpus, queries, judgements and exclusions."""
        required = [self._file("corpus.jsonl"), self._file("queries.jsonl"), self._qrels_file()]
        exclude = find_exclusions(self.folder)
        return [*required, exclude] if exclude else required

    def _file(self, name: str) -> Path:
        path = find_file(Path(self.folder, name))
        if path is None:
            raise missing(
                f"{name}, which a BEIR folder has",
                Path(self.folder),
                _MAKERS,
                f"corpus.jsonl, queries.jsonl and qrels/{self.split}.tsv",
            )
        return path

    def _qrels_file(self) -> Path:
        if self.judgements:
            return Path(self.judgements)
        path = find_file(Path(self.folder, "qrels", f"{self.split}.tsv"))
        if path is None:
            splits = sorted(file.name.split(".tsv")[0] for file in Path(self.folder, "qrels").glob("*.tsv*"))
            if splits:
                raise ReadError(f"{self.folder} has no split {self.split!r}: it has {', '.join(splits)}")
            return self._file(f"qrels/{self.split}.tsv")
        return path
