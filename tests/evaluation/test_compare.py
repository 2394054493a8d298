"""Systems against baselines: differences, p-values, marks, and the tables that a paper prints."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from rprs.errors import UsageError
from rprs.evaluation.compare import Comparison, Difference, compare
from rprs.evaluation.evaluate import Evaluation, totals
from rprs.evaluation.measures import parse_measure, parse_measures
from rprs.evaluation.table import Figure

AP, RR, MICRO, JUDGED = parse_measures(["AP", "RR", "micro_F1@4", "Judged@10"])
QUERIES = tuple(f"q{number}" for number in range(40))


def system(name: str, gain: float, seed: int) -> Evaluation:
    """Forty queries that are as hard for every system, and easier for one with a gain."""
    hard, own = np.random.default_rng(7).random((40, 1)), np.random.default_rng(seed).random((40, 1))
    value = 0.5 * hard + 0.1 * own + gain
    hits = np.round(4 * value)
    counts = np.concatenate([hits, np.full((40, 1), 4.0), np.full((40, 1), 6.0)], axis=1)
    return Evaluation(name, QUERIES, {AP: value, RR: 1 - 0.1 * own, MICRO: counts})


SYSTEMS = [system("bm25", 0, 1), system("K", 0.1, 2), system("rprs", 0.2, 3), system("noise", -0.05, 4)]


def row(comparison: Comparison, name: str, baseline: str, measure: str = "AP") -> Difference:
    (difference,) = [
        row for row in comparison.rows if (row.system, row.baseline, str(row.measure)) == (name, baseline, measure)
    ]
    return difference


def test_a_difference_by_hand() -> None:
    a = Evaluation("a", ("1", "2", "3"), {AP: np.array([[0.1], [0.2], [0.3]])})
    b = Evaluation("b", ("1", "2", "3"), {AP: np.array([[0.2], [0.2], [0.2]])})
    (difference,) = compare([a, b], measures=[AP]).rows
    assert (difference.system, difference.baseline) == ("b", "a")
    assert difference.difference == pytest.approx(0)
    assert (difference.wins, difference.losses, difference.ties) == (1, 1, 1)
    assert difference.p_t == pytest.approx(1)
    assert difference.p_fisher == 1
    assert not difference.significant


def test_p_values_are_those_of_scipy() -> None:
    difference = row(compare(SYSTEMS, measures=[AP], baselines=["bm25"]), "K", "bm25")
    by_scipy = stats.ttest_rel(SYSTEMS[1].values(AP), SYSTEMS[0].values(AP))
    assert difference.p_t == pytest.approx(float(by_scipy.pvalue), rel=1e-9)
    assert difference.corrected_t == pytest.approx(3 * difference.p_t)
    assert difference.difference == pytest.approx(SYSTEMS[1].total(AP) - SYSTEMS[0].total(AP))
    assert difference.significant


# ---------------------------------------------------------------------------- intervals and effect sizes


def test_an_interval_and_an_effect_size_by_hand() -> None:
    # differences .1, .2, .3: mean .2, standard deviation .1; t of 2 degrees of freedom at 97.5% is 4.3027
    a = Evaluation("a", ("1", "2", "3"), {AP: np.array([[0.1], [0.2], [0.3]])})
    b = Evaluation("b", ("1", "2", "3"), {AP: np.array([[0.2], [0.4], [0.6]])})
    (difference,) = compare([a, b], measures=[AP]).rows
    assert difference.d_z == pytest.approx(2)
    assert (difference.low, difference.high) == pytest.approx((0.2 - 0.24841, 0.2 + 0.24841), abs=1e-5)


def test_the_interval_has_the_level_of_the_test_and_belongs_to_the_difference() -> None:
    comparison = compare(SYSTEMS, measures=[AP, MICRO], alpha=0.01)
    header = comparison.details().header
    assert header[3:7] == ("difference", "99% low", "99% high", "d_z")
    by_scipy = stats.ttest_rel(SYSTEMS[1].values(AP), SYSTEMS[0].values(AP)).confidence_interval(0.99)
    up = row(comparison, "K", "bm25")
    assert (up.low, up.high) == pytest.approx((by_scipy.low, by_scipy.high), rel=1e-9)
    for each in comparison.rows:
        assert each.low < each.difference < each.high
    cells = comparison.details(digits=3).rows[0]
    assert [str(cell) for cell in cells[3:6]] == [Figure(value, 3).number for value in (up.difference, up.low, up.high)]
    assert str(cells[6]) == f"{up.d_z:.2f}".removeprefix("0")


def test_the_interval_of_a_mean_excludes_zero_where_the_uncorrected_test_is_significant() -> None:
    rows = compare(SYSTEMS, measures=[AP, RR], baselines=[each.name for each in SYSTEMS]).rows
    assert {each.p_t < 0.05 for each in rows} == {True, False}
    for each in rows:
        assert (each.p_t < 0.05) == (not each.low <= 0 <= each.high)


def test_a_single_query_has_neither_interval_nor_effect_size() -> None:
    one, other = (Evaluation(name, ("q",), {AP: np.array([[value]])}) for name, value in (("a", 0.1), ("b", 0.7)))
    comparison = compare([one, other], measures=[AP])
    assert np.isnan([comparison.rows[0].low, comparison.rows[0].high, comparison.rows[0].d_z]).all()
    assert [str(cell) for cell in comparison.details().rows[0][4:7]] == ["–", "–", "–"]


# ---------------------------------------------------------------------------- declared comparisons


def test_only_declared_comparisons_are_tested_and_counted() -> None:
    pairs = [("rprs", "K"), ("K", "bm25")]
    comparison = compare(SYSTEMS, measures=[AP], comparisons=pairs)
    assert [(each.system, each.baseline) for each in comparison.rows] == pairs
    assert (comparison.family, comparison.baselines) == (2, ("K", "bm25"))
    for each in comparison.rows:
        assert each.corrected_t == pytest.approx(min(1, 2 * each.p_t))
    marks = {cells[0]: cells[1].mark for cells in comparison.table().rows if isinstance(cells[1], Figure)}
    assert marks == {"bm25": "", "K": "*", "rprs": "†", "noise": ""}
    assert "Bonferroni over 2 comparisons" in comparison.table().notes[0]


def test_declared_comparisons_are_added_to_those_with_baselines() -> None:
    comparison = compare(SYSTEMS, measures=[AP], baselines="bm25", comparisons=[("rprs", "K"), ("K", "bm25")])
    assert comparison.family == 4  # three systems against bm25, of which one is declared again, and rprs against K
    assert comparison.baselines == ("bm25", "K")


@pytest.mark.parametrize(
    ("comparisons", "complaint"),
    [
        ([("rprs", "k")], "no system 'k' to be a baseline"),
        ([("r", "K")], "no system 'r' to compare: there are bm25, K"),
        ([("K", "K")], r"a pair of different systems, such as \('rprs', 'bm25'\). Got \('K', 'K'\)"),
        (["rprs"], "Got 'rprs'"),
        ([("rprs",)], "a pair of different systems"),
        (7, "Got 7"),
    ],
)
def test_wrong_comparisons_are_one_line(comparisons: Any, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        compare(SYSTEMS, measures=[AP], comparisons=comparisons)


# ---------------------------------------------------------------------------- judged documents


def test_the_share_of_judged_documents_is_printed_but_not_compared() -> None:
    judged = [replace(each, parts={**each.parts, JUDGED: np.full((40, 1), 0.25)}) for each in SYSTEMS]
    comparison = compare(judged, measures=[JUDGED, AP])
    assert (comparison.measures, comparison.beside) == ((AP,), (JUDGED,))
    assert {each.measure for each in comparison.rows} == {AP}
    table = comparison.table()
    assert table.header == ("system", "AP", "Judged@10")
    assert {str(cells[2]) for cells in table.rows} == {".2500"}
    assert not any(isinstance(cells[2], Figure) and cells[2].best for cells in table.rows)
    with pytest.raises(UsageError, match="Name a measure to compare by"):
        compare(judged, measures=[JUDGED])


def test_judged_adds_a_column_for_every_cut_off() -> None:
    run, qrels = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"q": {"a": 1, "c": 0}}
    comparison = compare({"one": run, "two": run}, qrels, "P@1 AP@3 RR", judged=True)
    assert list(map(str, comparison.beside)) == ["Judged@1", "Judged@3"]
    assert comparison.evaluations[0]["Judged@3"] == pytest.approx(2 / 3)


# ---------------------------------------------------------------------------- baselines and corrections


def test_the_first_system_is_the_baseline_unless_one_is_named() -> None:
    assert {row.baseline for row in compare(SYSTEMS, measures=[AP]).rows} == {"bm25"}
    assert {row.baseline for row in compare(SYSTEMS, measures=[AP], baselines=["K", "noise", "K"]).rows} == {
        "K",
        "noise",
    }


def test_two_baselines_are_compared_once_and_reported_in_both_directions() -> None:
    comparison = compare(SYSTEMS, measures=[AP], baselines=["bm25", "K"], correction="bonferroni")
    assert comparison.family == 5  # six rows, of which two are the same test
    assert len(comparison.rows) == 6
    up, down = row(comparison, "K", "bm25"), row(comparison, "bm25", "K")
    assert (up.p_t, up.p_fisher, up.difference) == (down.p_t, down.p_fisher, -down.difference)
    assert (up.wins, up.losses) == (down.losses, down.wins)
    assert up.corrected_t == pytest.approx(min(1, 5 * up.p_t))


def test_a_measure_is_a_family_of_its_own() -> None:
    alone, together = compare(SYSTEMS, measures=[AP]), compare(SYSTEMS, measures=[AP, RR, MICRO])
    assert row(alone, "K", "bm25") == row(together, "K", "bm25")


@pytest.mark.parametrize(("correction", "times"), [("none", 1), ("bonferroni", 3)])
def test_corrections(correction: str, times: int) -> None:
    comparison = compare(SYSTEMS, measures=[RR], correction=correction)  # type: ignore[arg-type]
    for each in comparison.rows:
        assert each.corrected_t == pytest.approx(min(1, times * each.p_t))
        assert each.corrected_fisher == pytest.approx(min(1, times * each.p_fisher))


def test_holm_is_no_stricter_than_bonferroni() -> None:
    stepped, strict = compare(SYSTEMS, measures=[AP], correction="holm"), compare(SYSTEMS, measures=[AP])
    pairs = list(zip(stepped.rows, strict.rows, strict=True))
    assert all(one.corrected_t <= other.corrected_t for one, other in pairs)
    assert any(one.corrected_t < other.corrected_t for one, other in pairs)


def test_the_chosen_test_decides() -> None:
    by_t = compare(SYSTEMS, measures=[AP], alpha=1e-5)
    by_fisher = compare(SYSTEMS, measures=[AP], alpha=1e-5, test="fisher", permutations=10_000)
    assert row(by_t, "rprs", "bm25").significant
    assert row(by_fisher, "rprs", "bm25").p_fisher == pytest.approx(1 / 10_001)
    assert not row(by_fisher, "rprs", "bm25").significant  # ten thousand permutations cannot give so small a p


def test_a_worse_system_is_significant_without_a_mark() -> None:
    comparison = compare(SYSTEMS, measures=[AP], baselines=["K"])
    assert row(comparison, "noise", "K").significant
    assert row(comparison, "noise", "K").difference < 0
    cells = {cells[0]: cells[1] for cells in comparison.table().rows}
    assert {name: cell.mark for name, cell in cells.items() if isinstance(cell, Figure)} == {
        "bm25": "",
        "K": "",
        "rprs": "†",
        "noise": "",
    }
    assert {cells[0]: cells[-1] for cells in comparison.details().rows} == {
        "bm25": "worse",
        "rprs": "better",
        "noise": "worse",
    }


def test_the_table_is_that_of_the_paper() -> None:
    comparison = compare(SYSTEMS, measures=[AP, RR], baselines=["bm25", "K"], alpha=0.01)
    table = comparison.table("Systems", digits=3)
    assert table.header == ("system", "AP", "RR")
    assert str(table.rows[2][1]) == f"{SYSTEMS[2].total(AP):.3f}".lstrip("0") + "†*"
    assert [isinstance(cells[1], Figure) and cells[1].best for cells in table.rows] == [False, False, True, False]
    assert table.notes == (
        "Significant improvement: † over bm25, * over K "
        "(paired t-test, p < 0.01, Bonferroni over 5 comparisons of each measure).",
    )


def test_a_note_if_nothing_improved() -> None:
    comparison = compare(SYSTEMS[:2], measures=[RR], correction="none", test="fisher")
    assert comparison.table().notes == (
        "No significant improvement over bm25 (Fisher's randomisation test, p < 0.05, uncorrected).",
    )
    assert "corrected p (t)" not in comparison.details().header
    one = compare(SYSTEMS[:2], measures=[RR]).table().notes[0]
    assert "Bonferroni over 1 comparison of each measure" in one


def test_a_pooled_measure_has_fishers_test_of_its_total_and_a_note() -> None:
    comparison = compare(SYSTEMS, measures=[AP, MICRO])
    assert comparison.details().notes[2] == (
        "For micro_F1@4, the t-test and d_z compare the queries' values, although the total is not their mean; the "
        "interval is of the total, by bootstrap."
    )
    assert row(comparison, "rprs", "bm25", "micro_F1@4").difference == pytest.approx(
        SYSTEMS[2].total(MICRO) - SYSTEMS[0].total(MICRO)
    )
    assert len(compare(SYSTEMS, measures=[AP]).details().notes) == 2


def test_equal_systems_do_not_differ() -> None:
    twin = Evaluation("twin", QUERIES, SYSTEMS[0].parts)
    (difference, _) = compare([SYSTEMS[0], twin], measures=[AP, MICRO]).rows
    assert (difference.p_t, difference.p_fisher, difference.wins, difference.losses, difference.ties) == (
        1,
        1,
        0,
        0,
        40,
    )


def test_totals_show_the_best_of_several() -> None:
    both = totals(SYSTEMS[:2], [AP], "Two", digits=2)
    assert [isinstance(cells[1], Figure) and cells[1].best for cells in both.rows] == [False, True]
    (alone,) = totals(SYSTEMS[:1], [AP]).rows
    assert isinstance(alone[1], Figure)
    assert not alone[1].best


def test_wrong_settings_are_one_line() -> None:
    other = Evaluation("other", ("q1",), {AP: np.array([[1.0]])})
    cases: list[tuple[str, list[Evaluation], dict[str, object]]] = [
        ("at least two systems", SYSTEMS[:1], {}),
        ("the same name: K", [*SYSTEMS, SYSTEMS[1]], {}),
        ("no system 'k' to be a baseline: there are bm25, K", SYSTEMS[:2], {"baselines": ["k"]}),
        ("alpha must be a number in (0, 1). Got 5 instead.", SYSTEMS, {"alpha": 5}),
        ("permutations must be", SYSTEMS, {"permutations": 0}),
        ("on different queries", [SYSTEMS[0], other], {}),
        ("7 baselines, and only 6 marks", [system(str(n), 0, n) for n in range(8)], {"baselines": list("0123456")}),
    ]
    for complaint, systems, settings in cases:
        with pytest.raises(UsageError) as error:
            compare(systems, measures=[AP], **settings)  # type: ignore[arg-type]
        assert complaint in str(error.value)


def test_a_measure_that_was_not_computed_cannot_be_compared() -> None:
    with pytest.raises(UsageError, match="P@1 was not measured for K: only AP RR micro_F1@4"):
        compare(SYSTEMS, measures=[parse_measure("P@1")])
