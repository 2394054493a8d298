"""Bring an older index up to date: add phrases and hashes of words, from the texts in the catalog, and checksums."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rprs.alignment.words import fold_words, hash_words
from rprs.files.atomic import sync_folder
from rprs.index.batches import FAST_BATCH
from rprs.index.catalog import Catalog
from rprs.index.damage import refuse_damage
from rprs.index.files import register, save
from rprs.index.phrases import merge_phrases
from rprs.index.rows import SegmentRow
from rprs.index.segment import folder, open_phrases, term_hashes, write_phrases
from rprs.progress import Advance, Progress
from rprs.scoring.phrases import stream

__all__ = ["add_checksums", "add_phrases", "add_word_hashes", "without_word_hashes"]

PART = FAST_BATCH  # characters whose phrases are counted at a time


def add_phrases(root: Path, catalog: Catalog, analyzer: Any, progress: Progress) -> None:
    """Add phrases to every segment that has none.

    Every part is committed when it is written, so that an interrupted upgrade resumes. Searches use the phrases when
    all segments have them.
    """
    rows = catalog.segments()
    with progress("adding phrases", sum(row.documents for row in rows), "documents") as advance:
        for row in rows:
            _add_to_segment(root, catalog, analyzer, row, advance)
    with catalog.transaction():
        catalog.use_phrases()


def without_word_hashes(catalog: Catalog) -> list[SegmentRow]:
    """The segments of older versions, which have no hashes of the words of their documents."""
    listed = {file.path for file in catalog.files()}
    return [row for row in catalog.segments() if _word_hashes_path(row) not in listed]


def add_word_hashes(root: Path, catalog: Catalog, progress: Progress) -> None:
    """Add them; every segment is committed when it has them."""
    rows = without_word_hashes(catalog)
    with progress("adding hashes of words", sum(row.documents for row in rows), "documents") as advance:
        for row in rows:
            hashes = np.zeros(row.documents, dtype=np.uint64)
            for ordinal, text in catalog.texts(row.number):
                hashes[ordinal] = hash_words(fold_words(text))
                advance(1)
            file = save(root, _word_hashes_path(row), hashes)
            sync_folder(root / folder(row.number))
            with catalog.transaction():
                catalog.add_files([file])


def _word_hashes_path(row: SegmentRow) -> str:
    return f"{folder(row.number)}/word_hashes.npy"


def add_checksums(root: Path, catalog: Catalog, progress: Progress) -> None:
    """Add the checksums of blocks and of the listing, of files and documents that are as they were written."""
    refuse_damage(root, catalog, progress)
    catalog.check_labels()
    files = [register(root, file.path) for file in catalog.files()]
    with catalog.transaction():
        catalog.store_sums(files)


def _add_to_segment(root: Path, catalog: Catalog, analyzer: Any, row: SegmentRow, advance: Advance) -> None:
    """Write the phrases of a segment in parts that fit in memory, then merge them."""
    place = folder(row.number)
    listed = {file.path for file in catalog.files()}
    if f"{place}/phrase_data.npy" in listed:
        advance(row.documents)
        return
    names, ordinals, start = [], [], 0
    for part, texts in enumerate(_parts(catalog, row.number)):
        name = f"phrase_part{part:05d}"
        if f"{place}/{name}_data.npy" not in listed:
            phrases = stream([term_hashes(analyzer.terms(text)) for text in texts])
            files = write_phrases(root, row.number, phrases, name)
            sync_folder(root / place)
            with catalog.transaction():
                catalog.add_files(files)
        names.append(name)
        ordinals.append(np.arange(start, start + len(texts)))
        start += len(texts)
        advance(len(texts))
    files = merge_phrases(root, row.number, [open_phrases(root, row.number, name) for name in names], ordinals)
    sync_folder(root / place)
    with catalog.transaction():
        catalog.forget_files(f"{place}/phrase_part*")
        catalog.add_files(files)


def _parts(catalog: Catalog, segment: int) -> Iterator[list[str]]:
    """The texts of a segment in batches that depend on them alone; that of a removed document is empty."""
    batch, size = [], 0
    for _, text in catalog.texts(segment):
        batch.append(text)
        size += len(text)
        if size >= PART:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
