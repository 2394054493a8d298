"""The nearest sentences of a collection: exact, whatever the arrays, units and threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rprs.errors import Cancelled
from rprs.scoring.nearest import StoredDocuments, nearest_sentences
from rprs.scoring.vectors import VECTOR_TYPES, VectorType, precision_of, to_grid
from tests.support.vectors import integers


def stored(vectors: NDArray[Any], sizes: list[int], keys: list[int]) -> StoredDocuments:
    """Documents one after the other; `keys` are those of their first sentences."""
    stops = np.cumsum(sizes).astype(np.int64)
    vectors.flags.writeable = False  # as mapped files are
    return StoredDocuments(vectors, stops - sizes, stops, np.array(keys, dtype=np.int64))


def test_by_hand() -> None:
    """Sentences at 0, 45 and 90 degrees from the query: the two at 0 degrees tie, and the smaller key is first."""
    query = to_grid(np.array([[1.0, 0.0]]))
    first = stored(to_grid(np.array([[0, 1], [1, 0], [1, 1]])), [2, 1], [10, 40])
    second = stored(to_grid(np.array([[1, 0]])), [1], [5])
    similarity, keys = nearest_sentences(query, [first, second], 3)
    assert keys.tolist() == [[5, 11, 40]]
    assert similarity.tolist() == [[1.0, 1.0, round(0.5**0.5 * 2048) / 2048]]
    assert nearest_sentences(query, [first, second], 99)[1].tolist() == [[5, 11, 40, 10]]
    assert nearest_sentences(query, [], 3)[1].shape == (1, 0)
    assert nearest_sentences(query[:0], [first], 3)[1].shape == (0, 0)


@pytest.mark.parametrize("vectors", VECTOR_TYPES)
@pytest.mark.parametrize("sentences", [1, 3, 4, 9])
def test_equals_integer_arithmetic(vectors: VectorType, sentences: int) -> None:
    """Also where sentences of the query are compared in groups of four, and some are left over."""
    rng = np.random.default_rng(3)
    query = to_grid(rng.standard_normal((sentences, 384)), vectors)
    pool = to_grid(rng.standard_normal((900, 384)), vectors)
    pool[700] = pool[20] = query[0]
    exact = integers(query) @ integers(pool).T
    best = np.argsort(-exact, axis=1, kind="stable")[:, :50]
    similarity, keys = nearest_sentences(query, [stored(pool, [400, 500], [0, 400])], 50, unit=100)
    assert np.array_equal(keys, best)
    assert np.array_equal(similarity.astype(float) * precision_of(query).per_unit, np.take_along_axis(exact, best, 1))


@settings(max_examples=50)
@given(
    sizes=st.lists(st.integers(0, 40), min_size=1, max_size=10),
    cut=st.integers(0, 10),
    n=st.integers(1, 15),
    threads=st.integers(1, 4),
    unit=st.integers(1, 60),
    sentences=st.integers(1, 9),
    vectors=st.sampled_from(VECTOR_TYPES),
)
def test_arrays_units_and_threads_change_nothing(
    sizes: list[int], cut: int, n: int, threads: int, unit: int, sentences: int, vectors: VectorType
) -> None:
    rng = np.random.default_rng(len(sizes) + sum(sizes))
    pool = to_grid(rng.integers(-1, 2, (sum(sizes), 6)), vectors)  # few distinct vectors: many ties
    query = to_grid(rng.integers(-1, 2, (sentences, 6)), vectors)
    keys = np.append(0, np.cumsum(sizes))[:-1].tolist()
    rows = sum(sizes[:cut])
    parts = [stored(pool[:rows], sizes[:cut], keys[:cut]), stored(pool[rows:], sizes[cut:], keys[cut:])]
    expected = nearest_sentences(query, [stored(pool, sizes, keys)], n, threads=1)
    actual = nearest_sentences(query, parts[::-1], n, threads=threads, unit=unit)
    assert np.array_equal(expected[0], actual[0])
    assert np.array_equal(expected[1], actual[1])


def test_an_error_ends_the_pass() -> None:
    def check(_documents: StoredDocuments) -> None:
        raise Cancelled("stopped")

    pool = to_grid(np.ones((300, 4)))
    with pytest.raises(Cancelled):
        nearest_sentences(pool[:1], [stored(pool, [1] * 300, [*range(300)])], 5, check=check, unit=10)
