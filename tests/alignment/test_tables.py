"""Tables of keys, against dictionaries."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rprs.alignment.tables import group_places, make_table, number_keys

# many keys with the same last bits share a slot of the table
KEYS = st.lists(st.builds(lambda high, low: (high << 60) + low, st.integers(0, 9), st.integers(0, 3)), max_size=40)


@given(KEYS, KEYS)
def test_keys_have_the_numbers_of_their_first_places(keys: list[int], others: list[int]) -> None:
    distinct = list(dict.fromkeys(keys))
    slots, found, numbers = make_table(np.array(keys, dtype=np.uint64))
    assert found.tolist() == distinct
    assert numbers.tolist() == [distinct.index(key) for key in keys]
    known = number_keys(np.array(others, dtype=np.uint64), slots, found).tolist()
    assert known == [distinct.index(key) if key in distinct else len(distinct) for key in others]


@given(st.lists(st.integers(0, 5), max_size=30))
def test_places_are_grouped_by_number_in_their_order(numbers: list[int]) -> None:
    places = np.arange(len(numbers)) * 10
    starts, grouped = group_places(np.array(numbers, dtype=np.int64), places, 6)
    groups = [grouped[starts[number] : starts[number + 1]].tolist() for number in range(6)]
    assert groups == [[10 * at for at, each in enumerate(numbers) if each == number] for number in range(6)]
