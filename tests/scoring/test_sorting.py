"""Sorting and binary search give what NumPy's give."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rprs.scoring.sorting import ascending, first_at_least

values = st.integers(-3, 3)


@given(st.integers(0, 40).flatmap(lambda size: arrays(np.int64, (size, 3), elements=values)))
def test_rows_are_sorted_by_their_columns_and_equal_rows_stay_in_order(rows: np.ndarray) -> None:
    assert ascending(rows).tolist() == np.lexsort(rows.T[::-1]).tolist()


@given(arrays(np.float64, st.integers(0, 40), elements=st.sampled_from([-0.5, -0.0, 0.0, 0.25, 1.0])))
def test_single_numbers_are_sorted(keys: np.ndarray) -> None:
    assert ascending(keys.reshape(-1, 1)).tolist() == np.argsort(keys, kind="stable").tolist()


@given(arrays(np.int64, st.integers(0, 20), elements=values), values)
def test_a_place_is_found_by_halving(numbers: np.ndarray, value: int) -> None:
    ordered = np.sort(numbers)
    assert first_at_least(ordered, value) == np.searchsorted(ordered, value)
    assert first_at_least(ordered, value + 1) == np.searchsorted(ordered, value, side="right")
