"""Unjudged documents: how many of them a system returns, and its scores without them.

Where only the best documents of some systems were judged, a system outside that pool returns other documents, each of
which counts as not relevant. Condensed lists (Sakai 2007) leave unjudged documents out; they overestimate systems
outside the pool (Sakai 2008), and need a random order of the same documents as their floor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rprs.document import Ranking
from rprs.evaluation.evaluate import Evaluation, evaluate
from rprs.evaluation.measures import parse_measures
from rprs.studies.finding import DIGITS, Finding, score_table, scores
from rprs.studies.options import Unjudged
from rprs.studies.overview import compare_systems
from rprs.studies.references import RANDOM, candidates, reference_scores, with_references
from rprs.studies.systems import Study

__all__ = ["condensed", "unjudged"]


def unjudged(study: Study, options: Unjudged) -> Finding:
    """The share of judged documents among the best, and all measures on condensed lists."""
    judged = study.all_judgements
    names = options.systems or tuple(system.name for system in study.plan.systems)
    runs = {name: study.rankings(name) for name in names}
    shares = parse_measures(["Judged@1", f"Judged@{options.k}"])
    judged_shares = {name: evaluate(run, judged, shares, name=name) for name, run in runs.items()}
    condensed_scores: dict[str, Evaluation] = {
        name: study.score(condensed(run, judged), name) for name, run in runs.items()
    }
    comparison = compare_systems(study, condensed_scores)
    measures = study.plan.measures
    references = reference_scores(condensed(candidates(study), judged), study.experiment.qrels, measures)
    title = "Without unjudged documents"
    table = comparison.table(title, DIGITS) if comparison else score_table(title, "system", condensed_scores)
    table = with_references(
        table,
        references,
        measures,
        f"For reference, and not tested: the judged candidates of {study.plan.reference} in random order and in the "
        "best possible order.",
    )
    count = sum(map(len, judged.values()))
    return Finding(
        title="Unjudged documents",
        text=(
            f"{count:,} pairs of a query and a document were judged. Judged@k is the share of a system’s best k "
            "documents that were judged; in the tables above, the others count as not relevant. Below, they are left "
            "out: each ranking is condensed to the documents that were judged for its query.",
            "Condensed lists overestimate systems that did not contribute to the judged documents (Sakai 2008), as the "
            f"other measures underestimate them. Compare them with the row “{RANDOM}”: what remains of a short list of "
            "judged documents has a high value in any order.",
        ),
        data={
            "judged": count,
            "shares": {name: scores(row) for name, row in judged_shares.items()},
            "condensed": {name: scores(row) for name, row in condensed_scores.items()},
            "references": {name: scores(row) for name, row in references.items()},
            "significant": [
                {"system": row.system, "baseline": row.baseline, "measure": str(row.measure)}
                for row in (comparison.rows if comparison else ())
                if row.significant
            ],
        },
        tables={"judged": score_table("Share of judged documents", "system", judged_shares), "condensed": table},
    )


def condensed(run: Mapping[str, Ranking], judged: Mapping[str, Mapping[str, int]]) -> dict[str, Ranking]:
    """Each ranking reduced to the documents that were judged for its query."""
    return {query: _judged_only(ranking, judged.get(query, {})) for query, ranking in run.items()}


def _judged_only(ranking: Ranking, judged: Mapping[str, int]) -> Ranking:
    places = [place for place, id in enumerate(ranking.ids) if id in judged]
    return replace(
        ranking,
        ids=tuple(ranking.ids[place] for place in places),
        scores=ranking.scores[places],
        parts={},
        neighbours=None,
    )
