"""A sample of a collection's sentences that depends on the texts alone, not on segments, order or history."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rprs.index.catalog import Catalog
from rprs.index.files import load
from rprs.index.segment import folder

__all__ = ["sample_sentences"]

SPARE = 1.25  # take so many more, as repeated sentences are dropped


def sample_sentences(catalog: Catalog, root: Path, size: int) -> list[str]:
    """Up to `size` distinct sentences of the live documents: those whose pseudo-random keys are the smallest."""
    wanted = int(size * SPARE)
    keys, places = np.empty(0, dtype=np.uint64), np.empty((0, 2), dtype=np.int64)  # place: document number, sentence
    for segment in catalog.segments():
        counts = np.diff(load(root, f"{folder(segment.number)}/sentence_offsets.npy"))
        query = "SELECT number, ordinal, content_hash FROM documents WHERE segment = ? AND removed = 0"
        new_keys, new_places = [keys], [places]
        for number, ordinal, content_hash in catalog.rows(query, segment.number):
            sentence = np.arange(counts[ordinal], dtype=np.int64)
            new_keys.append(_mix(np.uint64(int(content_hash[:16], 16)), sentence.astype(np.uint64)))
            new_places.append(np.column_stack([np.full_like(sentence, number), sentence]))
        keys, places = np.concatenate(new_keys), np.concatenate(new_places)
        smallest = np.argsort(keys, kind="stable")[:wanted]
        keys, places = keys[smallest], places[smallest]
    return _texts(catalog, root, places)[:size]


def _mix(seed: np.uint64, number: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64: well-spread 64-bit keys from a document's hash and a sentence's number."""
    with np.errstate(over="ignore"):
        x = seed + (number + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)), dtype=np.uint64)


def _texts(catalog: Catalog, root: Path, places: NDArray[np.int64]) -> list[str]:
    """The distinct sentences at some places, in that order."""
    found: dict[int, str] = {}
    for number in np.unique(places[:, 0]).tolist():
        segment, ordinal, text = catalog.rows(
            "SELECT segment, ordinal, text FROM documents JOIN texts ON document = number WHERE number = ?", number
        )[0]
        offsets = load(root, f"{folder(segment)}/sentence_offsets.npy")
        spans = load(root, f"{folder(segment)}/spans.npy")
        for index in np.flatnonzero(places[:, 0] == number).tolist():
            start, end = spans[offsets[ordinal] + places[index, 1]].tolist()
            found[index] = text[start:end]
    return list(dict.fromkeys(found[index] for index in sorted(found)))
