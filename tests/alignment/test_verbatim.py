"""Common runs: every sequence of 8 words that both texts have is covered, on both sides."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rprs.alignment.verbatim import LEAST_RUN, Sequences, common_runs, equal_sentences

WORDS = st.lists(st.integers(0, 2), max_size=60)


def sequences(words: list[int], *bounds: int) -> Sequences:
    inner = bounds or (0,)
    return Sequences(np.array(words, dtype=np.uint64), np.array([*inner, len(words)], dtype=np.int64))


def windows(words: list[int]) -> list[tuple[int, ...]]:
    return [tuple(words[at : at + LEAST_RUN]) for at in range(len(words) - LEAST_RUN + 1)]


@given(WORDS, WORDS)
def test_every_common_sequence_is_covered(query: list[int], document: list[int]) -> None:
    runs = common_runs(sequences(query), sequences(document)).tolist()
    for side, other, column in ((query, document, 0), (document, query, 1)):
        covered = {word for run in runs for word in range(run[column], run[column] + run[2])}
        for place, window in enumerate(windows(side)):
            if window in windows(other):
                assert set(range(place, place + LEAST_RUN)) <= covered


@given(WORDS, WORDS)
def test_runs_are_equal_and_cannot_be_extended(query: list[int], document: list[int]) -> None:
    runs = common_runs(sequences(query), sequences(document)).tolist()
    assert runs == sorted(runs)
    for left, right, size in runs:
        assert size >= LEAST_RUN
        assert query[left : left + size] == document[right : right + size]
        assert left == 0 or right == 0 or query[left - 1] != document[right - 1]
        ends = left + size, right + size
        assert ends[0] == len(query) or ends[1] == len(document) or query[ends[0]] != document[ends[1]]


def test_a_passage_that_repeats_hundreds_of_times() -> None:
    passage = list(range(20))
    query, document = passage * 300, [99, *passage, 98] * 500
    runs = common_runs(sequences(query), sequences(document))
    covered = np.zeros(len(document), dtype=bool)
    for _, right, size in runs.tolist():
        covered[right : right + size] = True
    assert covered.reshape(500, 22)[:, 1:21].all()
    assert len(runs) < 2000


def test_a_short_sentence_within_a_longer_one() -> None:
    query, document = sequences([1, 2, 3, 4, 9, 8], 0, 4), sequences([7, 1, 2, 3, 4, 9, 8], 0, 5)
    assert equal_sentences(query, document).tolist() == [[0, 1, 4], [4, 5, 2]]
    assert equal_sentences(sequences([1, 2, 3]), sequences([1, 2, 3, 4])).tolist() == []  # fewer than 4 words
