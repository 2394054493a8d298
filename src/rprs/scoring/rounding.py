"""Rows → multiples of 2^-11 in 16 bits, in one compiled pass; `scoring.vectors` says what the grid is for."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled

__all__ = ["round_to_half"]

_STEPS = 2**11  # of the grid between 0 and 1
_TO_INTEGERS = 1.5 * 2.0**52  # a sum with it is rounded to an integer, ties to even; `rint` takes longer
_MINUS_ZERO = np.uint16(0x8000)


def round_to_half(rows: NDArray[np.float64], norms: NDArray[np.float64], out: NDArray[np.float16]) -> None:
    """Write rows / norms, rounded to the grid; a row without a positive norm becomes zero. Norms must be finite."""
    _round(rows, norms, _bits(), out.view(np.uint16))


@cache
def _bits() -> NDArray[np.uint16]:
    """The bits of all multiples of the grid from -1 to 1."""
    return (np.arange(-_STEPS, _STEPS + 1) / _STEPS).astype("<f2").view(np.uint16)


@compiled
def _round(rows: Any, norms: Any, bits: Any, out: Any) -> None:
    for row in range(rows.shape[0]):
        norm = norms[row]
        if not norm > 0:
            out[row] = 0
            continue
        for column in range(rows.shape[1]):
            value = rows[row, column] / norm * _STEPS
            step = np.int64((value + _TO_INTEGERS) - _TO_INTEGERS)
            out[row, column] = bits[step + _STEPS] if step or not np.signbit(value) else _MINUS_ZERO
