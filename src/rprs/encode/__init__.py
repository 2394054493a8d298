"""Sentences → unit vectors, whose dot products are cosine similarities of meaning.

    fitted   the default: a table of token vectors fitted to the collection, as fast as reading (fitted.py)
    onnx     the transformer itself in ONNX Runtime, in int8 or fp32 (onnx.py, graph.py)
    sbert    any model of sentence-transformers, with the extra `torch` (sbert.py)

A component such as `Onnx(precision="fp32")` describes an encoder and loads nothing. Its `load` (or, if the encoder
learns from the collection, its `fit`) returns the loaded model, an `Encoder`. models.py finds the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rprs.progress import Advance, Progress, no_op

__all__ = ["Encoder", "Fittable", "FittedEncoder", "Loadable"]


class Encoder(Protocol):
    """A loaded model."""

    @property
    def dimension(self) -> int:
        """The number of entries of a vector."""

    @property
    def fingerprint(self) -> str:
        """A short hexadecimal text that differs between encoders with different vectors."""

    def encode(self, sentences: Sequence[str], advance: Advance = no_op) -> NDArray[np.float32]:
        """(m, dimension): one unit row per sentence, in the same order; a text without tokens has a zero row."""


class FittedEncoder(Encoder, Protocol):
    """A model that belongs to one collection and is stored with it."""

    def save(self, folder: Path) -> None:
        """Write the model into an existing folder."""


@runtime_checkable
class Loadable(Protocol):
    """The description of an encoder that can be loaded as it is."""

    def load(self, progress: Progress = ...) -> Encoder:
        """The model, downloaded and prepared on first use."""


@runtime_checkable
class Fittable(Protocol):
    """The description of an encoder that learns from a sample of the collection's sentences."""

    @property
    def teacher(self) -> Loadable:
        """The encoder it learns from, which is used directly if the collection is no larger than a sample."""

    @property
    def sample(self) -> int:
        """The number of sentences it learns from."""

    def fit(self, sentences: Sequence[str], progress: Progress = ...) -> FittedEncoder:
        """The model fitted to the sentences; the same sentences give the same model."""

    def open(self, folder: Path) -> FittedEncoder:
        """The model saved in a folder."""
