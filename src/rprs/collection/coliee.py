"""COLIEE task 1, legal case retrieval: which cases does this case cite?

From 2021 on, a split is a folder of case files and a JSON of labels, `{"000012.txt": ["000345.txt", ...]}`:

    task1_train_files_2022/000012.txt ...    task1_train_labels_2022.json
    task1_test_files_2022/000055.txt ...     task1_test_labels_2022.json

All case files are candidates, the queries among them. If there is one folder for both splits, as in 2021, both use it.
In 2020 each query is a folder with candidates of its own, `{"001": ["058.txt", ...]}`:

    task1_test_2020/001/base_case.txt, candidates/001.txt ... 200.txt    task1_test_2020_labels.json

Candidate 058 of query 001 is the document 001_058 there, and the candidates of other queries are excluded. Otherwise an
id is the file's name without `.txt`. Texts stay as they are, with [1] before paragraphs and FRAGMENT_SUPPRESSED where
a citation stood; for French sentences see `rprs.collection.language`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from rprs.collection.language import French, treatment
from rprs.collection.source import Report, distinct, document, loaded, missing, one
from rprs.document import Document
from rprs.errors import ReadError, UsageError
from rprs.read import Qrels, Skipped, ignore
from rprs.read.text import read_text
from rprs.spec import Component, Kind, require

__all__ = ["Coliee"]

_DEEPEST = 3  # folders below the collection's that are looked into
_CASE = re.compile(r"\d+\.txt")
_YEAR = re.compile(r"(?<!\d)20\d\d(?!\d)")


@dataclass(frozen=True)
class Coliee(Component):
    """A split of COLIEE task 1. `year` chooses where the folder holds several years.

    `french` says what becomes of French sentences; `translate` goes through the callable `translator`, named as
    `package.module:function`, which gets a case's French sentences as a list and returns as many in English.
    """

    name: ClassVar[str] = "coliee"
    kinds: ClassVar[tuple[Kind, ...]] = ("collection",)

    folder: str
    year: int | None = None
    split: Literal["train", "test"] = "test"
    french: French = "keep"
    translator: str | None = None

    def __post_init__(self) -> None:
        wanted = self.french == "translate"
        what = "package.module:function with french=translate" if wanted else "left out without french=translate"
        require(self, "translator", wanted == (self.translator is not None), what)

    def documents(self, skipped: Report = ignore) -> Iterator[Document]:
        """The candidates."""
        return self._cases(self._candidates(), skipped)

    def queries(self, skipped: Report = ignore) -> Iterator[Document]:
        """The cases that have labels, or that labels are wanted for."""
        cases, labels = self._layout(), _labels(self._labels_file())
        if _is_pooled(cases):
            return self._cases({id: cases / id / "base_case.txt" for id in labels}, skipped)
        return self._cases({id: cases / f"{id}.txt" for id in labels}, skipped)

    def qrels(self) -> Qrels:
        """The noticed cases, with grade 1."""
        path, pooled = self._labels_file(), _is_pooled(self._layout())
        labels = _labels(path)
        if not any(labels.values()):
            raise ReadError(f"{path}: no case is labelled; the labels of the {self.split} split are in another file")
        return {query: {f"{query}_{id}" if pooled else id: 1 for id in noticed} for query, noticed in labels.items()}

    def excluded(self) -> Mapping[str, frozenset[str]]:
        """In 2020 the candidates of other queries; else nothing."""
        if not _is_pooled(self._layout()):
            return {}
        pools: dict[str, list[str]] = {}
        for id in self._candidates():
            pools.setdefault(id.partition("_")[0], []).append(id)
        return _Others(pools)

    def files(self) -> Sequence[Path]:
        """The labels and all cases."""
        return [self._labels_file(), *sorted({*self._candidates().values(), *self._bases()})]

    def _candidates(self) -> dict[str, Path]:
        cases = self._layout()
        if not _is_pooled(cases):
            return {path.stem: path for path in _case_files(cases)}
        return {
            f"{base.parent.name}_{path.stem}": path for base in self._bases() for path in _case_files(self._own(base))
        }

    def _own(self, base: Path) -> Path:
        """The folder of a query's own candidates, in 2020."""
        folder = base.with_name("candidates")
        return folder if folder.is_dir() else self._fail(f"the folder {folder.relative_to(self.folder)}")

    def _bases(self) -> list[Path]:
        return sorted(self._layout().glob("*/base_case.txt"))

    def _cases(self, paths: Mapping[str, Path], skipped: Report) -> Iterator[Document]:
        treated = treatment(self.french, self.translator)
        return distinct((_treated(one(read_text, path, id), treated) for id, path in paths.items()), skipped)

    def _layout(self) -> Path:
        """The folder with the cases of the split."""
        other = "train" if self.split == "test" else "test"
        folders, _ = _survey(Path(self.folder))
        found = self._chosen(folders, [self.split]) or self._chosen(folders, []) or self._chosen(folders, [other])
        return found or self._fail(f"the folder task1_{self.split}_files_{self.year or 2021}")

    def _labels_file(self) -> Path:
        _, labels = _survey(Path(self.folder))
        real = [path for path in labels if "no_label" not in path.name]
        found = self._chosen(real, [self.split]) or self._chosen(labels, [self.split])
        return found or self._fail(f"the file task1_{self.split}_labels_{self.year or 2021}.json")

    def _chosen(self, paths: Sequence[Path], splits: list[str]) -> Path | None:
        """The one path of the year that names these splits and no other."""
        named = {path: path.relative_to(self.folder).as_posix() for path in paths}
        fitting = [path for path, name in named.items() if [s for s in ("train", "test") if s in name] == splits]
        of_year = [path for path in fitting if str(self.year) in _YEAR.findall(named[path])] if self.year else fitting
        unmarked = [path for path in fitting if not _YEAR.search(named[path])]
        found = of_year or unmarked
        if len(found) > 1:
            both = f"{named[found[0]]} and {named[found[1]]}"
            raise UsageError(f"{self.folder} has both {both}: say with year=... which is meant")
        return found[0] if found else None

    def _fail(self, what: str) -> Path:
        raise missing(
            f"{what} of COLIEE task 1",
            Path(self.folder),
            "the organisers (https://coliee.org; they ask for a signed agreement)",
            "the case files and labels as they come",
        )


