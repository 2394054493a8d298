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
        counts = np.diff(segment.sentence_offsets)
        new_keys, new_places = [keys], [places]
        for number, ordinal, content_hash in catalog.segment_hashes(segment.number):
            sentence = np.arange(counts[ordinal], dtype=np.int64)
            new_keys.append(_mix(np.uint64(int(content_hash[:16], 16)), sentence.astype(np.uint64)))
            new_places.append(np.column_stack([np.full_like(sentence, number), sentence]))
        keys, places = np.concatenate(new_keys), np.concatenate(new_places)
        smallest = np.argsort(keys, kind="stable")[:limit]
        keys, places = keys[smallest], places[smallest]
    return list(zip(keys.tolist(), _texts(catalog, segments, places), strict=True))


def _mix(seed: np.uint64, number: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64: well-spread 64-bit keys from a document's hash and a sentence's number."""
    with np.errstate(over="ignore"):
        x = seed + (number + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)), dtype=np.uint64)


def _texts(catalog: Catalog, segments: Mapping[int, Segment], places: NDArray[np.int64]) -> list[str]:
    """The sentences at the places, in that order."""
    sentences: dict[int, str] = {}
    for number in np.unique(places[:, 0]).tolist():
        segment_number, ordinal, text = catalog.text(number)
        segment = segments[segment_number]
        first = segment.sentence_offsets[ordinal]
        for row in np.flatnonzero(places[:, 0] == number).tolist():
            start, end = segment.spans[first + places[row, 1]].tolist()
            sentences[row] = text[start:end]
    return [sentences[row] for row in sorted(sentences)]
