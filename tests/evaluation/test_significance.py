"""Tests of significance: by hand, against SciPy, and where nothing can be significant."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from rprs.evaluation.measures import Ranked, parse_measure
from rprs.evaluation.significance import (
    Pair,
    bonferroni,
    bootstrap_interval,
    effect_size,
    fisher,
    holm,
    t_interval,
    t_test,
)

Floats = NDArray[np.float64]


def first(parts: Floats) -> Floats:
    return np.asarray(parts[..., 0])


def fisher_of(a: Floats, b: Floats, permutations: int = 100_000, seed: int = 0) -> float:
    """Of two systems by a mean."""
    (p,) = fisher([Pair(a[:, None], b[:, None], first)], permutations=permutations, seed=seed)
    return float(p)


def systems(queries: int, seed: int = 0, gain: float = 0.1) -> tuple[Floats, Floats]:
    random = np.random.default_rng(seed)
    a = random.random(queries)
    return a, np.clip(a + random.normal(gain, 0.2, queries), 0, 1)


# ---------------------------------------------------------------------------- the t-test


def test_a_t_test_by_hand() -> None:
    # differences 1, 2, 3: mean 2, standard deviation 1, t = 2 / (1 / √3) = 3.464 with 2 degrees of freedom
    a, b = np.array([1.0, 2.0, 3.0]), np.zeros(3)
    t = 2 * np.sqrt(3)
    assert t_test(a, b) == pytest.approx(1 - t / np.sqrt(2 + t**2), abs=1e-12)  # the closed form for 2 degrees
    assert t_test(a, b) == pytest.approx(0.0742, abs=5e-5)


@pytest.mark.parametrize("queries", [2, 5, 50, 1000])
def test_the_t_test_is_that_of_scipy(queries: int) -> None:
    a, b = systems(queries)
    assert t_test(a, b) == pytest.approx(float(stats.ttest_rel(a, b).pvalue), rel=1e-9)
    assert t_test(a, b) == t_test(b, a)


def test_a_t_test_without_a_difference_gives_1() -> None:
    a, _ = systems(20)
    assert t_test(a, a) == 1
    assert t_test(a, a + 1e-16) == 1
    assert t_test(np.array([0.2]), np.array([0.9])) == 1
    assert t_test(np.empty(0), np.empty(0)) == 1


def test_the_same_difference_on_every_query_is_significant() -> None:
    assert t_test(np.full(10, 0.3), np.full(10, 0.1)) == 0


# ---------------------------------------------------------------------------- Fisher's test


def test_fishers_test_by_hand() -> None:
    # differences 1, 1, -1: of the 8 choices of signs, all have |sum| >= 1
    assert fisher_of(np.array([1.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])) == 1
    # differences 1, 2, 3: only +++ and --- reach 6
    assert fisher_of(np.array([1.0, 2.0, 3.0]), np.zeros(3)) == 2 / 8
    # differences .1, .1, .1, .3: |sum| >= .6 only with all signs equal
    assert fisher_of(np.array([0.1, 0.1, 0.1, 0.3]), np.zeros(4)) == 2 / 16


@pytest.mark.parametrize("queries", [3, 8, 12])
def test_all_swaps_give_the_p_of_scipy(queries: int) -> None:
    a, b = systems(queries)

    def difference(x: Floats, y: Floats) -> float:
        return float(np.mean(x - y))

    exact = stats.permutation_test((a, b), difference, permutation_type="samples", n_resamples=np.inf)
    assert fisher_of(a, b) == pytest.approx(float(exact.pvalue), abs=1e-12)


def test_random_swaps_approximate_all_swaps() -> None:
    a, b = systems(14, gain=0.05)
    exact = fisher_of(a, b, permutations=2**14)
    estimate = fisher_of(a, b, permutations=2**14 - 1)
    assert exact != estimate
    assert exact == pytest.approx(estimate, abs=0.02)
    assert estimate * 2**14 == pytest.approx(round(estimate * 2**14))  # (as large + 1) / (permutations + 1)


def test_random_swaps_depend_on_the_seed() -> None:
    a, b = systems(40, gain=0.03)
    assert fisher_of(a, b, 999, seed=1) == fisher_of(a, b, 999, seed=1)
    assert len({fisher_of(a, b, 999, seed=seed) for seed in range(5)}) > 1
    assert fisher_of(a, b, 999, seed=1) == fisher_of(b, a, 999, seed=1)


def test_the_p_of_random_swaps_is_never_zero() -> None:
    assert fisher_of(np.ones(100), np.zeros(100), permutations=999) == 1 / 1000


def test_equal_systems_have_p_one() -> None:
    a, _ = systems(100)
    assert fisher_of(a, a, permutations=500) == 1
    assert fisher_of(a[:4], a[:4]) == 1
    assert fisher([]).tolist() == []


def test_a_pooled_measure_is_computed_anew_for_each_swap() -> None:
    random = np.random.default_rng(3)
    measure = parse_measure("micro_F1@3")

    def parts() -> Floats:
        rows = []
        for queries in range(7):
            gains = random.integers(0, 2, (1, 5))
            grades = np.ones(5 + queries, dtype=np.int64)
            rows.append(measure.parts(Ranked(gains, np.arange(5.0, 0, -1)[None], grades))[0])
        return np.stack(rows)

    a, b = parts(), parts()
    observed = abs(float(measure.total(a) - measure.total(b)))
    large = 0
    for number in range(2**7):
        swap = np.array([number >> query & 1 for query in range(7)], dtype=bool)[:, None]
        one, other = np.where(swap, b, a), np.where(swap, a, b)
        large += abs(float(measure.total(one) - measure.total(other))) >= observed - 1e-12
    assert fisher([Pair(a, b, measure.combine)]).tolist() == [large / 2**7]
    assert 0 < large < 2**7


def test_several_pairs_at_once_have_the_p_of_each_alone() -> None:
    a, b = systems(60, 1, gain=0.03)
    c, d = systems(60, 2, gain=0.02)
    two = parse_measure("macro_F1@3")
    pairs = [Pair(a[:, None], b[:, None], first), Pair(np.stack([a, c], 1), np.stack([b, d], 1), two.combine)]
    together = fisher(pairs, permutations=2000)
    alone = [float(fisher([pair], permutations=2000)[0]) for pair in pairs]
    assert together.tolist() == pytest.approx(alone)


def test_more_swaps_than_fit_in_memory_are_processed_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = systems(10, gain=0.05)
    whole = fisher_of(a, b)
    monkeypatch.setattr("rprs.evaluation.significance._BATCH", 50)
    assert fisher_of(a, b) == whole
    assert fisher_of(a, b, permutations=101) == pytest.approx(whole, abs=0.15)


# ---------------------------------------------------------------------------- intervals and effect sizes


@pytest.mark.parametrize("queries", [2, 5, 50, 1000])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.995])
def test_the_interval_of_a_mean_is_that_of_scipy(queries: int, confidence: float) -> None:
    a, b = systems(queries)
    by_scipy = stats.ttest_rel(a, b).confidence_interval(confidence)
    assert t_interval(a, b, confidence) == pytest.approx((by_scipy.low, by_scipy.high), rel=1e-9)


def test_the_interval_by_bootstrap_is_that_of_scipy() -> None:
    """Of a total that is not a mean: the ratio of two sums."""
    random = np.random.default_rng(4)
    a, b = (random.random((60, 2)) + np.array(more) for more in ([0, 1], [0.1, 1]))

    def total(parts: Floats) -> Floats:
        return np.asarray(parts[..., 0].sum(axis=0) / parts[..., 1].sum(axis=0))

    def difference(*columns: Floats, axis: int = -1) -> Floats:
        one, whole_one, other, whole_other = (column.sum(axis=axis) for column in columns)
        return np.asarray(one / whole_one - other / whole_other)

    low, high = bootstrap_interval(a, b, total, 0.95)
    assert low < float(total(a) - total(b)) < high
    by_scipy = stats.bootstrap(
        (*a.T, *b.T), difference, paired=True, vectorized=True, method="percentile", n_resamples=10_000, rng=5
    ).confidence_interval
    assert (low, high) == pytest.approx((by_scipy.low, by_scipy.high), abs=0.05 * (high - low))
    assert bootstrap_interval(a, b, total, 0.95) == (low, high)
    assert bootstrap_interval(a, b, total, 0.95, seed=1) != (low, high)
    assert bootstrap_interval(b, a, total, 0.95) == pytest.approx((-high, -low))


def test_an_interval_by_bootstrap_is_resampled_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = (values[:, None] for values in systems(10))
    mean = parse_measure("AP").total
    whole = bootstrap_interval(a, b, mean, 0.9)
    monkeypatch.setattr("rprs.evaluation.significance._BATCH", 12_345)
    assert bootstrap_interval(a, b, mean, 0.9) == pytest.approx(whole)


def test_effect_sizes_by_hand() -> None:
    # differences 1, 2, 3: mean 2, standard deviation 1
    assert effect_size(np.array([1.0, 2.0, 3.0]), np.zeros(3)) == pytest.approx(2)
    assert effect_size(np.zeros(3), np.array([1.0, 2.0, 3.0])) == pytest.approx(-2)
    # differences 1, -1: mean 0
    assert effect_size(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == 0


def test_the_effect_size_is_t_over_the_root_of_the_number_of_queries() -> None:
    a, b = systems(50)
    assert effect_size(a, b) == pytest.approx(float(stats.ttest_rel(a, b).statistic) / np.sqrt(50))


def test_an_effect_size_that_is_not_defined() -> None:
    assert effect_size(np.full(5, 0.3), np.full(5, 0.3)) == 0
    assert np.isnan(effect_size(np.full(5, 0.3), np.full(5, 0.1)))
    assert np.isnan(effect_size(np.array([0.3]), np.array([0.1])))
    assert np.isnan(t_interval(np.array([0.3]), np.array([0.1]), 0.95)).all()
    assert np.isnan(bootstrap_interval(np.ones((1, 1)), np.zeros((1, 1)), parse_measure("AP").total, 0.95)).all()


# ---------------------------------------------------------------------------- corrections


def test_corrections_by_hand() -> None:
    p = np.array([0.01, 0.04, 0.03, 0.5])
    assert bonferroni(p).tolist() == pytest.approx([0.04, 0.16, 0.12, 1])
    assert holm(p).tolist() == pytest.approx([0.04, 0.09, 0.09, 0.5])  # .01·4, .03·3, then max(.04·2, .09), .5·1


@given(st.lists(st.floats(0, 1), min_size=1, max_size=10))
def test_holm_lies_between_p_and_bonferroni_and_keeps_the_order(values: list[float]) -> None:
    p = np.array(values)
    stepped = holm(p)
    assert (p <= stepped + 1e-15).all()
    assert (stepped <= bonferroni(p) + 1e-15).all()
    assert (np.diff(stepped[np.argsort(p, kind="stable")]) >= 0).all()
