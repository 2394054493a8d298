"""BEIR folders: `corpus.jsonl`, `queries.jsonl`, `qrels/<split>.tsv`, and our `exclude.tsv`; also .gz and .xz.

`exclude.tsv` (header `query-id corpus-id`) names documents that must not be ranked for a query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rprs.collection.source import Report, missing
from rprs.document import Document
from rprs.errors import ReadError
from rprs.read import Qrels, ignore, read, read_pairs, read_qrels, read_queries
from rprs.spec import Component, Kind

__all__ = ["Beir"]

_MAKERS = "its makers (https://github.com/beir-cellar/beir lists many)"


@dataclass(frozen=True)
class Beir(Component):
    """A BEIR folder. The judgements are those of a split, or of any file that `judgements` names."""

    name: ClassVar[str] = "beir"
    kinds: ClassVar[tuple[Kind, ...]] = ("collection",)
    paths: ClassVar[tuple[str, ...]] = ("folder", "judgements")

    folder: str
    split: str = "test"
    judgements: str | None = None

    def documents(self, skipped: Report = ignore) -> Iterator[Document]:
        """The same as `rprs index` reads from the folder."""
        return read(self._file("corpus.jsonl"), skipped=skipped)

    def queries(self, skipped: Report = ignore) -> Iterator[Document]:
        """The same as `rprs run` reads from the folder."""
        return read_queries(self._file("queries.jsonl"), skipped=skipped)

    def qrels(self) -> Qrels:
        """The judgements of the split, or of the file that is given."""
        return read_qrels(self._judged())

    def excluded(self) -> Mapping[str, frozenset[str]]:
        """The pairs of `exclude.tsv`, if there is one."""
        path = self._present("exclude.tsv")
        return read_pairs(path) if path else {}

    def files(self) -> Sequence[Path]:
        """Corpus, queries, judgements and what is excluded."""
        found = [self._file("corpus.jsonl"), self._file("queries.jsonl"), self._judged()]
        exclude = self._present("exclude.tsv")
        return [*found, exclude] if exclude else found

    def _present(self, name: str) -> Path | None:
        paths = (Path(self.folder, name + end) for end in ("", ".gz", ".xz"))
        return next((path for path in paths if path.is_file()), None)

    def _file(self, name: str) -> Path:
        path = self._present(name)
        if path is None:
            raise missing(
                f"{name}, which a BEIR folder has",
                Path(self.folder),
                _MAKERS,
                f"corpus.jsonl, queries.jsonl and qrels/{self.split}.tsv",
            )
        return path

    def _judged(self) -> Path:
        if self.judgements:
            return Path(self.judgements)
        path = self._present(f"qrels/{self.split}.tsv")
        if path is None:
            has = sorted(file.name.split(".tsv")[0] for file in Path(self.folder, "qrels").glob("*.tsv*"))
            if has:
                raise ReadError(f"{self.folder} has no split {self.split!r}: it has {', '.join(has)}")
            return self._file(f"qrels/{self.split}.tsv")
        return path
