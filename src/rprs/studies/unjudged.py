"""Documents that nobody judged: how many of them a system shows, and what it is worth without them.

Where only the best documents of some systems were judged, a system that had no part in that finds others, and each of
them counts as not relevant. Passing over what was not judged (condensed lists, Sakai 2007) favours neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rprs.document import Ranking
from rprs.evaluation.evaluate import Evaluation, evaluate
from rprs.evaluation.measures import parse_measures
from rprs.read import read_qrels
from rprs.studies.finding import Finding, score_table, scores
from rprs.studies.options import Unjudged
from rprs.studies.overview import compared
from rprs.studies.systems import Study

__all__ = ["condensed", "unjudged"]


def unjudged(study: Study, options: Unjudged) -> Finding:
    """The share of judged documents among the best, and all measures on condensed lists."""
    judged = read_qrels(study.experiment.folder / options.qrels) if options.qrels else study.experiment.qrels
    names = options.systems or tuple(system.name for system in study.plan.systems)
    runs = {name: study.rankings(name) for name in names}
    shares = parse_measures(["Judged@1", f"Judged@{options.k}"])
    known = {name: evaluate(run, judged, shares, name) for name, run in runs.items()}
    left: dict[str, Evaluation] = {name: study.score(condensed(run, judged), name) for name, run in runs.items()}
    tested = compared(study, left)
    title = "Without documents that nobody judged"
    table = tested.table(title) if tested else score_table(title, "system", left)
    count = sum(map(len, judged.values()))
    return Finding(
        title="Unjudged documents",
        text=(
            f"{count:,} pairs of a query and a document were judged. Judged@k is the share of a system’s best k that "
            "is among them; in the tables above, the rest counts as not relevant. Below, it is passed over: each "
            "ranking is condensed to the documents that were judged for its query.",
        ),
        data={
            "judged": count,
            "shares": {name: scores(row) for name, row in known.items()},
            "condensed": {name: scores(row) for name, row in left.items()},
            "significant": [
                {"system": row.system, "baseline": row.baseline, "measure": str(row.measure)}
                for row in (tested.rows if tested else ())
                if row.significant
            ],
        },
        tables={"judged": score_table("Who was judged", "system", known), "condensed": table},
    )


def condensed(run: Mapping[str, Ranking], judged: Mapping[str, Mapping[str, int]]) -> dict[str, Ranking]:
    """Each ranking without the documents that were not judged for its query."""
    return {query: _kept(ranking, judged.get(query, {})) for query, ranking in run.items()}


def _kept(ranking: Ranking, judged: Mapping[str, int]) -> Ranking:
    places = [place for place, id in enumerate(ranking.ids) if id in judged]
    return replace(
        ranking,
        ids=tuple(ranking.ids[place] for place in places),
        scores=ranking.scores[places],
        parts={},
        neighbours=None,
    )
