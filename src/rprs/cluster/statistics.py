"""What is measured over all shards of a generation and published with it.

Counts of terms are not among it: they are integers, which shards count for each query and the coordinator adds up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rprs.alignment.calibration import FALLBACK, Calibration

__all__ = ["Statistics"]


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