class _Others(Mapping[str, frozenset[str]]):
    """By query, the candidates of all other queries: put together when asked for, since there are millions of pairs."""

    def __init__(self, pools: Mapping[str, Sequence[str]]) -> None:
        self._pools = pools

    def __getitem__(self, query: str) -> frozenset[str]:
        own = set(self._pools[query])
        return frozenset(id for pool in self._pools.values() for id in pool if id not in own)

    def __iter__(self) -> Iterator[str]:
        return iter(self._pools)

    def __len__(self) -> int:
        return len(self._pools)


def _survey(root: Path) -> tuple[list[Path], list[Path]]:
    """The folders with cases under a folder, and the files of labels."""
    folders: list[Path] = []
    labels: list[Path] = []
    for place, names, files in os.walk(root):
        path = Path(place)
        names.sort()
        labels += [path / file for file in sorted(files) if file.endswith(".json") and "label" in file]
        if _is_pooled(path) or any(map(_CASE.fullmatch, files)):
            folders.append(path)
            names.clear()
        elif len(path.relative_to(root).parts) >= _DEEPEST:
            names.clear()
    return folders, labels


def _is_pooled(folder: Path) -> bool:
    """Whether each query has its own folder here, as in 2020."""
    return next(folder.glob("*/base_case.txt"), None) is not None


def _case_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if _CASE.fullmatch(path.name))


def _labels(path: Path) -> dict[str, list[str]]:
    """The noticed cases by query, without `.txt`."""
    content = loaded(lambda: json.loads(path.read_bytes()), str(path))
    if _is_list_of_names(content):  # queries that wait for their labels
        content = {str(query): [] for query in content}
    if not isinstance(content, dict) or not all(map(_is_list_of_names, content.values())):
        raise ReadError(f"{path}: not labels, which are an object with a list of cases for each query")
    return {
        query.removesuffix(".txt"): [str(id).removesuffix(".txt") for id in noticed]
        for query, noticed in content.items()
    }


def _is_list_of_names(noticed: object) -> bool:
    return isinstance(noticed, list) and all(isinstance(id, str | int) for id in noticed)


def _treated(item: Document | Skipped, treat: Callable[[str], str]) -> Document | Skipped:
    if isinstance(item, Skipped):
        return item
    text = treat(item.text)
    return document(item.id, item.id, text) if text.strip() else Skipped(item.id, "all of it is French")
