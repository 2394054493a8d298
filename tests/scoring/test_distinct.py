"""Different values, against NumPy."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rprs.scoring.distinct import count_values, distinct, first_places, places_among

VALUES = st.lists(st.integers(0, 6), max_size=30)


@given(VALUES)
def test_as_numpy(values: list[int]) -> None:
    array = np.array(values, dtype=np.uint32)
    expected, first, inverse, counts = np.unique(array, return_index=True, return_inverse=True, return_counts=True)
    found, numbers, occurrences = distinct(array)
    assert found.dtype == np.uint32
    assert found.tolist() == expected.tolist()
    assert numbers.tolist() == inverse.tolist()
    assert occurrences.tolist() == counts.tolist()
    assert first_places(numbers, len(found)).tolist() == first.tolist()
    assert count_values(array).tolist() == np.bincount(array).tolist()


@given(st.sets(st.integers(0, 20)), st.sets(st.integers(0, 20)))
def test_places_among_others(values: set[int], others: set[int]) -> None:
    ordered = sorted(others)
    found = places_among(*(np.array(sorted(each), dtype=np.uint32) for each in (values, others)))
    assert found.tolist() == [ordered.index(value) if value in others else -1 for value in sorted(values)]
