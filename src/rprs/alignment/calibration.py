"""How similar two sentences must be to express the same idea, as measured on unrelated documents of a collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["FALLBACK", "Calibration"]


@dataclass(frozen=True, slots=True)
class Calibration:
    """The bar for "same idea", by the size of the other text: of many sentences, the most similar one is more similar.

    `bars[e]` is for a text of 2^e sentences; between these sizes, the bar is interpolated.
    """

    bars: tuple[float, ...]
    documents: int = 0  # on which it was measured; 0 for the fallback
    sentences: int = 0

    def bar(self, sentences: int) -> float:
        """The least similarity of a sentence and its best partner among so many sentences."""
        size = float(np.log2(max(sentences, 1)))
        return float(np.interp(size, np.arange(len(self.bars)), self.bars))

    def object(self) -> dict[str, Any]:
        """As a JSON object."""
        return {"bars": list(self.bars), "documents": self.documents, "sentences": self.sentences}

    @classmethod
    def from_object(cls, values: Mapping[str, Any]) -> Calibration:
        """The inverse of `object`."""
        return cls(tuple(map(float, values["bars"])), int(values["documents"]), int(values["sentences"]))


FALLBACK = Calibration(tuple(round(0.5 + 0.025 * exponent, 3) for exponent in range(15)))
