"""Sentences become unit vectors whose dot products are cosines of meaning.

    fitted   the default: a table of token vectors fitted to the collection, as quick as reading (fitted.py)
    onnx     the transformer itself in ONNX Runtime, in int8 or fp32 (onnx.py, graph.py)
    sbert    any model of sentence-transformers, with the extra `torch` (sbert.py)

A spec such as `Onnx(precision="fp32")` names an encoder and loads nothing; its `load` (or, where the encoder
learns from the collection, its `fit`) gives the loaded model, an `Encoder`. The weights come from models.py.
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
        """How long a vector is."""

    @property
    def fingerprint(self) -> str:
        """A short hexadecimal text that changes whenever the vectors would."""

    def encode(self, sentences: Sequence[str], advance: Advance = no_op) -> NDArray[np.float32]:
        """(m, dimension): a unit row a sentence, in the given order; a text without tokens gives a zero row."""


class FittedEncoder(Encoder, Protocol):
    """A model that belongs to one collection and is stored with it."""

    def save(self, folder: Path) -> None:
        """Write flat files into an existing folder."""


@runtime_checkable
class Loadable(Protocol):
    """The spec of an encoder that is ready made."""

    def load(self, progress: Progress = ...) -> Encoder:
        """The model, got and prepared where that has not happened yet."""


@runtime_checkable
class Fittable(Protocol):
    """The spec of an encoder that learns from a sample of the collection's sentences."""

    @property
    def teacher(self) -> Loadable:
        """What it learns from; it serves by itself where the collection is no larger than a sample."""

    @property
    def sample(self) -> int:
        """How many sentences it learns from."""

    def fit(self, sentences: Sequence[str], progress: Progress = ...) -> FittedEncoder:
        """The model fitted to the sentences; the same sentences give the same model."""

    def open(self, folder: Path) -> FittedEncoder:
        """The model that was saved there."""
