"""How good a run is: measures of its rankings against what was judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rprs.document import Ranking
from rprs.errors import UsageError
from rprs.evaluation.measures import MPR, Measure, Standard, judge, standard

__all__ = ["Evaluation", "Ties", "evaluate", "in_trec_order"]

Floats = NDArray[np.float64]
Ties = Literal["run", "trec_eval"]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What one system gets, query by query."""

    name: str
    queries: tuple[str, ...]
    parts: Mapping[Measure, Floats]  # (queries, j)
    notes: tuple[str, ...] = ()  # what a user should be told, a line each

    def values(self, measure: Measure) -> Floats:
        """(queries,): each query's own value."""
        return measure.values(self._parts(measure))

    def total(self, measure: Measure) -> float:
        """The value over all queries."""
        return float(measure.total(self._parts(measure)))

    def _parts(self, measure: Measure) -> Floats:
        if measure not in self.parts:
            known = " ".join(map(str, self.parts))
            raise UsageError(f"{measure} was not measured for {self.name or 'the run'}: only {known}")
        return self.parts[measure]


def evaluate(
    run: Mapping[str, Ranking],
    qrels: Mapping[str, Mapping[str, int]],
    measures: Sequence[Measure],
    name: str = "",
    *,
    ties: Ties = "run",
) -> Evaluation:
    """Measure a run on all queries that have a relevant document (a grade above 0); one that it lacks counts as 0.

    Equal scores are in the order of the run, or, as in trec_eval, the one with the greater id first.
    """
    if ties == "trec_eval":
        run = {query: in_trec_order(ranking) for query, ranking in run.items()}
    queries = tuple(sorted(query for query, grades in qrels.items() if max(grades.values(), default=0) > 0))
    if not queries:
        raise UsageError("The judgements have no relevant document: there is nothing to measure")
    if not any(query in run for query in queries):
        raise UsageError(
            f"The run {name!r} has none of the {len(queries):,} judged queries: are these the judgements for it? "
            f"(The run has {min(run, default='none at all')}, the judgements {queries[0]})"
        )
    known = [measure for measure in measures if isinstance(measure, Standard)]
    by_theirs = standard(known, {query: run[query].ids for query in queries if query in run}, qrels, queries)
    nothing = Ranking((), np.empty(0, dtype=np.float64))
    seen = [run.get(query, nothing) for query in queries]
    judged = [judge(ranking.ids, ranking.scores, qrels[query]) for query, ranking in zip(queries, seen, strict=True)]
    parts = {
        measure: by_theirs[measure]
        if isinstance(measure, Standard)
        else np.concatenate([measure.parts(ranked) for ranked in judged])
        for measure in measures
    }
    return Evaluation(name, queries, parts, tuple(_notes(run, qrels, queries, parts)))


def in_trec_order(ranking: Ranking) -> Ranking:
    """The ranking in the order of trec_eval, to which scores are equal if they are so in single precision."""
    with np.errstate(over="ignore"):  # beyond single precision is infinity
        scores = ranking.scores.astype(np.float32).astype(np.float64)
    pairs = sorted(zip(scores.tolist(), ranking.ids, strict=True), reverse=True)
    return Ranking(tuple(id for _, id in pairs), np.array([score for score, _ in pairs], dtype=np.float64))


def _notes(
    run: Mapping[str, Ranking],
    qrels: Mapping[str, Mapping[str, int]],
    queries: Sequence[str],
    parts: Mapping[Measure, Floats],
) -> list[str]:
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
