"""COLIEE task 1, legal case retrieval: which cases does this case cite?

Since 2021, a split is a folder of case files and a JSON file of labels, `{"000012.txt": ["000345.txt", ...]}`:

    task1_train_files_2022/000012.txt ...    task1_train_labels_2022.json
    task1_test_files_2022/000055.txt ...     task1_test_labels_2022.json

All case files are candidates, including the queries. If both splits share one folder, as in 2021, both use it.
In 2020, each query is a folder with its own candidates, `{"001": ["058.txt", ...]}`:

    task1_test_2020/001/base_case.txt, candidates/001.txt ... 200.txt    task1_test_2020_labels.json

There, candidate 058 of query 001 is the document 001_058, and the candidates of other queries are excluded. Otherwise
an id is the file name without `.txt`. Texts are not changed: paragraphs start with [1], and FRAGMENT_SUPPRESSED stands
for a citation. For French sentences, see `rprs.collection.language`.
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

_DEEPEST = 3  # levels of subfolders that are searched
_CASE = re.compile(r"\d+\.txt")
_YEAR = re.compile(r"(?<!\d)20\d\d(?!\d)")


@dataclass(frozen=True)
class Coliee(Component):
    """A split of COLIEE task 1. `year` is needed if the folder contains several years.

    `french` decides how French sentences are treated; `translate` calls `translator`, named as
    `package.module:function`, with the list of French sentences of a case, and expects as many in English.
    """

    name: ClassVar[str] = "coliee"
    kinds: ClassVar[tuple[Kind, ...]] = ("collection",)

    folder: str
    year: int | None = None
    split: Literal["train", "test"] = "test"
    french: French = "keep"
    translator: str | None = None

    def __post_init__(self) -> None:
        translate = self.french == "translate"
        rule = "package.module:function with french=translate" if translate else "omitted without french=translate"
        require(self, "translator", translate == (self.translator is not None), rule)

    def documents(self, skipped: Report = ignore) -> Iterator[Document]:
        """The candidates."""
        return self._cases(self._candidates(), skipped)

    def queries(self, skipped: Report = ignore) -> Iterator[Document]:
        """The cases with labels, or those whose labels are to be predicted."""
        cases, labels = self._layout(), _labels(self._labels_file())
        if _is_pooled(cases):
            return self._cases({id: cases / id / "base_case.txt" for id in labels}, skipped)
        return self._cases({id: cases / f"{id}.txt" for id in labels}, skipped)

    def qrels(self) -> Qrels:
        """The noticed cases, with grade 1."""
        path, pooled = self._labels_file(), _is_pooled(self._layout())
        labels = _labels(path)
        if not any(labels.values()):
            raise ReadError(f"{path}: no case has labels; the labels of the {self.split} split are in another file")
        return {query: {f"{query}_{id}" if pooled else id: 1 for id in noticed} for query, noticed in labels.items()}

    def excluded(self) -> Mapping[str, frozenset[str]]:
        """In 2020, the candidates of other queries; otherwise none."""
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
        """The folder with the candidates of a query, in 2020."""
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
        cases = self._choose(folders, [self.split]) or self._choose(folders, []) or self._choose(folders, [other])
        return cases or self._fail(f"the folder task1_{self.split}_files_{self.year or 2021}")

    def _labels_file(self) -> Path:
        _, labels = _survey(Path(self.folder))
        real = [path for path in labels if "no_label" not in path.name]
        file = self._choose(real, [self.split]) or self._choose(labels, [self.split])
        return file or self._fail(f"the file task1_{self.split}_labels_{self.year or 2021}.json")

    def _choose(self, paths: Sequence[Path], splits: list[str]) -> Path | None:
        """The path of the year whose name contains these splits and no other."""
        names = {path: path.relative_to(self.folder).as_posix() for path in paths}
        of_splits = [path for path, name in names.items() if [s for s in ("train", "test") if s in name] == splits]
        of_year = (
            [path for path in of_splits if str(self.year) in _YEAR.findall(names[path])] if self.year else of_splits
        )
        unmarked = [path for path in of_splits if not _YEAR.search(names[path])]
        matches = of_year or unmarked
        if len(matches) > 1:
            both = f"{names[matches[0]]} and {names[matches[1]]}"
            raise UsageError(f"{self.folder} has both {both}: choose one with year=...")
        return matches[0] if matches else None

    def _fail(self, what: str) -> Path:
        raise missing(
            f"{what} of COLIEE task 1",
            Path(self.folder),
            "the organisers (https://coliee.org; they require a signed agreement)",
            "the original case files and labels",
        )


class _Others(Mapping[str, frozenset[str]]):
    """By query, the candidates of all other queries, computed on access, since there are millions of pairs."""

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
    """The folders with cases, and the label files, below a folder."""
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
    """Whether each query has its own subfolder, as in 2020."""
    return next(folder.glob("*/base_case.txt"), None) is not None


def _case_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if _CASE.fullmatch(path.name))


def _labels(path: Path) -> dict[str, list[str]]:
    """The noticed cases by query, without `.txt`."""
    content = loaded(lambda: json.loads(path.read_bytes()), str(path))
    if _is_list_of_names(content):  # queries without labels
        content = {str(query): [] for query in content}
    if not isinstance(content, dict) or not all(map(_is_list_of_names, content.values())):
        raise ReadError(f"{path}: not a label file: it must be an object with a list of cases for each query")
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
    return document(item.id, item.id, text) if text.strip() else Skipped(item.id, "all sentences are French")
