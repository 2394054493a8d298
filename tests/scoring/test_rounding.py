"""Rounding in one compiled pass gives the bits of rounding step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from rprs.scoring.vectors import to_grid

ENTRIES = st.sampled_from([0.0, -0.0, 1e-9, -1e-9, 0.25, -0.5, 1.0, 3.0]) | st.floats(-4, 4, width=32)
UNUSUAL = ENTRIES | st.sampled_from([np.inf, -np.inf, np.nan, 1e30])


def step_by_step(vectors: NDArray[Any]) -> NDArray[np.float16]:
    out = np.zeros(vectors.shape, dtype="<f2")
    for place, row in enumerate(vectors.astype(np.float64)):
        norm = np.sqrt(np.einsum("ij,ij->i", row[None], row[None]))[0]
        if norm > 0:
            out[place] = np.rint(row / norm * 2**11) / 2**11
    return out


@given(arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=ENTRIES))
@example(-np.eye(3, dtype=np.float32))
@example(np.linspace(-1, 1, 200 * 7, dtype=np.float32).reshape(200, 7))
def test_rounding_gives_the_same_bits_step_by_step(vectors: NDArray[np.float32]) -> None:
    for each in (vectors, vectors.astype(np.float64)):
        assert to_grid(each).tobytes() == step_by_step(each).tobytes()


@given(arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=UNUSUAL))
def test_unusual_values_are_rounded_too(vectors: NDArray[np.float32]) -> None:
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(to_grid(vectors), step_by_step(vectors))
