"""How good a run is: measures of its rankings against relevance judgements.

rprs.evaluate("run.trec", "qrels.txt", "P@1 AP nDCG@10")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rprs.document import EMPTY_RANKING, Ranking
from rprs.errors import UsageError
from rprs.evaluation import DEFAULT_MEASURES
from rprs.evaluation.frame import data_frame
from rprs.evaluation.inputs import RunInput, name_of, read_rankings
from rprs.evaluation.measures import (
    MPR,
    Measure,
    MeasureInput,
    Standard,
    judge,
    judged_beside,
    parse_measures,
    standard,
)
from rprs.evaluation.table import Cell, Figure, Table

__all__ = ["Evaluation", "Ties", "evaluate", "in_trec_order", "judged_queries", "per_query_table", "totals"]

Floats = NDArray[np.float64]
Ties = Literal["run", "trec_eval"]
Qrels = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The values of one system, for each query and in total: `evaluation["AP"]` is the total of AP."""

    name: str
    queries: tuple[str, ...]
    parts: Mapping[Measure, Floats]  # (queries, j)
    notes: tuple[str, ...] = ()  # remarks for the user, one line each

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures of this evaluation."""
        return tuple(self.parts)

    def values(self, measure: Measure | str) -> Floats:
        """(queries,): the value of each query."""
        measure = self._measure(measure)
        return measure.values(self.parts[measure])

    def total(self, measure: Measure | str) -> float:
        """The value over all queries."""
        measure = self._measure(measure)
        return float(measure.total(self.parts[measure]))

    def __getitem__(self, measure: Measure | str) -> float:
        return self.total(measure)

    def __repr__(self) -> str:
        values = ", ".join(f"{measure} {self.total(measure):.4f}" for measure in self.parts)
        return f"<Evaluation{' ' * bool(self.name)}{self.name}: {len(self.queries):,} queries, {values}>"

    def _repr_html_(self) -> str:
        return totals([self], self.measures, notes=self.notes).html()

    def to_frame(self, *, per_query: bool = True) -> Any:
        """A pandas DataFrame with one row per query (`query_id`), or one row of totals, and one column per measure."""
        if per_query:
            columns = {str(measure): self.values(measure).tolist() for measure in self.parts}
            return data_frame("Evaluation.to_frame", {"query_id": self.queries, **columns})
        sums = {str(measure): [self.total(measure)] for measure in self.parts}
        return data_frame("Evaluation.to_frame", {"system": [self.name], **sums})

    def _measure(self, measure: Measure | str) -> Measure:
        """A measure of this evaluation, by its text or itself."""
        match = next((each for each in self.parts if str(each) == measure), None)
        if match is None:
            parsed = parse_measures(measure)
            match = parsed[0] if len(parsed) == 1 else None
        if match is None or match not in self.parts:
            names = " ".join(map(str, self.parts))
            raise UsageError(f"{match or measure} was not measured for {self.name or 'the run'}: only {names}")
        return match


def evaluate(
    run: RunInput,
    qrels: Any,
    measures: MeasureInput = DEFAULT_MEASURES,
    *,
    name: str = "",
    ties: Ties = "run",
    judged: bool = False,
) -> Evaluation:
    """The implementation of `rprs.evaluate`, which describes the arguments."""
    from rprs.read.inputs import read_judgements

    parsed = parse_measures(measures)
    if not parsed:
        raise UsageError(f'Name a measure, such as "{DEFAULT_MEASURES}"')
    if judged:
        parsed = parse_measures([*parsed, *judged_beside(parsed)])
    if ties not in get_args(Ties):
        raise UsageError(f"ties must be 'run' or 'trec_eval'. Got {ties!r} instead.")
    rankings, judgements = read_rankings(run), read_judgements(qrels)
    if ties == "trec_eval":
        rankings = {query: in_trec_order(ranking) for query, ranking in rankings.items()}
    name = name or name_of(run)
    queries = judged_queries(rankings, judgements, name)
    parts = _parts(rankings, judgements, parsed, queries)
    return Evaluation(name, queries, parts, tuple(_notes(rankings, queries, parts)))


def judged_queries(run: Mapping[str, Ranking], qrels: Qrels, name: str) -> tuple[str, ...]:
    """The queries that have a relevant document."""
    queries = tuple(sorted(query for query, grades in qrels.items() if max(grades.values(), default=0) > 0))
    if not queries:
        raise UsageError("The judgements have no relevant document: there is nothing to measure")
    if not any(query in run for query in queries):
        raise UsageError(
            f"The run {name!r} has none of the {len(queries):,} judged queries: are these the judgements for it? "
            f"(The run has {min(run, default='none at all')}, the judgements {queries[0]})"
        )
    return queries


def _parts(
    run: Mapping[str, Ranking], qrels: Qrels, measures: Sequence[Measure], queries: Sequence[str]
) -> dict[Measure, Floats]:
    """(queries, j) for each measure."""
    by_ir_measures = standard(
        [measure for measure in measures if isinstance(measure, Standard)],
        {query: run[query].ids for query in queries if query in run},
        qrels,
        queries,
    )
    rankings = [run.get(query, EMPTY_RANKING) for query in queries]
    judged = [
        judge(ranking.ids, ranking.scores, qrels[query]) for query, ranking in zip(queries, rankings, strict=True)
    ]
    return {
        measure: by_ir_measures[measure]
        if isinstance(measure, Standard)
        else np.concatenate([measure.parts(ranked) for ranked in judged])
        for measure in measures
    }


def in_trec_order(ranking: Ranking) -> Ranking:
    """The ranking in the order of trec_eval, which compares scores in single precision."""
    with np.errstate(over="ignore"):  # beyond single precision is infinity
        scores = ranking.scores.astype(np.float32).astype(np.float64)
    pairs = sorted(zip(scores.tolist(), ranking.ids, strict=True), reverse=True)
    return Ranking(tuple(id for _, id in pairs), np.array([score for score, _ in pairs], dtype=np.float64))


def _notes(run: Mapping[str, Ranking], queries: Sequence[str], parts: Mapping[Measure, Floats]) -> list[str]:
    notes = []
    missing = sum(query not in run for query in queries)
    if missing:
        notes.append(f"{missing:,} of {len(queries):,} queries are not in the run; they count as 0")
    unjudged = len(run.keys() - set(queries))
    if unjudged:
        notes.append(f"{unjudged:,} of {len(run):,} queries of the run have no relevant document; they are left out")
    if MPR() in parts:
        _, _, listed, relevant = parts[MPR()].sum(axis=0)
        if listed < relevant:
            left_out = f"{relevant - listed:,.0f} of {relevant:,.0f}"
            notes.append(f"MPR leaves out {left_out} relevant documents, which are not in the rankings")
    return notes


# ---------------------------------------------------------------------------- tables


def totals(
    evaluations: Sequence[Evaluation],
    measures: Sequence[Measure],
    title: str = "",
    digits: int = 4,
    marks: Mapping[tuple[str, Measure], str] | None = None,
    notes: Sequence[str] = (),
) -> Table:
    """One row per system, one column per measure, the best of several in bold; `marks` by system and measure.

    Measures that do not compare systems, such as Judged@10, have no best value.
    """
    values = np.array([[evaluation.total(measure) for measure in measures] for evaluation in evaluations])
    best = np.round(values, digits) == np.round(values.max(axis=0), digits)
    best &= [measure.compared for measure in measures]
    rows: list[tuple[Cell, ...]] = [
        (
            evaluation.name,
            *(
                Figure(value, digits, (marks or {}).get((evaluation.name, measure), ""), bool(top and len(values) > 1))
                for measure, value, top in zip(measures, row, tops, strict=True)
            ),
        )
        for evaluation, row, tops in zip(evaluations, values.tolist(), best.tolist(), strict=True)
    ]
    return Table(title, ("system", *map(str, measures)), tuple(rows), tuple(notes))


def per_query_table(evaluations: Sequence[Evaluation], measures: Sequence[Measure], digits: int = 4) -> Table:
    """One row per system and query, and after those of each system one row of totals, whose query is `all`."""
    rows: list[tuple[Cell, ...]] = []
    for evaluation in evaluations:
        values = zip(*(evaluation.values(measure).tolist() for measure in measures), strict=True)
        total = [evaluation.total(measure) for measure in measures]
        for query, row in [*zip(evaluation.queries, values, strict=True), ("all", total)]:
            rows.append((evaluation.name, query, *(Figure(value, digits) for value in row)))
    return Table("", ("system", "query", *map(str, measures)), tuple(rows))
