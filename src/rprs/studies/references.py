"""Reference rows of a study's tables: the same candidates in random order and in the best possible order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rprs.document import Ranking
from rprs.evaluation.evaluate import Evaluation, evaluate, totals
from rprs.evaluation.measures import Measure
from rprs.evaluation.references import best_order, random_order
from rprs.evaluation.table import Table
from rprs.studies.finding import DIGITS, scores
from rprs.studies.systems import Study

__all__ = ["RANDOM", "candidates", "describe_references", "reference_scores", "references", "with_references"]

RANDOM, BEST = "random order", "best order (oracle)"


def candidates(study: Study) -> dict[str, Ranking]:
    """The candidates of the reference system; without a re-ranker, the documents that it lists."""
    system = study.plan.system(study.plan.reference)
    if system.rerank is None and system.tune != "rprs":
        return dict(study.rankings(system.name))
    return {query: ranking.top(system.depth) for query, ranking in study.read(study.first(system)).items()}


def references(study: Study) -> dict[str, Evaluation]:
    """The reference rows of the systems table, with the share of judged documents."""
    run = candidates(study)
    rows = reference_scores(run, study.experiment.qrels, (*study.plan.measures, study.plan.target))
    random = random_order(run, study.all_judgements, study.judged_measures)
    best = evaluate(best_order(run, study.experiment.qrels), study.all_judgements, study.judged_measures)
    return {
        name: replace(rows[name], parts={**rows[name].parts, **shares.parts})
        for name, shares in ((RANDOM, random), (BEST, best))
    }


def reference_scores(
    run: Mapping[str, Ranking], qrels: Mapping[str, Mapping[str, int]], measures: Sequence[Measure]
) -> dict[str, Evaluation]:
    """The values of the documents of a run in random order, and in the best order."""
    return {
        RANDOM: random_order(run, qrels, measures, name=RANDOM),
        BEST: evaluate(best_order(run, qrels), qrels, measures, name=BEST),
    }


def with_references(table: Table, rows: Mapping[str, Evaluation], measures: Sequence[Measure], note: str) -> Table:
    """A table of systems with reference rows, which have no part in comparisons and in the best values."""
    below = [totals([row], measures, digits=DIGITS).rows[0] for row in rows.values()]
    return replace(table, references=tuple(below), notes=(*table.notes, note))


def describe_references(study: Study, rows: Mapping[str, Evaluation]) -> dict[str, Any]:
    """The reference rows for results.json."""
    system = study.plan.system(study.plan.reference)
    values = {
        name: {
            "scores": scores(row, [measure for measure in row.parts if measure.compared]),
            "judged": scores(row, study.judged_measures),
        }
        for name, row in rows.items()
    }
    return {"system": system.name, "first": system.first, "depth": system.depth, "rows": values}
