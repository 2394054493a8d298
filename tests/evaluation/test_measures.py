"""Measures: worked by hand, against trec_eval on random rankings, and as texts that parse back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures.measures import registry

from rprs.errors import UsageError
from rprs.evaluation.measures import (
    MPR,
    Measure,
    Ranked,
    Ratio,
    Returned,
    SdrRR,
    Standard,
    Top,
    cut,
    judge,
    parse_measure,
    parse_measures,
    parse_rule,
)

QUICK = ["P@1", "P@5", "R@1", "R@5", "AP", "AP@5", "nDCG", "nDCG@5", "RR", "RR@3", "Success@3", "Rprec"]
BY_LEVEL = ["P(rel=2)@5", "R(rel=2)@5", "AP(rel=2)", "AP(rel=2)@3", "RR(rel=2)", "Success(rel=2)@5", "Rprec(rel=2)"]


def graded(gains: Sequence[int], grades: Sequence[int], scores: Sequence[float] | None = None) -> Ranked:
    """One ranking, by the grades of its documents and of all that are relevant."""
    falling = list(range(len(gains), 0, -1)) if scores is None else scores
    return Ranked(
        np.array([gains], dtype=np.int64).reshape(1, -1),
        np.array([falling], dtype=np.float64).reshape(1, -1),
        np.array(grades, dtype=np.int64),
    )


def value(text: str, ranked: Ranked) -> float:
    measure = parse_measure(text)
    return float(measure.values(measure.parts(ranked))[0])


def total(text: str, queries: Sequence[Ranked]) -> float:
    measure = parse_measure(text)
    return float(measure.total(np.stack([measure.parts(ranked)[0] for ranked in queries])))


# ---------------------------------------------------------------------------- by hand

# Relevant at ranks 2 (grade 1), 4 (grade 2) and 5 (grade 1); a fourth one (grade 1) is not retrieved.
EXAMPLE = graded([0, 1, 0, 2, 1, 0], [1, 2, 1, 1])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("P@1", 0),
        ("P@5", 3 / 5),
        ("P@10", 3 / 10),
        ("R@4", 2 / 4),
        ("AP", (1 / 2 + 2 / 4 + 3 / 5) / 4),
        ("AP@4", (1 / 2 + 2 / 4) / 4),
        ("RR", 1 / 2),
        ("RR@1", 0),
        ("Success@1", 0),
        ("Success@2", 1),
        ("Rprec", 2 / 4),
        (
            "nDCG@5",
            (1 / np.log2(3) + 2 / np.log2(5) + 1 / np.log2(6)) / (2 + 1 / np.log2(3) + 1 / np.log2(4) + 1 / np.log2(5)),
        ),
        ("F1@4", 2 * (2 / 4) * (2 / 4) / (2 / 4 + 2 / 4)),
        ("F1@5", 2 * (3 / 5) * (3 / 4) / (3 / 5 + 3 / 4)),
        ("micro_F1@5", 2 * 3 / (5 + 4)),
        ("macro_P@5", 3 / 5),
        ("MPR", 1 - (1 * 1 / 6 + 2 * 3 / 6 + 1 * 4 / 6) / 4),  # ranks from 0; the grade 2 counts twice
        ("sdr_RR", 1),
    ],
)
def test_an_example_by_hand(text: str, expected: float) -> None:
    assert value(text, EXAMPLE) == pytest.approx(expected, abs=1e-15)


def test_micro_counts_pairs_and_macro_averages_queries() -> None:
    queries = [graded([1, 1, 0, 0], [1, 1]), graded([0, 0, 0, 1], [1, 1, 1, 1, 1, 1])]
    # hits 2 and 1, returned 4 and 4, relevant 2 and 6
    assert total("micro_P@4", queries) == 3 / 8
    assert total("micro_R@4", queries) == 3 / 8
    assert total("micro_F1@4", queries) == 3 / 8
    assert total("macro_P@4", queries) == (2 / 4 + 1 / 4) / 2
    p, r = 3 / 8, (1 + 1 / 6) / 2
    assert total("macro_R@4", queries) == pytest.approx(r)
    assert total("macro_F1@4", queries) == pytest.approx(2 * p * r / (p + r))
    each = [2 * 0.5 * 1 / 1.5, 2 * 0.25 * (1 / 6) / (0.25 + 1 / 6)]
    assert total("F1@4", queries) == pytest.approx(sum(each) / 2)


def test_the_precision_of_returned_documents_is_not_that_at_k() -> None:
    short = graded([1, 0], [1])
    assert value("P@4", short) == 1 / 4
    assert value("macro_P@4", short) == 1 / 2


def test_mpr_is_over_pairs_and_ignores_unlisted_documents() -> None:
    queries = [graded([1, 0, 0, 0], [1, 1, 1]), graded([0, 1, 0, 1], [1, 1])]
    assert total("MPR", queries) == 1 - (0 / 4 + 1 / 4 + 3 / 4) / 3
    assert [value("MPR", query) for query in queries] == [1, 1 / 2]
    assert value("MPR", graded([0, 0], [1])) == 0


@pytest.mark.parametrize(("rank", "expected"), [(1, 1), (2, 1), (3, 1 / 2), (4, 1 / 3), (5, 1 / 4)])
def test_the_reciprocal_rank_of_sdr_is_generous(rank: int, expected: float) -> None:
    gains = [int(at == rank) for at in range(1, 6)]
    assert value("sdr_MRR", graded(gains, [1])) == expected
    assert value("MRR", graded(gains, [1])) == 1 / rank


@pytest.mark.parametrize("text", [*QUICK, "F1@4", "micro_F1@4", "macro_F1@ratio(p=0.5,l=1,h=3)", "MPR", "sdr_RR"])
@pytest.mark.parametrize("ranked", [graded([], [1, 2]), graded([0, 0, 0], [1, 2]), graded([0], [])], ids=str)
def test_a_ranking_without_relevant_documents_scores_0(text: str, ranked: Ranked) -> None:
    assert value(text, ranked) == 0


# ---------------------------------------------------------------------------- against trec_eval


@st.composite
def judged_rankings(draw: st.DrawFn) -> tuple[list[str], dict[str, int]]:
    """Documents in an order, and grades from -1 to 3 of some of them and of others; at least one is relevant."""
    documents = [f"d{number}" for number in range(12)]
    ids = draw(st.lists(st.sampled_from(documents), max_size=8, unique=True))
    graded = draw(st.dictionaries(st.sampled_from(documents), st.integers(-1, 3), max_size=10))
    return ids, {**graded, draw(st.sampled_from(documents)): draw(st.integers(1, 3))}


def by_trec_eval(text: str, ids: Sequence[str], judgements: Mapping[str, int]) -> float:
    run = {"q": {id: float(-rank) for rank, id in enumerate(ids)}} if ids else {}
    measure = eval(text, dict(vars(ir_measures)))  # their texts are Python
    (metric,) = ir_measures.iter_calc([measure], {"q": dict(judgements)}, run)
    return float(metric.value)


@given(judged_rankings())
def test_arrays_agree_with_trec_eval(case: tuple[list[str], dict[str, int]]) -> None:
    ids, judgements = case
    ranked = judge(ids, np.zeros(len(ids)), judgements)  # every score tied: the order is the run's
    for text in [*QUICK, *BY_LEVEL]:
        assert value(text, ranked) == pytest.approx(by_trec_eval(text, ids, judgements), abs=1e-12), text


@given(judged_rankings())
def test_other_measures_are_computed_by_ir_measures(case: tuple[list[str], dict[str, int]]) -> None:
    ids, judgements = case
    ranked = judge(ids, np.zeros(len(ids)), judgements)
    for text in ["Bpref", "IPrec@0.5", "SetF", "P(judged_only=True)@3"]:
        assert value(text, ranked) == pytest.approx(by_trec_eval(text, ids, judgements), abs=1e-12), text
    pooled = {id: grade for id, grade in judgements.items() if grade >= 0}  # below 0, trec_eval takes it as unjudged
    assert value("Judged@3", ranked) == pytest.approx(by_trec_eval("Judged@3", ids, pooled), abs=1e-12)


def many(p: int, depth: int, seed: int = 0) -> Ranked:
    """p orders of the same documents, some of which are the same order."""
    random = np.random.default_rng(seed)
    grades = random.choice([0, 0, 0, 1, 2], size=depth)
    rows = np.stack([random.permutation(grades) for _ in range(p - 2)])
    gains = np.concatenate([rows, rows[:2]]).astype(np.int64)
    scores = -np.sort(-random.random((p, depth)), axis=1)
    return Ranked(gains, scores, np.append(grades[grades > 0], [1, 3]).astype(np.int64))


@pytest.mark.parametrize("text", [*QUICK, *BY_LEVEL, "SetAP", "F1@4", "macro_F1@ratio(p=0.9,l=1,h=6)", "MPR", "sdr_RR"])
def test_many_orders_at_once_equal_each_alone(text: str) -> None:
    ranked, measure = many(20, 30), parse_measure(text)
    together = measure.parts(ranked)
    for row in range(20):
        alone = Ranked(ranked.gains[row : row + 1], ranked.scores[row : row + 1], ranked.grades)
        np.testing.assert_allclose(together[row], measure.parts(alone)[0], rtol=0, atol=1e-14)
    queries = np.stack([together, together[::-1], together])  # three queries under twenty settings
    totals = [measure.total(queries[:, setting]) for setting in range(20)]
    np.testing.assert_allclose(measure.total(queries), totals, rtol=0, atol=1e-14)


@pytest.mark.parametrize("text", [*QUICK, *BY_LEVEL, "F1@4", "MPR"])
@pytest.mark.parametrize("seed", range(5))
def test_equal_orders_get_equal_values_to_the_last_bit(text: str, seed: int) -> None:
    row = np.random.default_rng(seed).integers(0, 3, size=50)
    for p in (7, 234, 1761):
        ranked = Ranked(np.tile(row, (p, 1)), np.tile(np.arange(50.0)[::-1], (p, 1)), row[row > 0])
        assert len(np.unique(parse_measure(text).parts(ranked), axis=0)) == 1


@pytest.mark.parametrize("text", ["Bpref", "Judged@5", "infAP", "P(judged_only=True)@5"])
def test_measures_that_depend_on_irrelevant_documents_need_them(text: str) -> None:
    with pytest.raises(UsageError, match="judged not relevant"):
        parse_measure(text).parts(EXAMPLE)


def test_a_count_is_summed_and_not_averaged() -> None:
    measure = parse_measure("NumRelRet")
    assert float(measure.total(np.array([[3.0], [4.0]]))) == 7


# ---------------------------------------------------------------------------- cut-off rules


def counts(rule: Top | Ratio, *scores: Sequence[float]) -> list[int]:
    return [int(count) for count in cut(rule, np.array(scores, dtype=np.float64))]


def test_a_fixed_cut_off_returns_no_more_than_there_are() -> None:
    assert counts(Top(2), [5, 4, 3], [1, 1, 1]) == [2, 2]
    assert counts(Top(9), [5, 4, 3]) == [3]
    assert cut(Top(3), np.empty((2, 0))).tolist() == [0, 0]


def test_a_ratio_is_of_the_top_score_between_two_bounds() -> None:
    assert counts(Ratio(0.8, 1, 6), [10, 8, 7.9, 1], [10, 9, 9, 9]) == [2, 4]
    assert counts(Ratio(0.8, 3, 6), [10, 1, 1, 1]) == [3]
    assert counts(Ratio(0.8, 1, 2), [10, 10, 10, 10]) == [2]
    assert counts(Ratio(0.8, 0, 2), [10, 10]) == [2]
    assert counts(Ratio(0.8, 3, 6), [10, 9]) == [2]
    assert cut(Ratio(0.8, 1, 6), np.empty((2, 0))).tolist() == [0, 0]


@pytest.mark.parametrize("scores", [[0, 0, 0], [-1, -2, -3]])
def test_a_top_score_without_a_share_returns_the_least(scores: list[float]) -> None:
    assert counts(Ratio(0.8, 1, 6), scores) == [1]
    assert counts(Ratio(0.8, 0, 6), scores) == [0]


def test_a_rule_cuts_off_what_is_measured() -> None:
    ranked = graded([1, 0, 1, 1], [1, 1, 1], [10, 8, 7, 1])
    assert value("macro_P@ratio(p=0.7,l=1,h=10)", ranked) == 2 / 3
    assert value("micro_R@ratio(p=0.7,l=1,h=10)", ranked) == 2 / 3
    assert value("micro_P@ratio(p=0.9,l=1,h=10)", ranked) == 1


@pytest.mark.parametrize("text", ["4", "ratio(p=0.8,l=1,h=6)", "ratio(p=1.0,l=0,h=1)"])
def test_a_rule_parses_back(text: str) -> None:
    assert str(parse_rule(text)) == text


# ---------------------------------------------------------------------------- texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("P@1", Standard("P@1")),
        ("p@1", Standard("P@1")),
        ("MAP@5", Standard("AP@5")),
        ("NDCG@5", Standard("nDCG@5")),
        ("MRR", Standard("RR")),
        ("bpref", Standard("Bpref")),
        (" P( rel = 2 ) @ 5 ", Standard("P(rel=2)@5")),
        ("P(rel=1)@5", Standard("P@5")),
        ("F1@4", Returned("F1", "each", Top(4))),
        ("micro_F1@4", Returned("F1", "micro", Top(4))),
        ("macro_p@ratio(p=0.8, l=1, h=6)", Returned("P", "macro", Ratio(0.8, 1, 6))),
        ("MPR", MPR()),
        ("sdr_MRR", SdrRR()),
    ],
)
def test_a_text_names_a_measure_and_its_own_text_parses_back(text: str, expected: Measure) -> None:
    measure = parse_measure(text)
    assert measure == expected
    assert parse_measure(str(measure)) == measure
    assert hash(parse_measure(str(measure))) == hash(measure)


@pytest.mark.parametrize("name", sorted({*registry}))
def test_every_measure_of_ir_measures_parses_or_names_the_missing_parameter(name: str) -> None:
    needs = {param.dtype for param in registry[name].SUPPORTED_PARAMS.values() if param.required}
    text = f"{name}@0.5" if float in needs else f"{name}@5" if "cutoff" in registry[name].SUPPORTED_PARAMS else name
    try:
        measure = parse_measure(text)
    except UsageError as error:
        message = str(error)
        if "needs the parameter" in message or "No installed package computes" in message:
            return
        raise
    assert parse_measure(str(measure)) == measure


def test_blanks_or_commas_separate_measures_and_repeated_ones_count_once() -> None:
    measures = parse_measures(["P@1 R@1,MAP@5", "macro_P@ratio(p=0.8, l=1, h=6) P(rel=2, judged_only=True)@5  AP@5"])
    assert list(map(str, measures)) == [
        "P@1",
        "R@1",
        "AP@5",
        "macro_P@ratio(p=0.8,l=1,h=6)",
        "P(rel=2,judged_only=True)@5",
    ]
    assert parse_measures([]) == ()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("nDGC@5", "There is no measure named 'nDGC': did you mean 'nDCG'?"),
        ("zzz", "and all of ir_measures"),
        ("P", "P needs the parameter 'cutoff': P@10"),
        ("P@0", "The 'cutoff' parameter of P cannot be 0"),
        ("P@1.5", "The 'cutoff' parameter of P cannot be 1.5"),
        ("P@-1", "takes a number above 0"),
        ("P@99999999999999999999", "The 'cutoff' parameter of P cannot be 99999999999999999999"),
        ("P(rel=0)@3", "The 'rel' parameter of P cannot be 0"),
        ("AP(rel=-1)", "The 'rel' parameter of AP cannot be -1"),
        ("P@ratio(p=0.5)", "F1, macro_P, micro_P ... take a rule, too"),
        ("P(foo=1)@2", "P has no parameter 'foo': it has cutoff, rel, judged_only"),
        ("P(rel=x)@2", "must be a number, a quoted text, True or False"),
        ("P(2)@5", "parameters as name=value"),
        ("F1", "F1 needs a cut-off"),
        ("F1@0", "A cut-off must be an integer in [1, inf). Got 0 instead."),
        ("F1@x", "Cannot read the cut-off of 'F1@x'"),
        ("F1@ratio(l=1)", "Cannot read the cut-off"),
        ("F1@ratio(p=0.5,h=1.5)", "Cannot read the cut-off"),
        ("F1@ratio(p=2)", "The 'p' parameter of ratio must be a number in [0, 1]. Got 2 instead."),
        ("F1@ratio(p=0.5,l=3,h=2)", "ratio needs 0 <= l <= h"),
        ("MPR@5", "MPR takes neither a cut-off nor parameters"),
        ("P@@", "Cannot read 'P@@' as a measure"),
        ("", "Cannot read '' as a measure"),
        ("1 + 1", "expected a name"),
    ],
)
def test_a_wrong_text_is_one_line_that_helps(text: str, complaint: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_measure(text)
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("P_10", "P@10"),
        ("P.10", "P@10"),
        ("map", "AP"),
        ("map_cut_100", "AP@100"),
        ("ndcg", "nDCG"),
        ("ndcg_cut_10", "nDCG@10"),
        ("recip_rank", "RR"),
        ("recall_100", "R@100"),
        ("Rprec", "Rprec"),
        ("bpref", "Bpref"),
        ("infAP", "infAP"),
        ("success_5", "Success@5"),
        ("success", "Success@1 Success@5 Success@10"),
        ("set_P", "SetP"),
        ("set_recall", "SetR"),
        ("set_map", "SetAP"),
        ("set_F", "SetF"),
        ("set_F_0.5", "SetF(beta=0.5)"),
        ("iprec_at_recall_0.10", "IPrec@0.1"),
        ("num_ret", "NumRet"),
        ("num_rel_ret", "NumRet(rel=1)"),
        ("P", "P@5 P@10 P@15 P@20 P@30 P@100 P@200 P@500 P@1000"),
        ("ndcg_cut", " ".join(f"nDCG@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000))),
    ],
)
def test_names_of_trec_eval_are_measures_and_print_as_ours(name: str, expected: str) -> None:
    measures = parse_measures(name)
    assert " ".join(map(str, measures)) == expected
    assert measures == parse_measures(map(str, ir_measures.parse_trec_measure(name)))
    if len(measures) == 1:
        assert parse_measure(name) == measures[0]


def test_names_of_trec_eval_mix_with_others_and_wrong_ones_are_errors() -> None:
    assert list(map(str, parse_measures("map AP P_5,P@5 micro_F1@4"))) == ["AP", "P@5", "micro_F1@4"]
    with pytest.raises(UsageError, match="The 'cutoff' parameter of P cannot be 0"):
        parse_measures("P_0")
    with pytest.raises(UsageError, match="There is no measure named 'gm_map'"):
        parse_measures("gm_map")
