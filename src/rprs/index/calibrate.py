"""Measure an index's bar for sentences with the same idea, on a sample that depends on its texts alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.calibration import DOCUMENTS, LEAST_CHARACTERS, SENTENCES, Calibration, measure_bars
from rprs.index.catalog import Catalog
from rprs.index.segment import Segment

__all__ = ["calibrate_on", "calibration_documents", "measure_calibration"]


def measure_calibration(catalog: Catalog, segments: Mapping[int, Segment], generation: int) -> Calibration:
    """The calibration of the present documents, without bars if there are too few; equal texts count once."""
    return calibrate_on([calibration_documents(catalog, segments)], generation)


def calibrate_on(parts: Iterable[Mapping[str, NDArray[Any]]], generation: int) -> Calibration:
    """The calibration of a collection, from the documents of each of its parts."""
    every = {content_hash: vectors for part in parts for content_hash, vectors in part.items()}
    documents = [every[content_hash] for content_hash in sorted(every)[:DOCUMENTS]]
    return Calibration(measure_bars(documents), len(documents), generation)


def calibration_documents(catalog: Catalog, segments: Mapping[int, Segment]) -> dict[str, NDArray[Any]]:
    """The vectors of the documents with the smallest hashes of their texts: a hash is as good as a random number."""
    places: dict[str, tuple[int, int]] = {}
    for number in segments:
        for _, ordinal, content_hash in catalog.segment_hashes(number):
            places.setdefault(content_hash, (number, ordinal))
    documents: dict[str, NDArray[Any]] = {}
    for content_hash in sorted(places):
        number, ordinal = places[content_hash]
        vectors = _long_sentences(segments[number], ordinal)
        if len(vectors):
            documents[content_hash] = vectors
        if len(documents) == DOCUMENTS:
            break
    return documents


def _long_sentences(segment: Segment, ordinal: int) -> NDArray[Any]:
    """The vectors of sentences with enough characters: all of them, or some at even distances."""
    sentences = segment.sentences(ordinal)
    long = np.flatnonzero(np.diff(sentences.spans)[:, 0] >= LEAST_CHARACTERS)
    chosen = long if len(long) <= SENTENCES else long[np.arange(SENTENCES) * len(long) // SENTENCES]
    return np.asarray(sentences.vectors[chosen])
