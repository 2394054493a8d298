"""An encoder without weights: every word has a fixed random vector, and a sentence is the sum of its words.

Sentences are similar if they share words. It needs no model, which makes it useful for first steps on a machine
without one, for tests that do not depend on meaning, and as the smallest example of an encoder.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rprs.progress import Advance, Progress, no_op, silent
from rprs.spec import Component, Kind, require

__all__ = ["Hashed"]


@dataclass(frozen=True)
class Hashed(Component):
    """Words hashed to random vectors with `dimension` entries."""

    dimension: int = 256
    name: ClassVar[str] = "hashed"
    kinds: ClassVar[tuple[Kind, ...]] = ("encoder",)

    def __post_init__(self) -> None:
        require(self, "dimension", self.dimension >= 1, "an integer in [1, inf)")

    def load(self, progress: Progress = silent) -> Hashed:
        """The encoder itself: there is nothing to load."""
        return self

    @property
    def fingerprint(self) -> str:
        """A hash of the parameters: the vectors are the same on every machine."""
        return hashlib.sha256(str(self).encode()).hexdigest()[:16]

    def encode(self, sentences: Sequence[str], advance: Advance = no_op) -> NDArray[np.float32]:
        """(m, dimension): one unit row per sentence; a text without words has a zero row."""
        rows = np.zeros((len(sentences), self.dimension), dtype=np.float32)
        for row, sentence in zip(rows, sentences, strict=True):
            for word in re.findall(r"\w+", sentence.casefold()):
                row += _direction(word, self.dimension)
            advance(1)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(np.divide(rows, norms, out=rows, where=norms > 0))


@lru_cache(maxsize=100_000)
def _direction(word: str, dimension: int) -> NDArray[np.float32]:
    seed = int.from_bytes(hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
    return np.random.default_rng(seed).standard_normal(dimension).astype(np.float32)
