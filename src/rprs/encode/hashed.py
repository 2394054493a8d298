"""An encoder without weights: every word has a fixed random direction, a sentence is the sum of its words'.

Sentences are alike as far as they share words. It needs no model at all, so it serves for trying things out on a
machine without one, for tests of everything that is not about meaning, and as the smallest example of an encoder.
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

from rprs.progress import Advance, Progress, silent
from rprs.spec import Component, Kind, require

__all__ = ["Hashed"]


@dataclass(frozen=True)
class Hashed(Component):
    """Words hashed to random directions of so many dimensions."""

    dimension: int = 256
    name: ClassVar[str] = "hashed"
    kinds: ClassVar[tuple[Kind, ...]] = ("encoder",)

    def __post_init__(self) -> None:
        require(self, "dimension", self.dimension >= 1, "an integer in [1, inf)")

    def load(self, progress: Progress = silent) -> Hashed:
        """There is nothing to load."""
        return self

    @property
    def fingerprint(self) -> str:
        """The directions are the same everywhere."""
        return hashlib.sha256(str(self).encode()).hexdigest()[:16]

    def encode(self, sentences: Sequence[str], advance: Advance = lambda _: None) -> NDArray[np.float32]:
        """Unit rows; a text without words is the zero row."""
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
