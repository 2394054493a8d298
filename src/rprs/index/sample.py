"""A sample of a collection's sentences that depends on the texts alone, not on segments, order or history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rprs.index.catalog import Catalog
from rprs.index.segment import Segment

__all__ = ["Sample", "merge_samples", "sample_part", "sample_sentences"]

SPARE = 1.25  # times the size: repeated sentences are dropped afterwards


@dataclass(frozen=True, slots=True)
class Sample:
    """The sentences with the smallest pseudo-random keys, by key."""

    keys: NDArray[np.uint64]
    sentences: list[str]


def sample_sentences(catalog: Catalog, segments: Mapping[int, Segment], size: int) -> list[str]:
    """Up to `size` distinct sentences of the documents: those whose pseudo-random keys are the smallest."""
    return merge_samples([sample_part(catalog, segments, size)], size)


def merge_samples(parts: Sequence[Sample], size: int) -> list[str]:
    """The sample of a whole collection, from those of its parts: exactly that of an index of all documents."""
    keys = np.concatenate([np.empty(0, dtype=np.uint64), *(part.keys for part in parts)])
    sentences = [sentence for part in parts for sentence in part.sentences]
    smallest = np.argsort(keys, kind="stable")[: int(size * SPARE)].tolist()
    return list(dict.fromkeys(sentences[place] for place in smallest))[:size]


def sample_part(catalog: Catalog, segments: Mapping[int, Segment], size: int) -> Sample:
    """What the documents of one index contribute to a sample of `size` sentences, with spare ones."""
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
    return Sample(keys, _texts(catalog, segments, places))


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
    return [sentences[row] for row in range(len(places))]
