"""What is measured over all shards of a generation and published with it.

Counts of terms are not among it: they are integers, which shards count for each query and the coordinator adds up. The
norms of the documents are: they are computed in the three steps of `index.frequencies`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.calibration import FALLBACK, Calibration
from rprs.index import Index
from rprs.index.calibrate import calibrate_on, calibration_documents
from rprs.index.frequencies import add_frequencies, frequencies, norms
from rprs.index.language import SAMPLE, measure_sample
from rprs.index.phrases import streams
from rprs.index.reader import fingerprint_of
from rprs.index.sample import choose_sentences, keyed_sentences

__all__ = ["Sample", "Statistics", "measure_shards", "measure_statistics", "ranges_of", "sample_of"]

RANGE = 2**24  # bytes of phrases in a range of hashes that is counted at a time


@dataclass(frozen=True, slots=True)
class Statistics:
    """Of all documents of a generation; the norms of the documents are a file of each shard."""

    documents: int
    words: int
    sentences: int
    fingerprint: str = ""  # that of one index of the same documents
    calibration: Calibration = FALLBACK
    language: Mapping[str, Any] = field(default_factory=dict)  # what `measure_language` found

    @property
    def mean_sentences(self) -> float:
        """avgdl: the mean number of sentences per document."""
        return self.sentences / self.documents if self.documents else 0.0

    def object(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "documents": self.documents,
            "words": self.words,
            "sentences": self.sentences,
            "fingerprint": self.fingerprint,
            "calibration": self.calibration.object(),
            "language": dict(self.language),
        }

    @classmethod
    def from_object(cls, values: Mapping[str, Any]) -> Statistics:
        """The inverse of `object`."""
        return cls(
            documents=int(values["documents"]),
            words=int(values["words"]),
            sentences=int(values["sentences"]),
            fingerprint=str(values["fingerprint"]),
            calibration=Calibration.from_object(values["calibration"]),
            language=dict(values["language"]),
        )


@dataclass(frozen=True, slots=True)
class Sample:
    """What one shard contributes to the statistics of a generation."""

    documents: int
    words: int
    sentences: int
    calibration: Mapping[str, NDArray[Any]]  # vectors of documents with small hashes
    language: Sequence[tuple[int, str]]  # sentences with small keys
    settings: tuple[str | None, ...]  # those that rankings depend on


def sample_of(index: Index) -> Sample:
    """The sample of one shard: a few megabytes, whatever its size."""
    segments = {segment.number: segment for segment in index.segments}
    with index._lock:
        return Sample(
            documents=len(index),
            words=int(index.lengths.sum()),
            sentences=int(index.sentence_counts.sum()),
            calibration=calibration_documents(index.catalog, segments),
            language=keyed_sentences(index.catalog, segments, SAMPLE),
            settings=tuple(index._ranking_settings()),
        )


def measure_statistics(
    samples: Sequence[Sample], encoder: Any, rows: Iterable[Iterable[tuple[str, str]]], generation: int = 1
) -> Statistics:
    """The statistics of all shards; `rows` are the ids and content hashes of each, in the order of the ids."""
    measured = calibrate_on((sample.calibration for sample in samples), generation)
    return Statistics(
        documents=sum(sample.documents for sample in samples),
        words=sum(sample.words for sample in samples),
        sentences=sum(sample.sentences for sample in samples),
        fingerprint=fingerprint_of(samples[0].settings, merge(*rows)),
        calibration=measured if measured.bars else FALLBACK,
        language=measure_sample(encoder, choose_sentences((sample.language for sample in samples), SAMPLE)),
    )


def ranges_of(indexes: Iterable[Index]) -> int:
    """Into how many ranges all hashes are divided, so that each fits in memory."""
    return 1 + sum(len(stream.data) for index in indexes for stream in streams(index.segments)) // RANGE


def measure_shards(indexes: Sequence[Index]) -> tuple[Statistics, list[NDArray[np.float64]]]:
    """The statistics of shards that are open in this process, and the norms of the documents of each."""
    rows = []
    for index in indexes:
        with index._lock:
            rows.append(index._content_rows())
    samples = [sample_of(index) for index in indexes]
    statistics = measure_statistics(samples, indexes[0].encoder, rows, indexes[0].generation)
    parts = ranges_of(indexes)
    totals = [add_frequencies([frequencies(index, part, parts) for index in indexes]) for part in range(parts)]
    return statistics, [norms(index, statistics.documents, totals, parts) for index in indexes]
