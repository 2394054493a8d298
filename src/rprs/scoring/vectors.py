"""Sentence vectors on a grid on which cosine similarity is exact.

A floating-point dot product depends on the order in which BLAS adds, and therefore on block sizes, the number of
threads and the machine; two identical sentences may then tie on one computer and not on another. So vectors are rounded
to multiples of 2^-g once, when they are computed. A product of two entries is then a multiple of 2^-2g, and by
Cauchy-Schwarz no partial sum exceeds the product of the norms, about 1: every partial sum is an integer of about 2g
bits times 2^-2g. A type with more bits than that represents all of them exactly, so that every order of addition gives
the same number, and rankings are reproducible to the last bit.

    stored as   g    multiplied as   bits   left for sums of similarities   error of a cosine
    float16     11   float32         24     2 (in float64: 31)              about 2e-4
    float32     20   float64         53     13: 8,192 sentences             about 4e-7

Both types represent every multiple of their grid up to 1, so nothing is lost on disk. float32 could hold a finer grid,
but then even short sums of similarities would depend on their order, and encoders that compute in float32 are hardly
more exact than this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["PRECISIONS", "VECTOR_TYPES", "Precision", "VectorType", "precision_of", "to_grid"]

VectorType = Literal["float16", "float32"]
BLOCK = 64  # rows rounded at a time: they stay in the processor's cache
VECTOR_TYPES: tuple[VectorType, ...] = ("float16", "float32")


@dataclass(frozen=True, slots=True)
class Precision:
    """The grid of vectors of one type, and the wider type in which their products are exact."""

    stored: np.dtype[Any]
    wide: np.dtype[Any]
    grid: float  # entries are multiples of it, and similarities multiples of its square

    @property
    def per_unit(self) -> int:
        """A similarity of 1 in multiples of the square of the grid."""
        return round(self.grid**-2)


PRECISIONS: dict[VectorType, Precision] = {
    "float16": Precision(np.dtype("<f2"), np.dtype(np.float32), 2.0**-11),
    "float32": Precision(np.dtype("<f4"), np.dtype(np.float64), 2.0**-20),
}


def precision_of(vectors: NDArray[Any]) -> Precision:
    """The precision of vectors as they are stored."""
    return PRECISIONS["float16" if vectors.dtype == np.float16 else "float32"]


def to_grid(vectors: NDArray[Any], vector_type: VectorType = "float16") -> NDArray[np.floating[Any]]:
    """(rows, dimension): rows scaled to unit length, entries rounded to the grid of the type; a zero row stays zero."""
    from rprs.scoring.rounding import round_to_half  # compiled, which only those need that make vectors

    precision, half = PRECISIONS[vector_type], vector_type == "float16"
    vectors = np.asarray(vectors)
    out = np.empty(vectors.shape, dtype=precision.stored)
    wide = np.empty((min(BLOCK, len(vectors)), *vectors.shape[1:]), dtype=np.float64)
    for start in range(0, len(vectors), BLOCK):
        rows = wide[: len(vectors) - start]
        rows[:] = vectors[start : start + BLOCK]
        squares = np.einsum("ij,ij->i", rows, rows)
        if half and np.isfinite(squares).all():
            round_to_half(rows, np.sqrt(squares), out[start : start + BLOCK])
            continue
        norms = np.sqrt(squares)[:, None]
        np.divide(rows, norms, out=rows, where=norms > 0)
        rows /= precision.grid  # a power of two
        np.rint(rows, out=rows)
        rows *= precision.grid
        rows[~(norms[:, 0] > 0)] = 0
        out[start : start + BLOCK] = rows
    return out
