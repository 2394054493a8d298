"""A sample of a collection's sentences that depends on the texts alone, not on segments, order or history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rprs.index.catalog import Catalog
from rprs.index.segment import Segment

__all__ = ["choose_sentences", "keyed_sentences", "sample_sentences"]

SPARE = 1.25  # times the size: repeated sentences are dropped afterwards


def sample_sentences(catalog: Catalog, segments: Mapping[int, Segment], size: int) -> list[str]:
    """Up to `size` distinct sentences of the documents: those whose pseudo-random keys are the smallest."""
    return choose_sentences([keyed_sentences(catalog, segments, size)], size)


def choose_sentences(parts: Iterable[Sequence[tuple[int, str]]], size: int) -> list[str]:
    """The sample of a collection, from the sentences with the smallest keys of each of its parts."""
    smallest = sorted((keyed for part in parts for keyed in part), key=lambda keyed: keyed[0])[: int(size * SPARE)]
    return list(dict.fromkeys(sentence for _, sentence in smallest))[:size]


def keyed_sentences(catalog: Catalog, segments: Mapping[int, Segment], size: int) -> list[tuple[int, str]]:
    """The sentences with the smallest keys, which ascend: some more than a sample of that size needs."""
    limit = int(size * SPARE)
    keys, places = np.empty(0, dtype=np.uint64), np.empty((0, 2), dtype=np.int64)  # place: document number, sentence
    for segment in segments.values():
        rows = catalog.segment_hashes(segment.number)
        counts = np.diff(segment.sentence_offsets)[[ordinal for _, ordinal, _ in rows]]
        sentences = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        seeds = np.frombuffer(bytes.fromhex("".join(content_hash[:16] for *_, content_hash in rows)), dtype=">u8")
        new_keys = _mix(np.repeat(seeds.astype(np.uint64), counts), sentences.astype(np.uint64))
        smallest = _smallest(new_keys, limit)
        numbers = np.repeat(np.array([number for number, *_ in rows], dtype=np.int64), counts)
        new_places = np.column_stack([numbers[smallest], sentences[smallest]])
        keys, places = np.concatenate([keys, new_keys[smallest]]), np.concatenate([places, new_places])
    order = _smallest(keys, limit)
    return list(zip(keys[order].tolist(), _texts(catalog, segments, places[order]), strict=True))


def _smallest(keys: NDArray[np.uint64], limit: int) -> NDArray[np.int64]:
    """The places of the smallest keys, in their order; of equal ones, the first."""
    if len(keys) <= limit:
        return np.argsort(keys, kind="stable")
    few = np.flatnonzero(keys <= np.partition(keys, limit)[limit])
    return few[np.argsort(keys[few], kind="stable")[:limit]]


def _mix(seed: NDArray[np.uint64], number: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64: well-spread 64-bit keys from hashes of documents and numbers of sentences."""
    with np.errstate(over="ignore"):
        x = seed + (number + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)), dtype=np.uint64)


def _texts(catalog: Catalog, segments: Mapping[int, Segment], places: NDArray[np.int64]) -> list[str]:
    """The sentences at the places, in that order."""
    sentences = [""] * len(places)
    by_document = np.argsort(places[:, 0], kind="stable")
    numbers, firsts = np.unique(places[by_document, 0], return_index=True)
    for number, rows in zip(numbers.tolist(), np.split(by_document, firsts)[1:], strict=True):
        segment_number, ordinal, text = catalog.text(number)
        segment = segments[segment_number]
        spans = segment.spans[segment.sentence_offsets[ordinal] + places[rows, 1]].tolist()
        for row, (start, end) in zip(rows.tolist(), spans, strict=True):
            sentences[row] = text[start:end]
    return sentences
