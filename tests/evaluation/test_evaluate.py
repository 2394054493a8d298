"""Runs against judgements: which queries count, the order of ties, and the notes."""

from __future__ import annotations

from collections.abc import Sequence

import ir_measures
import numpy as np
import pytest

from rprs.document import Ranking
from rprs.errors import UsageError
from rprs.evaluation.evaluate import evaluate, in_trec_order
from rprs.evaluation.measures import judge, parse_measure, parse_measures

STANDARD = parse_measures(["P@1 P@10 R@5 AP AP@5 nDCG nDCG@5 RR RR@3 Success@3 Rprec"])
OURS = parse_measures(["F1@4 micro_F1@4 macro_F1@4 macro_P@ratio(p=0.5,l=1,h=6) MPR sdr_RR"])


def ranking(*ids: str, scores: Sequence[float] | None = None) -> Ranking:
    falling = range(len(ids), 0, -1) if scores is None else scores
    return Ranking(ids, np.array(falling, dtype=np.float64))


def random_run(seed: int, queries: int = 30) -> tuple[dict[str, Ranking], dict[str, dict[str, int]]]:
    """A run and judgements with grades from -1 to 3; some queries are only in one of them."""
    random = np.random.default_rng(seed)
    documents = [f"d{number}" for number in range(40)]
    qrels = {
        f"q{query}": {str(id): int(random.integers(-1, 4)) for id in random.choice(documents, 10, replace=False)}
        for query in range(queries)
    }
    run = {
        f"q{query}": ranking(*map(str, random.permutation(documents)[: random.integers(0, 30)]))
        for query in range(3, queries + 2)
    }
    return run, qrels


@pytest.mark.parametrize("seed", range(5))
def test_values_are_those_of_ir_measures(seed: int) -> None:
    run, qrels = random_run(seed)
    scored = {
        query: dict(zip(listed.ids, listed.scores.tolist(), strict=True)) for query, listed in run.items() if listed
    }
    theirs = [eval(str(measure), dict(vars(ir_measures))) for measure in STANDARD]
    expected = ir_measures.calc_aggregate(theirs, qrels, scored)
    evaluation = evaluate(run, qrels, STANDARD)
    for measure, their in zip(STANDARD, theirs, strict=True):
        assert evaluation.total(measure) == pytest.approx(expected[their], abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_values_are_those_of_the_arrays_that_tuning_uses(seed: int) -> None:
    run, qrels = random_run(seed)
    evaluation = evaluate(run, qrels, [*STANDARD, *OURS])
    for measure in [*STANDARD, *OURS]:
        for at, query in enumerate(evaluation.queries):
            listed = run.get(query, ranking())
            parts = measure.parts(judge(listed.ids, listed.scores, qrels[query]))
            assert evaluation.values(measure)[at] == pytest.approx(float(measure.values(parts)[0]), abs=1e-12)
        assert evaluation.values(measure).shape == (len(evaluation.queries),)


def test_a_query_missing_from_the_run_counts_as_0_and_is_noted() -> None:
    qrels = {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 0, "y": -1}, "d": {}}
    run = {"a": ranking("x"), "c": ranking("x"), "e": ranking("x")}
    measures = parse_measures(["P@1", "micro_P@1", "MPR"])
    evaluation = evaluate(run, qrels, measures, name="mine")
    assert (evaluation.name, evaluation.queries) == ("mine", ("a", "b"))
    assert [evaluation.values(measure).tolist() for measure in measures] == [[1, 0]] * 3
    assert [evaluation.total(measure) for measure in measures] == [0.5, 1, 1]
    assert evaluation.notes == (
        "1 of 2 queries are not in the run; they count as 0",
        "2 of 3 queries of the run have no relevant document; they are left out",
        "MPR leaves out 1 of 2 relevant documents, which are not in the rankings",
    )


