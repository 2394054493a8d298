"""New and changed documents in batches, with their sentences and counted terms."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rprs.alignment.words import fold_words, hash_words
from rprs.document import Document
from rprs.errors import ReadError
from rprs.index.arguments import require_document
from rprs.index.catalog import Catalog
from rprs.index.rows import metadata_json
from rprs.index.segment import Entry, term_hashes
from rprs.index.term_numbers import term_numbers
from rprs.progress import reading_progress, silent
from rprs.text import analyze
from rprs.text.analyze import Words, ngrams

__all__ = ["FAST_BATCH", "SLOW_BATCH", "Batch", "batches", "prepare", "same_label", "take_characters"]

FAST_BATCH = 24_000_000  # characters per segment where encoding is cheap
PIECE = 500_000  # words of a long text that are counted between two steps of its progress
SLOW_BATCH = 3_000_000  # where a transformer encodes every sentence: a crash then costs about a minute


def _nothing(_: str) -> None:
    """There is nothing to settle."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes that are committed together."""

    documents: list[Document]  # new, or with another text than in the index
    changed: int  # how many of these are in the index with another text
    relabelled: list[Document]  # in the index with another title or other metadata
    renamed: dict[str, Document] = field(default_factory=dict)  # by the id in the index, which has the same text
    removed: list[str] = field(default_factory=list)  # ids
    record: Callable[[], None] | None = None  # what else belongs into the transaction, at its end


def batches(
    documents: Iterable[Document],
    catalog: Catalog,
    size: int,
    unchanged: Counter[str],
    settle: Callable[[str], None] = _nothing,
) -> Iterator[Batch]:
    """New and changed documents in batches of about `size` characters, counting the unchanged ones.

    If an id occurs more than once, the last document counts. `settle` is called before the catalog is asked for an id:
    an earlier batch may have it that is not committed yet.
    """
    batch: dict[str, Document] = {}
    labels: dict[str, Document] = {}
    changed, filled = 0, 0
    for document in documents:
        _check(document)
        settle(document.id)
        stored = catalog.labels([document.id]).get(document.id)
        if stored and stored[0] == document.content_hash and document.id not in batch:
            if document.id not in labels and same_label(document, stored):
                unchanged["documents"] += 1
                continue
            labels[document.id] = document
        else:
            changed += bool(stored) and document.id not in batch
            batch[document.id] = document
        filled += len(document.text)
        if filled >= size:
            yield Batch(list(batch.values()), changed, list(labels.values()))
            batch, labels, changed, filled = {}, {}, 0, 0
    if batch or labels:
        yield Batch(list(batch.values()), changed, list(labels.values()))


def take_characters(documents: Iterator[Document], size: int) -> Iterator[Document]:
    """The next documents, until they have `size` characters."""
    filled = 0
    while filled < size and (document := next(documents, None)) is not None:
        filled += len(document.text)
        yield document


def prepare(text: str, splitter: Any, analyzer: Any, *, phrases: bool) -> Entry:
    """Split a text into sentences and count its terms; with `phrases`, keep the order of its words too."""
    if isinstance(analyzer, Words) and analyzer.ngrams == 1 and len(text) < analyze.LONG_TEXT:
        found = term_numbers(analyzer).count(text, hashed=phrases)
        return Entry(
            splitter.split(text), found.terms, found.counts, found.length, hash_words(fold_words(text)), found.sequence
        )
    return _prepare_step_by_step(text, splitter, analyzer, phrases=phrases)


def _prepare_step_by_step(text: str, splitter: Any, analyzer: Any, *, phrases: bool) -> Entry:
    """The same for any analyzer, and for a long text, which shows how far this has come."""
    words = analyzer.terms(text)
    counted: Counter[str] = Counter()
    hashes = []
    progress = reading_progress.get() if len(words) > PIECE else silent
    with progress("counting the terms of a long text", len(words), "terms") as advance:
        for start in range(0, max(len(words), 1), PIECE):
            piece = words[start : start + PIECE] if len(words) > PIECE else words
            counted.update(piece)
            if phrases:
                hashes.append(term_hashes(piece))
            advance(len(piece))
    for n in range(2, analyzer.ngrams + 1):
        counted.update(ngrams(words, n))
    sequence = np.concatenate(hashes) if phrases else None
    counts = np.fromiter(counted.values(), dtype=np.int64, count=len(counted))
    return Entry(splitter.split(text), tuple(counted), counts, len(words), hash_words(fold_words(text)), sequence)


def _check(document: Document) -> None:
    """Refuse values that are not documents, lack an id or are not valid Unicode."""
    require_document(document)
    if not document.id:
        raise ReadError(f"A document without an id cannot be indexed (it begins {document.text[:40]!r})")
    try:
        for text in (document.id, document.title, document.text, metadata_json(document)):
            text.encode()
    except UnicodeEncodeError as error:
        raise ReadError(f"The document {document.id!r} is not valid Unicode: {error.reason}") from error


def same_label(document: Document, stored: tuple[str, str, str]) -> bool:
    """Whether title and metadata equal the stored ones, whatever the order of the fields."""
    return document.title == stored[1] and json.loads(metadata_json(document)) == json.loads(stored[2])
