"""Any dataset of the catalogue `ir_datasets`, by its id: `irds(vaswani)`, `irds("beir/scifact/test")`.

The text of a document or query is its default text in the dataset. `ir_datasets` downloads files into its own folder on
first use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rprs.collection.source import Report, distinct, document, identifier
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
        records = self._part("docs")
        return distinct((_document(self.id, record, record.doc_id) for record in records), skipped)

    def queries(self, skipped: Report = ignore) -> Iterator[Document]:
        """The queries of the dataset; if there is no default text, all fields are joined."""
        records = self._part("queries")
        return distinct((_document(self.id, record, record.query_id) for record in records), skipped)

    def qrels(self) -> Qrels:
        """The judgements of the dataset; if a pair has several, the last one."""
        qrels: Qrels = {}
        for judgement in self._part("qrels"):
            document = identifier(judgement.doc_id)
            qrels.setdefault(identifier(judgement.query_id), {})[document] = int(judgement.relevance)
        return qrels

    def excluded(self) -> Mapping[str, frozenset[str]]:
        """No documents besides the query itself."""
        return {}

    def files(self) -> Sequence[Path]:
        """None: `ir_datasets` manages and checks its own files."""
        return []

    def _part(self, what: str) -> Iterable[Any]:
        dataset = self._dataset()
        if not getattr(dataset, f"has_{what}")():
            raise UsageError(f"The dataset {self.id!r} of ir_datasets has no {what}: use one of its subsets")
        return _guarded(self.id, getattr(dataset, f"{what}_iter"))

    def _dataset(self) -> Any:
        try:
            import ir_datasets
        except ImportError as error:
            raise MissingExtra(f"The collection {self}", "ir_datasets", "collections") from error
        try:
            return ir_datasets.load(self.id)
        except KeyError as error:
            advice = "see https://ir-datasets.com for their ids"
            raise UsageError(f"There is no dataset {self.id!r} in ir_datasets: {advice}") from error


def _guarded(id: str, records: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    """The records; a failed download, or one that needs manual steps, is a one-line error."""
    try:
        yield from records()
    except (OSError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise ReadError(
            f"The dataset {id!r} of ir_datasets cannot be downloaded: {reason or type(error).__name__}"
        ) from error


def _document(dataset: str, record: Any, id: str) -> Any:
    text = record.default_text() if hasattr(record, "default_text") else ""
    if not text:
        fields = [getattr(record, name) for name in record._fields if not name.endswith("_id")]
        text = "\n\n".join(value for value in fields if isinstance(value, str) and value)
    title = getattr(record, "title", "")
    return document(f"{dataset} {id}", id, text, title if isinstance(title, str) else "")
