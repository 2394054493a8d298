"""The order of all re-ranked candidates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["best_first"]


def best_first(scores: NDArray[np.float64], empty: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(k,): candidates by descending score; among equal scores, empty documents last, otherwise first-stage order.

    `scores` and `empty` (which candidates have no sentences) are in first-stage order.
    """
    return np.lexsort((np.arange(len(scores)), empty, -scores)).astype(np.int64)
