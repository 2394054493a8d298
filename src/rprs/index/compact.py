"""Merge segments, without removed documents, in memory that does not depend on their size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.index.files import File, RowFile, folder_mode, save, save_rows
from rprs.index.phrases import merge_phrases, streams
from rprs.index.rows import SegmentRow
from rprs.index.segment import Inverted, Segment, ends, folder, hashes_path, invert, vectors_path
from rprs.progress import Advance, no_op

__all__ = ["cut", "merge_segments"]

TERMS = 500_000  # merged at a time
POSTINGS = 4_000_000  # likewise
ROWS = 16_384

Masks = Sequence[NDArray[np.bool_]]


def merge_segments(
    root: Path, number: int, generation: int | None, segments: Sequence[Segment], live: Masks, advance: Advance
) -> tuple[list[File], SegmentRow]:
    """Write the documents that `live` marks, in their order, as segment `number`."""
    place = folder(number)
    (root / place).mkdir(folder_mode(root), parents=True)
    lengths = _select([segment.lengths for segment in segments], live)
    sentence_counts = _select([np.diff(segment.sentence_offsets) for segment in segments], live)
    rows = [np.repeat(mask, np.diff(segment.sentence_offsets)) for segment, mask in zip(segments, live, strict=True)]

    def stream(name: str, arrays: Sequence[NDArray[Any]], advance: Advance = no_op) -> File:
        first = arrays[0]
        return save_rows(root, name, _rows(arrays, rows, advance), first.dtype, first.shape[1:])

    files = [
        save(root, f"{place}/lengths.npy", lengths),
        save(root, f"{place}/sentence_offsets.npy", ends(sentence_counts)),
        stream(f"{place}/spans.npy", [segment.spans for segment in segments]),
        stream(f"{place}/paragraphs.npy", [segment.paragraphs for segment in segments]),
    ]
    of_words = [array for segment in segments if (array := segment.word_hashes) is not None]
    if len(of_words) == len(segments):
        files.append(save(root, f"{place}/word_hashes.npy", _select(of_words, live)))
    if generation is not None:
        vectors = [segment.vectors for segment in segments if segment.vectors is not None]
        files.append(stream(vectors_path(number, generation), vectors, advance))
    of_sentences = [array for segment in segments if (array := segment.sentence_hashes) is not None]
    if len(of_sentences) == len(segments):
        files.append(stream(hashes_path(number), of_sentences))
    files += _merge_postings(root, place, segments, live)
    if streams(segments):
        files += merge_phrases(root, number, streams(segments), _renumbered(live))
    row = SegmentRow(number, len(lengths), int(sentence_counts.sum()), int(lengths.sum()), generation)
    return files, row


def cut(live: Masks, size: int) -> Iterator[list[NDArray[np.bool_]]]:
    """The documents that `live` marks, by segment, divided into masks of `size` documents each, in their order."""
    places = [np.flatnonzero(mask) for mask in live]
    bounds = np.cumsum([0, *map(len, places)])
    for start in range(0, int(bounds[-1]), size):
        masks = []
        for mask, own, first in zip(live, places, bounds.tolist(), strict=False):
            chosen = np.zeros(len(mask), dtype=bool)
            chosen[own[max(start - first, 0) : max(start + size - first, 0)]] = True
            masks.append(chosen)
        yield masks


def _select(arrays: Sequence[NDArray[Any]], live: Masks) -> NDArray[Any]:
    """Values of documents; there is at least one array."""
    return np.concatenate([array[mask] for array, mask in zip(arrays, live, strict=True)])


def _rows(arrays: Sequence[NDArray[Any]], masks: Masks, advance: Advance) -> Iterator[NDArray[Any]]:
    for array, mask in zip(arrays, masks, strict=True):
        for start in range(0, len(array), ROWS):
            yield array[start : start + ROWS][mask[start : start + ROWS]]
            advance(min(ROWS, len(array) - start))


def _merge_postings(root: Path, place: str, segments: Sequence[Segment], live: Masks) -> list[File]:
    """Merge by ranges of the terms' hashes, each small enough for memory."""
    renumbered = _renumbered(live)
    terms = sum(len(segment.term_hash) for segment in segments)
    postings = sum(len(segment.posting_documents) for segment in segments)
    parts = 1 + max(terms // TERMS, postings // POSTINGS)
    cuts = [part * 2**64 // parts for part in range(1, parts)]

    wide = any(segment.posting_counts.dtype == np.uint32 for segment in segments)
    arrays = (
        ("hashes", "term_hash", np.uint64),
        ("bytes", "term_bytes", np.uint8),
        ("occurrences", "term_counts", np.int64),
        ("documents", "posting_documents", np.int32),
        ("counts", "posting_counts", np.uint32 if wide else np.uint16),
    )
    sizes, frequencies = [], []
    with ExitStack() as opened:
        written = {
            field: opened.enter_context(RowFile(root, f"{place}/{name}.npy", kind)) for field, name, kind in arrays
        }
        for low, high in pairwise([None, *cuts, None]):
            merged = _merge_range(segments, renumbered, low, high)
            for field, file in written.items():
                file.append(getattr(merged, field))
            sizes.append(merged.sizes)
            frequencies.append(merged.frequencies)
        files = [file.close() for file in written.values()]
    return [
        *files,
        save(root, f"{place}/term_offsets.npy", ends(np.concatenate(sizes))),
        save(root, f"{place}/posting_offsets.npy", ends(np.concatenate(frequencies))),
    ]


def _renumbered(live: Masks) -> list[NDArray[np.int64]]:
    """The new ordinals of each segment's documents; -1 for those left out."""
    first = np.cumsum([0, *(mask.sum() for mask in live)])
    return [np.where(mask, np.cumsum(mask) - 1 + base, -1) for mask, base in zip(live, first, strict=False)]


def _merge_range(
    segments: Sequence[Segment], renumbered: Sequence[NDArray[Any]], low: int | None, high: int | None
) -> Inverted:
    """The postings of all terms whose hash is at least `low` and below `high`."""
    numbers: dict[bytes, int] = {}
    terms, documents, counts = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for segment, mapping in zip(segments, renumbered, strict=True):
        start = 0 if low is None else int(np.searchsorted(segment.term_hash, np.uint64(low)))
        stop = len(segment.term_hash) if high is None else int(np.searchsorted(segment.term_hash, np.uint64(high)))
        postings = slice(int(segment.posting_offsets[start]), int(segment.posting_offsets[stop]))
        moved = mapping[segment.posting_documents[postings]]
        kept = moved >= 0
        local = np.repeat(np.arange(start, stop), np.diff(segment.posting_offsets[start : stop + 1]))[kept]
        present, inverse = np.unique(local, return_inverse=True)
        new = [numbers.setdefault(segment.term(position), len(numbers)) for position in present.tolist()]
        terms.append(np.array(new, dtype=np.int64)[inverse])
        documents.append(moved[kept])
        counts.append(segment.posting_counts[postings][kept].astype(np.int64))
    return invert(list(numbers), np.concatenate(terms), np.concatenate(documents), np.concatenate(counts))
