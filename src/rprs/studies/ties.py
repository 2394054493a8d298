"""How much it matters which of several equally similar sentences are among the n nearest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

from rprs.document import Ranking
from rprs.evaluation.evaluate import Evaluation
from rprs.evaluation.table import Cell, Figure, Table
from rprs.scoring.neighbours import Ties
from rprs.studies.finding import DIGITS, Finding, scores
from rprs.studies.options import TieOrders
from rprs.studies.runs import rank_pools
from rprs.studies.systems import Study, rprs_of

__all__ = ["ties"]

CHOICES: tuple[Ties, ...] = get_args(Ties)


def ties(study: Study, options: TieOrders) -> Finding:
    """The system with each choice for equally similar sentences, and how many queries change their top documents."""
    subject, own = study.subject, rprs_of(study.subject).ties
    runs = {choice: _run(study, choice) for choice in CHOICES}
    rows = {choice: study.score(run, choice) for choice, run in runs.items()}
    changed = {choice: _changed(runs[own], run, options.k) for choice, run in runs.items()}
    title = f"{subject.name} with each choice for equally similar sentences"
    return Finding(
        title="Ties among the nearest sentences",
        text=(
            f"`{subject.rerank}` over {subject.depth} candidates. Among equally similar sentences, those of the "
            "candidate ranked higher by the first stage (first), of the smaller document id (id), or of the candidate "
            "ranked lower (worst) are preferred. The last columns count the queries whose list of the best "
            f"{options.k} documents differs from that of “{own}” in its order, and in its documents.",
        ),
        data={
            choice: {**scores(row), "order_changed": changed[choice][0], "documents_changed": changed[choice][1]}
            for choice, row in rows.items()
        },
        tables={"ties": _table(title, rows, changed, options.k)},
    )


def _run(study: Study, choice: Ties) -> Mapping[str, Ranking]:
    subject = study.subject
    pools = study.pools(subject, (subject.depth,), ties=choice)[subject.depth]
    return rank_pools(pools, replace(rprs_of(subject), ties=choice))


def _changed(run: Mapping[str, Ranking], other: Mapping[str, Ranking], k: int) -> tuple[int, int]:
    """How many queries have their best k documents in another order, and how many have other documents there."""
    lists = [(ranking.ids[:k], other[query].ids[:k]) for query, ranking in run.items()]
    return sum(a != b for a, b in lists), sum(set(a) != set(b) for a, b in lists)


def _table(title: str, rows: Mapping[Ties, Evaluation], changed: Mapping[Ties, tuple[int, int]], k: int) -> Table:
    measures = list(rows[CHOICES[0]].parts)
    lines: list[tuple[Cell, ...]] = [
        (choice, *(Figure(row.total(measure), DIGITS + 1) for measure in measures), *changed[choice])
        for choice, row in rows.items()
    ]
    header = ("ties", *map(str, measures), f"order of top {k} changed", f"documents of top {k} changed")
    return Table(title, header, tuple(lines))
