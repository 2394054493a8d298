"""Vectors on the grids of both types, as random input and as integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from rprs.scoring.vectors import PRECISIONS, VectorType, precision_of


def plane_vectors(vector_type: VectorType) -> st.SearchStrategy[tuple[float, float]]:
    """Vectors of two dimensions and a length of at most about 1."""
    grid = PRECISIONS[vector_type].grid
    entries = st.integers(-round(0.73 / grid), round(0.73 / grid)).map(lambda unit: int(unit) * grid)
    return st.tuples(entries, entries) | st.sampled_from([(1.0, 0.0), (0.0, 0.0), (-1.0, 0.0)])


def integers(vectors: NDArray[Any]) -> NDArray[np.int64]:
    """Vectors as multiples of their grid; arithmetic on integers has no rounding."""
    multiples = vectors.astype(np.float64) / precision_of(vectors).grid
    assert np.array_equal(multiples, np.rint(multiples))
    return multiples.astype(np.int64)
