"""All points of a grid at once are, to the last bit, what one point at a time gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rprs.document import Neighbours
from rprs.scoring import grid
from rprs.scoring.rprs import order, rprs

PAPER_K1, PAPER_B = np.repeat(np.arange(16) * 2 / 10, 11), np.tile(np.arange(11) / 10, 16)


def neighbours_of(rows: NDArray[np.int64], lengths: NDArray[np.int64]) -> Neighbours:
    """Neighbours by their numbers; how similar they are does not matter here."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Neighbours(np.zeros(rows.shape, dtype=np.float32), rows, offsets)


def random_neighbours(seed: int, m: int, documents: int, longest: int, n: int, skew: float) -> Neighbours:
    """Realistic neighbours: a few sentences of the pool are near many of the query, most are near none."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, longest + 1, documents)
    size = int(lengths.sum())
    share = 1 / np.arange(1, size + 1) ** skew
    popular = rng.permutation(size)
    rows = [
        popular[rng.choice(size, min(n, size), replace=False, p=share / share.sum())] for _ in range(m if size else 0)
    ]
    return neighbours_of(np.array(rows, dtype=np.int64).reshape(m if size else 0, min(n, size)), lengths)


def agrees(neighbours: Neighbours, n: list[int], k1: NDArray[np.float64], b: NDArray[np.float64], avgdl: float) -> None:
    scores = grid.scores(neighbours, n, k1, b, avgdl)
    orders = grid.orders(scores, neighbours.offsets)
    assert scores.shape == (len(n), len(neighbours.offsets) - 1, len(k1))
    for level, size in enumerate(n):
        for point in range(len(k1)):
            one = rprs(neighbours, n=size, k1=k1[point], b=b[point], avgdl=avgdl)
            assert scores[level, :, point].tobytes() == one.score.tobytes()
            assert orders[level, point].tolist() == order(one, neighbours).tolist()


@given(
    seed=st.integers(0, 2**32),
    m=st.integers(0, 30),
    documents=st.integers(0, 8),
    longest=st.integers(0, 12),
    skew=st.sampled_from([0.0, 1.0, 3.0]),
    n=st.lists(st.integers(1, 12), min_size=1, max_size=5, unique=True).map(sorted),
    points=st.lists(st.tuples(st.floats(0, 20), st.floats(0, 1)), min_size=1, max_size=6),
    avgdl=st.sampled_from([0.0, 0.3, 7.0, 123.456]),
)
def test_every_point_is_the_same_to_the_last_bit(
    seed: int,
    m: int,
    documents: int,
    longest: int,
    skew: float,
    n: list[int],
    points: list[tuple[float, float]],
    avgdl: float,
) -> None:
    k1, b = (np.array(values) for values in zip(*points, strict=True))
    agrees(random_neighbours(seed, m, documents, longest, 12, skew), n, k1, b, avgdl)


@pytest.mark.parametrize(("m", "skew"), [(40, 0.5), (150, 1.2)])
def test_the_grid_of_the_paper(m: int, skew: float) -> None:
    agrees(random_neighbours(7, m, 30, 60, 10, skew), list(range(1, 11)), PAPER_K1, PAPER_B, 31.7)


def test_plain_rprs_ties_often_and_ties_keep_the_first_stage() -> None:
    """At k1 = 0 equal counts of sentences are equal scores; a document without sentences comes last."""
    neighbours = neighbours_of(np.array([[0, 2], [4, 1]]), np.array([1, 1, 0, 1, 1, 1]))
    orders = grid.orders(grid.scores(neighbours, [1, 2], [0.0], [0.0], 1.0), neighbours.offsets)
    assert orders[0, 0].tolist() == [0, 5, 1, 3, 4, 2]
    assert orders[1, 0].tolist() == [0, 1, 3, 5, 4, 2]


def test_a_sentence_that_is_near_to_everything() -> None:
    """Counts up to m: the table of counts has one row per distinct count, not one up to the largest."""
    rows = np.array([[3, place % 3] for place in range(500)])
    agrees(neighbours_of(rows, np.array([3, 2])), [1, 2], PAPER_K1[::7], PAPER_B[::7], 2.5)


def test_neighbours_beyond_the_largest_n_do_not_count() -> None:
    wide = random_neighbours(3, 20, 6, 10, 10, 1.0)
    narrow = Neighbours(wide.similarity[:, :3], wide.sentence[:, :3], wide.offsets)
    scores = [grid.scores(one, [2, 3], PAPER_K1, PAPER_B, 5.0) for one in (wide, narrow)]
    assert scores[0].tobytes() == scores[1].tobytes()
