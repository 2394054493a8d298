"""Random and best orders of given candidates: by hand, in closed form, and over every possible order."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rprs.document import Ranking
from rprs.errors import UsageError
from rprs.evaluation.evaluate import evaluate
from rprs.evaluation.measures import Measure, parse_measure, parse_measures
from rprs.evaluation.references import best_order, random_order

MEASURES = parse_measures("P@1 P@3 R@2 AP AP@3 nDCG@3 nDCG RR Rprec F1@2 macro_F1@2 Judged@2 Bpref")
LINEAR = parse_measures("P@1 P@3 R@2 nDCG@3 nDCG macro_P@2 Judged@2")  # sums over ranks


def ranking(ids: str) -> Ranking:
    return Ranking(tuple(ids), np.arange(len(ids), 0, -1, dtype=np.float64))


def values_of_every_order(ids: str, grades: dict[str, int], measure: Measure) -> list[float]:
    return [
        evaluate({"q": ranking("".join(order))}, {"q": grades}, [measure]).total(measure) for order in permutations(ids)
    ]


def test_by_hand() -> None:
    # one relevant document among four: at rank 1, 2, 3, 4 with probability 1/4
    random = random_order({"q": ranking("abcd")}, {"q": {"c": 1}}, parse_measures("P@1 R@2 RR nDCG"))
    assert random["P@1"] == pytest.approx(1 / 4)
    assert random["R@2"] == pytest.approx(1 / 2)
    assert random["RR"] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
    assert random["nDCG"] == pytest.approx(np.mean(1 / np.log2([2, 3, 4, 5])))
    best = best_order({"q": ranking("abcd")}, {"q": {"c": 1, "d": 2, "b": 0}})
    assert best["q"].ids == ("d", "c", "a", "b")
    assert best["q"].scores.tolist() == [4, 3, 2, 1]


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 5).flatmap(lambda n: st.lists(st.integers(-1, 2), min_size=n, max_size=n)),
    st.integers(0, 3),
)
def test_against_every_order(listed: list[int], missed: int) -> None:
    """−1 stands for a document that was not judged; `missed` relevant documents are not in the list."""
    ids = "abcde"[: len(listed)]
    grades = {id: grade for id, grade in zip(ids, listed, strict=True) if grade >= 0} | {"x": 1}
    grades |= {f"y{n}": 1 for n in range(missed)}
    run, qrels = {"q": ranking(ids)}, {"q": grades}
    random, best = random_order(run, qrels, MEASURES), evaluate(best_order(run, qrels), qrels, MEASURES)
    for measure in MEASURES:
        values = values_of_every_order(ids, grades, measure)
        if measure.compared:
            assert best.total(measure) == pytest.approx(max(values), abs=1e-12), measure
        exact = measure in LINEAR
        # the F1 of means is not a mean; other values are means over about a thousand orders
        if str(measure) != "macro_F1@2":
            assert random.total(measure) == pytest.approx(np.mean(values), abs=1e-12 if exact else 0.05), measure


def test_measures_that_add_up_over_ranks_are_exact_in_long_lists() -> None:
    ids = tuple(f"d{n}" for n in range(37))
    run = {query: Ranking(ids, np.arange(37, 0, -1.0)) for query in ("q1", "q2")}
    qrels = {"q1": {"d1": 1, "d2": 2, "d40": 1}, "q2": {f"d{n}": n % 2 for n in range(9)}}
    random = random_order(run, qrels, parse_measures("P@5 R@10 Judged@5 micro_R@10"))
    assert random["P@5"] == pytest.approx((2 / 37 + 4 / 37) / 2)
    assert random["R@10"] == pytest.approx((2 / 3 + 1) / 2 * 10 / 37)
    assert random["Judged@5"] == pytest.approx((2 / 37 + 9 / 37) / 2)
    assert random["micro_R@10"] == pytest.approx(6 / 7 * 10 / 37)


def test_the_expected_average_precision_has_a_closed_form() -> None:
    """With r relevant of n: the mean over ranks i of (1 + (i − 1)(r − 1)/(n − 1)) / i."""
    n, r, queries = 50, 6, [f"q{number}" for number in range(40)]
    run = {query: Ranking(tuple(map(str, range(n))), np.arange(n, 0, -1.0)) for query in queries}
    qrels = {query: {str(number): 1 for number in range(r)} for query in queries}
    ranks = np.arange(1, n + 1)
    expected = np.mean((1 + (ranks - 1) * (r - 1) / (n - 1)) / ranks)
    assert random_order(run, qrels, [parse_measure("AP")])["AP"] == pytest.approx(expected, rel=0.005)


def test_the_seed_and_the_query_alone_decide() -> None:
    run, qrels = {q: ranking("abcdefg") for q in ("q1", "q2")}, {q: {"b": 1, "f": 1} for q in ("q1", "q2")}
    both, alone = random_order(run, qrels, MEASURES), random_order(run, {"q2": qrels["q2"]}, MEASURES)
    assert both.values("AP")[1] == alone.values("AP")[0]
    assert both.values("AP")[0] != both.values("AP")[1]
    assert random_order(run, qrels, MEASURES, seed=1)["AP"] != both["AP"]


def test_queries_without_candidates_count_as_0() -> None:
    empty = Ranking((), np.empty(0))
    qrels = {query: {"a": 1} for query in ("q1", "q2", "q3")}
    random = random_order({"q1": ranking("ab"), "q2": empty}, qrels, parse_measures("P@1 micro_R@1"), name="random")
    assert (random.name, random.queries) == ("random", ("q1", "q2", "q3"))
    assert random.values("P@1").tolist() == [0.5, 0, 0]
    assert random["micro_R@1"] == pytest.approx(0.5 / 3)
    with pytest.raises(UsageError, match="none of the 3 judged queries"):
        random_order({"x": ranking("ab")}, qrels, MEASURES)