def test_mpr_weights_by_grade_and_its_note_counts_documents() -> None:
    evaluation = evaluate({"a": ranking("x", "z")}, {"a": {"x": 1, "y": 2, "z": 3}}, [parse_measure("MPR")])
    assert evaluation.total(parse_measure("MPR")) == 1 - (1 * 0 + 3 * 1 / 2) / 4
    assert evaluation.notes == ("MPR leaves out 1 of 3 relevant documents, which are not in the rankings",)


def test_an_empty_ranking_counts_as_0() -> None:
    evaluation = evaluate({"a": ranking(), "b": ranking("x")}, {"a": {"x": 1}, "b": {"x": 1}}, [parse_measure("AP")])
    assert evaluation.values(parse_measure("AP")).tolist() == [0, 1]
    assert evaluation.notes == ()


def test_a_grade_below_zero_is_not_relevant() -> None:
    evaluation = evaluate({"a": ranking("x", "y")}, {"a": {"x": -2, "y": 1}}, [*STANDARD, *OURS])
    assert evaluation.total(parse_measure("RR")) == 0.5
    assert evaluation.total(parse_measure("F1@4")) == pytest.approx(2 / 3)


def test_ties_are_in_the_order_of_the_run_or_as_in_trec_eval() -> None:
    qrels, measure = {"q": {"b": 1}}, parse_measure("RR")
    run = {"q": ranking("c", "a", "b", scores=[1, 1, 1])}
    assert evaluate(run, qrels, [measure]).total(measure) == 1 / 3
    assert evaluate(run, qrels, [measure], ties="trec_eval").total(measure) == 1 / 2
    ((_, _, theirs),) = ir_measures.iter_calc([ir_measures.RR], qrels, {"q": {"c": 1.0, "a": 1.0, "b": 1.0}})
    assert theirs == 1 / 2


def test_trec_eval_compares_scores_in_single_precision() -> None:
    close = ranking("a", "b", "c", scores=[1 + 1e-9, 1, 0.5])
    assert in_trec_order(close).ids == ("b", "a", "c")
    assert in_trec_order(ranking("a", "b", scores=[2e300, 1e300])).ids == ("b", "a")
    assert in_trec_order(ranking()).ids == ()
    ((_, _, theirs),) = ir_measures.iter_calc(
        [ir_measures.RR], {"q": {"b": 1}}, {"q": dict(zip(close.ids, close.scores.tolist(), strict=True))}
    )
    assert theirs == 1


def test_a_run_for_other_queries_is_an_error() -> None:
    with pytest.raises(UsageError, match="The run 'mine' has none of the 1 judged queries: are these the judgements"):
        evaluate({"z": ranking("x")}, {"a": {"x": 1}}, STANDARD, name="mine")
    with pytest.raises(UsageError, match="none at all"):
        evaluate({}, {"a": {"x": 1}}, STANDARD)


def test_judgements_without_a_relevant_document_are_an_error() -> None:
    with pytest.raises(UsageError, match="The judgements have no relevant document"):
        evaluate({"a": ranking("x")}, {"a": {"x": 0}}, STANDARD)


def test_a_measure_that_was_not_computed_is_an_error() -> None:
    evaluation = evaluate({"a": ranking("x")}, {"a": {"x": 1}}, [parse_measure("AP")], name="mine")
    with pytest.raises(UsageError, match="RR was not measured for mine: only AP"):
        evaluation.total(parse_measure("RR"))


def test_a_measure_that_needs_numbered_queries_works_with_any_ids() -> None:
    graded = parse_measure("nDCG(dcg='exp-log2')@5")  # by a program that numbers queries
    evaluation = evaluate({"a b": ranking("x", "y")}, {"a b": {"x": 1, "y": 2}}, [graded])
    expected = (1 + 3 / np.log2(3)) / (3 + 1 / np.log2(3))
    assert evaluation.total(graded) == pytest.approx(expected, abs=1e-4)
