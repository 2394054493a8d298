"""The compiled comparison of sequences of words, against rapidfuzz."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from rapidfuzz.distance import Indel, LCSseq

from rprs.alignment.subsequence import BITS, common_length, equal_blocks

WORDS = 12
SEQUENCES = st.lists(st.integers(0, WORDS - 1), max_size=2 * BITS + 6)


@given(SEQUENCES, SEQUENCES)
@example([], [])
@example([0] * BITS, [0] * (BITS + 1))
@example([0, 1] * BITS, [1, 0] * BITS)
def test_equal_to_rapidfuzz(left: list[int], right: list[int]) -> None:
    ours, theirs, slots = np.array(left, dtype=np.int64), np.array(right, dtype=np.int64), np.zeros(WORDS, np.int64)
    assert common_length(ours, theirs, slots) == LCSseq.similarity(left, right)
    blocks = Indel.editops(left, right).as_matching_blocks()
    assert equal_blocks(ours, theirs, slots).tolist() == [[*block] for block in blocks if block.size]
    assert not slots.any()


def test_long_sequences() -> None:
    random = np.random.default_rng(1)
    left, right = random.integers(0, 300, 700), random.integers(0, 300, 900)
    right[100:500] = left[150:550]
    slots = np.zeros(300, np.int64)
    assert common_length(left, right, slots) == LCSseq.similarity(left.tolist(), right.tolist())
    blocks = Indel.editops(left.tolist(), right.tolist()).as_matching_blocks()
    assert equal_blocks(left, right, slots).tolist() == [[*block] for block in blocks if block.size]
