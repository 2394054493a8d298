"""What comes in: new and changed documents in batches, split into sentences, their terms counted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from rprs.document import Document
from rprs.errors import ReadError
from rprs.index.catalog import Catalog, written
from rprs.index.segment import Entry
from rprs.text.analyze import ngrams

__all__ = ["Batch", "batches", "prepare"]


@dataclass(frozen=True, slots=True)
class Batch:
    """Documents that are committed together."""

    documents: list[Document]  # of which so many have another text in the index
    changed: int
    relabelled: list[Document]  # only title or metadata differ


def batches(documents: Iterable[Document], catalog: Catalog, size: int, unchanged: Counter[str]) -> Iterator[Batch]:
    """New and changed documents, cut where their texts exceed the size; of one id the last. Others are counted."""
    batch: dict[str, Document] = {}
    labels: dict[str, Document] = {}
    changed, filled = 0, 0
    for document in documents:
        _check(document)
        known = catalog.known([document.id]).get(document.id)
        if known and known[0] == document.content_hash and document.id not in batch:
            if document.id not in labels and _same_label(document, known):
                unchanged["documents"] += 1
                continue
            labels[document.id] = document
        else:
            changed += bool(known) and document.id not in batch
            batch[document.id] = document
        filled += len(document.text)
        if filled >= size:
            yield Batch(list(batch.values()), changed, list(labels.values()))
            batch, labels, changed, filled = {}, {}, 0, 0
    if batch or labels:
        yield Batch(list(batch.values()), changed, list(labels.values()))


def prepare(text: str, splitter: Any, analyzer: Any) -> Entry:
    """Split a text into sentences and count its terms."""
    words = analyzer.terms(text)
    counted = Counter(words)
    for n in range(2, analyzer.ngrams + 1):
        counted.update(ngrams(words, n))
    return Entry(splitter.split(text), tuple(counted), tuple(counted.values()), len(words))


def _check(document: Document) -> None:
    """Refuse what cannot be stored as UTF-8."""
    if not document.id:
        raise ReadError(f"A document without an id cannot be indexed (it begins {document.text[:40]!r})")
    try:
        for text in (document.id, document.title, document.text, written(document)):
            text.encode()
    except UnicodeEncodeError as error:
        raise ReadError(f"The document {document.id!r} is not valid Unicode: {error.reason}") from error


def _same_label(document: Document, known: tuple[str, str, str]) -> bool:
    """Whether title and metadata are those of the index, in whatever order the metadata come."""
    return document.title == known[1] and json.loads(written(document)) == json.loads(known[2])
