"""A published run scored with published judgements: can the published figures be reproduced?"""

from __future__ import annotations

from rprs.evaluation.evaluate import evaluate
from rprs.evaluation.measures import parse_measures
from rprs.read import read_qrels, read_run
from rprs.studies.finding import Finding, score_table, scores
from rprs.studies.options import Judgements
from rprs.studies.systems import Study

__all__ = ["judgements"]


def judgements(study: Study, options: Judgements) -> Finding:
    """The run as published, with ties in the order of the file and in that of trec_eval."""
    folder = study.experiment.folder
    run, qrels = read_run(folder / options.run), read_qrels(folder / options.qrels)
    measures = parse_measures(options.measures) if options.measures else study.plan.measures
    rows = {
        "ties in the order of the file": evaluate(run, qrels, measures, name=options.run),
        "ties by id, as trec_eval": evaluate(run, qrels, measures, name=options.run, ties="trec_eval"),
    }
    present = study.experiment.documents.words_of
    pairs = [(query, id) for query, grades in qrels.items() for id, grade in grades.items() if grade > 0]
    absent = sum(id not in present for _, id in pairs)
    queries = len(next(iter(rows.values())).queries)
    title = f"{options.run} with {options.qrels}"
    return Finding(
        title="Other judgements",
        text=(
            f"The complete run `{options.run}`, scored with `{options.qrels}`: {len(pairs):,} relevant pairs of "
            f"{queries:,} queries, of which {absent:,} name a document that is not in the collection. "
            "trec_eval orders documents with equal scores by descending id.",
        ),
        data={
            "run": options.run,
            "qrels": options.qrels,
            "queries": queries,
            "relevant": len(pairs),
            "relevant_absent": absent,
            "totals": {name: scores(row) for name, row in rows.items()},
        },
        tables={"judgements": score_table(title, "ties", rows)},
    )
