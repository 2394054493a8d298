"""Sentence vectors on a grid on which cosine similarity is exact.

A float32 dot product depends on the order in which BLAS adds, and therefore on block sizes, the number of threads and
the machine; two identical sentences may then tie on one computer and not on another. So vectors are rounded to
multiples of 2^-11 once, when they are computed. A product of two entries is then a multiple of 2^-22, and by
Cauchy-Schwarz no partial sum exceeds the product of the norms, about 1: every partial sum is an integer below 2^24
times 2^-22, which float32 represents exactly. Every order of addition gives the same number, and rankings are
reproducible to the last bit. Float16 represents every such multiple up to 1, so nothing is lost on disk.
The rounding changes a cosine by about 2e-4 (docs/method.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["GRID", "to_grid"]

GRID = 2.0**-11


def to_grid(vectors: NDArray[Any]) -> NDArray[np.float16]:
    """(rows, dimension): rows scaled to unit length, entries rounded to multiples of `GRID`; a zero row stays zero."""
    rows = np.asarray(vectors, dtype=np.float64)
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    unit = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    return np.asarray(np.rint(unit / GRID) * GRID, dtype=np.float16)
