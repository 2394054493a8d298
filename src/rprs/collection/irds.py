"""Any dataset of the catalogue `ir_datasets`, by its id: `irds(vaswani)`, `irds("beir/scifact/test")`.

What a dataset calls the default text of a document or a query is its text. What has to be downloaded is, by
`ir_datasets` and into its own folder, when it is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rprs.collection.source import Report, document, identifier, sifted
from rprs.document import Document
from rprs.errors import MissingExtra, ReadError, UsageError
from rprs.read import Qrels, ignore
from rprs.spec import Component, Kind

__all__ = ["IrDatasets"]


@dataclass(frozen=True)
class IrDatasets(Component):
    """A dataset of `ir_datasets`."""

    name: ClassVar[str] = "irds"
    kinds: ClassVar[tuple[Kind, ...]] = ("collection",)
    paths: ClassVar[tuple[str, ...]] = ()

    id: str

    def documents(self, skipped: Report = ignore) -> Iterator[Document]:
        """The documents of the dataset."""
        found = self._part("docs")
        return sifted((_document(self.id, record, record.doc_id) for record in found), skipped)

    def queries(self, skipped: Report = ignore) -> Iterator[Document]:
        """The queries of the dataset, all its fields joined where it names no default text."""
        found = self._part("queries")
        return sifted((_document(self.id, record, record.query_id) for record in found), skipped)

    def qrels(self) -> Qrels:
        """The judgements of the dataset; of several for one pair, the last."""
        found: Qrels = {}
        for judgement in self._part("qrels"):
            document = identifier(judgement.doc_id)
            found.setdefault(identifier(judgement.query_id), {})[document] = int(judgement.relevance)
        return found

    def excluded(self) -> Mapping[str, frozenset[str]]:
        """Nothing but the query itself."""
        return {}

    def files(self) -> Sequence[Path]:
        """None that are known: `ir_datasets` keeps its own, and checks them itself."""
        return []

    def _part(self, what: str) -> Iterable[Any]:
        dataset = self._dataset()
        if not getattr(dataset, f"has_{what}")():
            raise UsageError(f"The dataset {self.id!r} of ir_datasets has no {what}: take one of its parts")
        return _guarded(self.id, getattr(dataset, f"{what}_iter"))

    def _dataset(self) -> Any:
        try:
            import ir_datasets
        except ImportError as error:
            raise MissingExtra(f"The collection {self}", "ir_datasets", "collections") from error
        try:
            return ir_datasets.load(self.id)
        except KeyError as error:
            known = "see https://ir-datasets.com for their ids"
            raise UsageError(f"There is no dataset {self.id!r} in ir_datasets: {known}") from error


def _guarded(id: str, records: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    """The records; a download that fails, or one that only a person can do, is one line."""
    try:
        yield from records()
    except (OSError, RuntimeError) as error:
        said = " ".join(str(error).split())
        raise ReadError(f"The dataset {id!r} of ir_datasets cannot be got: {said or type(error).__name__}") from error


def _document(dataset: str, record: Any, id: str) -> Any:
    text = record.default_text() if hasattr(record, "default_text") else ""
    if not text:
        fields = [getattr(record, name) for name in record._fields if not name.endswith("_id")]
        text = "\n\n".join(value for value in fields if isinstance(value, str) and value)
    title = getattr(record, "title", "")
    return document(f"{dataset} {id}", id, text, title if isinstance(title, str) else "")
