"""Looking up terms by their hashes."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from rprs.index import terms
from rprs.index.terms import Terms, count_terms, hash_places, hash_term, term_hashes

MOST = 2**64 - 1
NUMBERS = st.one_of(st.integers(0, MOST), st.integers(0, 20), st.integers(MOST - 20, MOST))


def places(stored: np.ndarray, queried: np.ndarray) -> tuple[list[int], list[int]]:
    first, last = np.zeros((2, len(queried)), dtype=np.int64)
    hash_places(stored, queried, first, last)
    return first.tolist(), last.tolist()


@given(
    arrays.arrays(np.uint64, st.integers(0, 60), elements=NUMBERS),
    arrays.arrays(np.uint64, st.integers(0, 20), elements=NUMBERS),
)
def test_hashes_are_found_however_they_are_distributed(stored: np.ndarray, others: np.ndarray) -> None:
    stored = np.sort(stored)
    queried = np.concatenate([others, stored])
    expected = [np.searchsorted(stored, queried, side=side).tolist() for side in ("left", "right")]
    assert list(places(stored, queried)) == expected


@pytest.mark.parametrize("size", [1, 1_000, 100_000])
@pytest.mark.parametrize("low", [0, MOST // 3])
def test_many_even_and_uneven_hashes_are_found(size: int, low: int) -> None:
    random = np.random.default_rng(size)
    stored = np.sort(random.integers(low, MOST, size, dtype=np.uint64, endpoint=True))
    stored[: size // 2] >>= np.uint64(30)  # half of them close together
    stored = np.sort(stored)
    queried = np.concatenate([stored[::7], random.integers(0, MOST, 500, dtype=np.uint64), [np.uint64(MOST)]])
    expected = [np.searchsorted(stored, queried, side=side).tolist() for side in ("left", "right")]
    assert list(places(stored, queried)) == expected


def test_unsorted_hashes_of_a_damaged_file_give_places_within_it() -> None:
    stored = np.random.default_rng(0).integers(0, MOST, 1_000, dtype=np.uint64)
    first, last = places(stored, stored)
    assert min(first) >= 0
    assert max(last) <= 1_000


def test_terms_are_hashed_and_encoded_in_their_order() -> None:
    words = ["wheat", "Größe", "麦", "", "a\udc80", "wheat"]
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    queried = Terms.of(Counter(words))
    assert queried.bytes.tobytes() == b"".join(encoded[:5])
    assert queried.offsets.tolist() == [0, *np.cumsum([len(term) for term in encoded[:5]])]
    assert queried.hashes.tolist() == [hash_term(term) for term in encoded[:5]]
    assert term_hashes(words).tolist() == [hash_term(term) for term in encoded]
    assert term_hashes([]).tolist() == []
    assert Terms.of([]).offsets.tolist() == [0]


def test_the_table_of_hashes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms, "REMEMBERED", 10)
    monkeypatch.setattr(terms, "_digests", terms._Digests())
    words = [f"w{number}" for number in range(35)]
    assert term_hashes(words).tolist() == [hash_term(word.encode()) for word in words]
    assert len(terms._digests) == 5


@pytest.mark.parametrize("piece", [3, 2**16])
def test_terms_are_counted_in_the_order_of_their_first_occurrence(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms, "PIECE", piece)
    words = ["wheat", "Größe", "wheat", "麦", "", "a\udc80", "Größe", "wheat"]
    found, expected = count_terms(words), Terms.of(Counter(words))
    assert found.counts.tolist() == [3, 2, 1, 1, 1]
    assert found.numbers.tolist() == [0, 1, 0, 2, 3, 4, 1, 0]
    assert found.terms.hashes.tolist() == expected.hashes.tolist()
    assert found.terms.offsets.tolist() == expected.offsets.tolist()
    assert found.terms.bytes.tobytes() == expected.bytes.tobytes()
    assert count_terms([]).terms.offsets.tolist() == [0]


def test_a_query_may_have_more_terms_than_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms, "REMEMBERED", 100)
    monkeypatch.setattr(terms, "_vocabulary", terms._Vocabulary())
    words = [f"a word of some length {number}" for number in range(10_000)]
    for _ in range(2):
        found = count_terms(words).terms
        assert found.hashes.tolist() == term_hashes(words).tolist()
        assert found.bytes.tobytes() == "".join(words).encode()
        assert len(terms._vocabulary) == 0


def test_threads_that_count_at_once_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms, "_vocabulary", terms._Vocabulary())
    texts = [[f"w{(number * step) % 9_973}" for number in range(9_973)] for step in (1, 2, 3, 5)]
    with ThreadPoolExecutor(4) as pool:
        counted = list(pool.map(count_terms, texts * 4))
    for words, found in zip(texts * 4, counted, strict=True):
        assert found.terms.bytes.tobytes() == "".join(words).encode()
        assert found.terms.hashes.tolist() == term_hashes(words).tolist()
