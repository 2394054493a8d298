"""The stream of phrase postings: what is encoded is decoded, looked up and counted exactly, and damage is harmless."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rprs.scoring import bm25, cosine
from rprs.scoring.phrases import SPACE, Inverted, Stream, decode, encode, find, in_order, invert, phrase_hashes, stream

sequences = st.lists(st.lists(st.integers(0, 6), max_size=12), min_size=1, max_size=8)


def hashed(words: list[int]) -> NDArray[np.uint64]:
    """Stand-ins for the hashes of terms, spread over 64 bits."""
    return np.array([(word + 1) * 0x9E3779B97F4A7C15 % 2**64 for word in words], dtype=np.uint64)


def counted(documents: list[list[int]]) -> dict[int, dict[int, int]]:
    """Phrase → document → count, one occurrence at a time."""
    counts: dict[int, dict[int, int]] = {}
    for number, words in enumerate(documents):
        for length in (2, 3):
            for start in range(len(words) - length + 1):
                (phrase,) = phrase_hashes(hashed(words[start : start + length]))[length - 2].tolist()
                counts.setdefault(phrase, Counter())[number] += 1
    return counts


def test_a_phrase_of_three_terms_is_odd_and_one_of_two_is_even() -> None:
    pairs, triples = phrase_hashes(hashed([1, 2, 3, 4]))
    assert (len(pairs), len(triples)) == (3, 2)
    assert not np.any(pairs & 1)
    assert np.all(triples & 1)


def test_order_and_repetition_matter() -> None:
    distinct = {tuple(words) for words in ([1, 2], [2, 1], [1, 1], [2, 2])}
    assert len({int(phrase_hashes(hashed(list(words)))[0][0]) for words in distinct}) == 4


@pytest.mark.parametrize("words", [[], [5], [5, 6]])
def test_short_texts_have_few_phrases_or_none(words: list[int]) -> None:
    pairs, triples = phrase_hashes(hashed(words))
    assert (len(pairs), len(triples)) == (max(len(words) - 1, 0), 0)
    empty = stream([hashed(words), hashed([])])
    assert in_order(empty.directory, empty.data, 2)
    assert len(decode(empty, 0, SPACE).phrases) == len(pairs)


def test_collisions_are_as_rare_as_31_bits_allow() -> None:
    random = Random(1)
    terms = np.array([random.getrandbits(64) for _ in range(300_000)], dtype=np.uint64)
    pairs = phrase_hashes(terms)[0]
    expected = len(pairs) ** 2 / 2 / 2**31
    assert abs(len(pairs) - len(np.unique(pairs)) - expected) < 6 * expected**0.5


@settings(max_examples=150)
@given(documents=sequences, cut=st.integers(0, SPACE), bits=st.sampled_from([0, 1, 5, 11]))
def test_everything_is_decoded_as_it_was_encoded(documents: list[list[int]], cut: int, bits: int) -> None:
    counts = counted(documents)
    rows = [(phrase, *posting) for phrase in sorted(counts) for posting in sorted(counts[phrase].items())]
    streams = [stream([hashed(words) for words in documents])]
    columns = [np.array([row[column] for row in rows], dtype=np.int64) for column in range(3)]
    sizes, data = encode(Inverted(columns[0].astype(np.uint32), columns[1].astype(np.uint32), columns[2]), bits)
    streams.append(Stream(np.concatenate([[0], np.cumsum(sizes)]), data))
    for each in streams:
        assert in_order(each.directory, each.data, len(documents))
        parts = [decode(each, 0, cut), decode(each, cut, SPACE)] if 0 < cut < SPACE else [decode(each, 0, SPACE)]
        names = ("phrases", "documents", "counts")
        arrays = [np.concatenate([getattr(part, name) for part in parts]) for name in names]
        assert list(zip(*(array.tolist() for array in arrays), strict=True)) == rows


@settings(max_examples=100)
@given(documents=sequences, removed=st.sets(st.integers(0, 7)), seed=st.integers(0, 99))
def test_lookup_frequency_and_scores_equal_a_count_by_hand(
    documents: list[list[int]], removed: set[int], seed: int
) -> None:
    counts = counted(documents)
    encoded = stream([hashed(words) for words in documents])
    random = Random(seed)
    queried = np.array(sorted({*counts, *(random.getrandbits(32) for _ in range(5))}), dtype=np.uint32)
    located = find(encoded, queried)
    columns = zip(located.starts.tolist(), located.stops.tolist(), strict=True)
    assert [located.documents[start:stop].tolist() for start, stop in columns] == [
        sorted(counts.get(phrase, ())) for phrase in queried.tolist()
    ]

    live = np.array([number not in removed for number in range(len(documents))])
    df, cf = np.zeros(len(queried), dtype=np.int64), np.zeros(len(queried), dtype=np.int64)
    bm25.live_counts(located.starts, located.stops, located.documents, located.counts, live, df, cf)
    assert df.tolist() == [len(counts.get(phrase, {}).keys() - removed) for phrase in queried.tolist()]

    weights, scores = np.arange(1.0, len(queried) + 1), np.zeros(len(documents))
    bounds, postings = (located.starts, located.stops), (located.documents, located.counts)
    cosine.accumulate(*bounds, weights, *postings, np.array([1.0, 1.0]), scores)
    expected = np.zeros(len(documents))
    for weight, phrase in zip(weights, queried.tolist(), strict=True):
        for number, count in counts.get(phrase, {}).items():
            expected[number] += weight * (1 + np.log(count))
    assert scores == pytest.approx(expected, rel=1e-12)


def test_counts_of_any_size() -> None:
    counts = [1, 2, 3, 127, 128, 129, 130, 16_383, 16_386, 2_000_000_000]
    postings = Inverted(
        np.full(len(counts), 77, dtype=np.uint32),
        np.array([0, 1, 63, 64, 65, 8191, 8192, 100_000, 2**21, 2**31], dtype=np.uint32),
        np.array(counts, dtype=np.int64),
    )
    sizes, data = encode(postings, 0)
    decoded = decode(Stream(np.array([0, *np.cumsum(sizes)]), data), 0, SPACE)
    assert decoded.counts.tolist() == counts
    assert decoded.documents.tolist() == postings.documents.tolist()


def test_a_frequent_phrase_beside_rare_ones() -> None:
    sequences = [hashed([1, 2, 2, 2, number + 3]) for number in range(3000)]
    (pair,), (repeated, *_) = phrase_hashes(hashed([1, 2]))[0], phrase_hashes(hashed([2, 2]))[0].tolist()
    queried = np.unique(np.array([pair, repeated, 7], dtype=np.uint32))
    located = find(stream(sequences), queried)
    sizes = dict(zip(queried.tolist(), (located.stops - located.starts).tolist(), strict=True))
    assert sizes == {7: 0, int(pair): 3000, repeated: 3000}
    place = int(located.starts[queried.tolist().index(repeated)])
    assert located.documents[place : place + 3000].tolist() == list(range(3000))
    assert set(located.counts[place : place + 3000].tolist()) == {2}


def _everything(encoded: Stream, documents: int) -> list[Any]:
    """Call every function that reads a stream."""
    queried = np.arange(0, SPACE, SPACE // 50, dtype=np.uint32)
    located, scores = find(encoded, queried), np.zeros(documents)
    assert located.stops[-1] == len(located.documents) == len(located.counts)
    bounds, postings = (located.starts, located.stops), (located.documents, located.counts)
    cosine.accumulate(*bounds, np.ones(len(queried)), *postings, np.ones(2), scores)
    return [decode(encoded, 0, SPACE), scores]


def test_a_damaged_stream_is_read_without_harm() -> None:
    random = Random(3)
    documents = [[random.randrange(5) for _ in range(20)] for _ in range(6)]
    intact = stream([hashed(words) for words in documents])
    noticed = 0
    for _ in range(400):
        directory, data = intact.directory.copy(), intact.data.copy()
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        directory[random.randrange(len(directory))] += random.choice([0, 1, -1, 2**40, -(2**40)])
        damaged = Stream(directory, data)
        noticed += not in_order(directory, data, len(documents))
        with np.errstate(all="ignore"):
            _everything(damaged, len(documents))
    assert noticed > 200


def test_a_bucket_that_ends_within_a_number_is_read_without_harm() -> None:
    intact = stream([hashed(list(range(number, number + 9))) for number in range(70)])
    every = np.unique(decode(intact, 0, SPACE).phrases)
    for bucket in range(len(intact.directory) - 1):
        for end in range(int(intact.directory[bucket]), int(intact.directory[bucket + 1])):
            directory = intact.directory.copy()
            directory[bucket + 1] = end
            damaged = Stream(directory, intact.data)
            located = find(damaged, every)
            assert np.all(located.stops >= located.starts)
            assert located.stops[-1] == len(located.documents) == len(located.counts)


def test_invert_counts_occurrences_in_any_order() -> None:
    inverted = invert(np.array([9, 4, 9, 9], dtype=np.uint32), np.array([1, 0, 0, 1]))
    assert inverted.phrases.tolist() == [4, 9, 9]
    assert inverted.documents.tolist() == [0, 0, 1]
    assert inverted.counts.tolist() == [1, 1, 2]
