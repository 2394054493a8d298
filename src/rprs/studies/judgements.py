"""Other judgements than the collection's: the systems scored with them, and a published run as its authors scored it.

Judgements may name documents that no system can rank, since the collection lacks them or excludes them for the query.
The scores of the best possible ranking, which are then below 1, are given beside those of the systems; a date limit
could only lower them.
"""

from __future__ import annotations

import numpy as np

from rprs.document import Ranking
from rprs.evaluation.evaluate import evaluate
from rprs.evaluation.measures import parse_measures
from rprs.evaluation.references import best_order
from rprs.evaluation.table import Figure
from rprs.read import Qrels, read_qrels, read_run
from rprs.studies.finding import DIGITS, Finding, score_table, scores
from rprs.studies.options import Judgements
from rprs.studies.systems import Study

__all__ = ["judgements"]


def judgements(study: Study, options: Judgements) -> Finding:
    """All systems with the other judgements; then the published run, if one is named."""
    qrels = read_qrels(study.experiment.folder / options.qrels)
    measures = parse_measures(options.measures) if options.measures else study.plan.measures
    names = options.systems or tuple(system.name for system in study.plan.systems)
    systems = {name: evaluate(study.rankings(name), qrels, measures, name=name) for name in names}
    best = evaluate(_best_run(study, qrels), qrels, measures, name="best possible")
    counts = _count(study, qrels)
    ceiling = ", ".join(f"{measure} {Figure(value, DIGITS)}" for measure, value in scores(best).items())
    text = (
        f"`{options.qrels}` has {counts['relevant']:,} relevant pairs of {len(best.queries):,} queries. "
        f"{counts['relevant_absent']:,} of them name a document that is not in the collection, and "
        f"{counts['relevant_excluded']:,} one that is excluded for the query. No system can rank these, so the best "
        f"possible scores are: {ceiling}."
    )
    data = {
        "qrels": options.qrels,
        "queries": len(best.queries),
        **counts,
        "best": scores(best),
        "systems": {name: scores(row) for name, row in systems.items()},
    }
    tables = {"judgements": score_table(f"Systems with {options.qrels}", "system", systems, measures)}
    if not options.run:
        return Finding("Other judgements", (text,), data, tables)
    run = read_run(study.experiment.folder / options.run)
    rows = {
        "ties in the order of the file": evaluate(run, qrels, measures, name=options.run),
        "ties by id, as trec_eval": evaluate(run, qrels, measures, name=options.run, ties="trec_eval"),
    }
    remark = (
        f"The complete run `{options.run}` is scored unchanged: documents that are not in the collection keep their "
        "ranks. trec_eval orders documents with equal scores by descending id."
    )
    return Finding(
        title="Other judgements",
        text=(text, remark),
        data={**data, "run": options.run, "totals": {name: scores(row) for name, row in rows.items()}},
        tables={**tables, "published": score_table(f"{options.run} with {options.qrels}", "ties", rows)},
    )


def _count(study: Study, qrels: Qrels) -> dict[str, int]:
    """How many relevant pairs there are, and how many of them no system can rank."""
    pairs = [(query, id) for query, grades in qrels.items() for id, grade in grades.items() if grade > 0]
    present = [(query, id) for query, id in pairs if id in study.experiment.documents.words_of]
    return {
        "relevant": len(pairs),
        "relevant_absent": len(pairs) - len(present),
        "relevant_excluded": sum(_excluded(study, query, id) for query, id in present),
    }


def _best_run(study: Study, qrels: Qrels) -> dict[str, Ranking]:
    """The best order of the judged documents that a system can rank."""
    present = study.experiment.documents.words_of
    rankable = {
        query: tuple(id for id in grades if id in present and not _excluded(study, query, id))
        for query, grades in qrels.items()
    }
    return best_order({query: Ranking(ids, np.zeros(len(ids))) for query, ids in rankable.items()}, qrels)


def _excluded(study: Study, query: str, id: str) -> bool:
    return id == query or id in study.experiment.excluded.get(query, ())
