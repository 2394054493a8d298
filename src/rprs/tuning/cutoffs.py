"""Tuning the cut-off: the rule for how many documents of a ranking are returned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rprs.document import Ranking
from rprs.errors import UsageError
from rprs.evaluation.cutoff import Ratio, cut
from rprs.evaluation.measures import Measure, Returned, Top, judge
from rprs.rank import System
from rprs.tuning.choose import Folds, Problem, Qrels, Tuned, as_measure, choose, judged_queries, unused_judgements
from rprs.tuning.grids import CutoffGrid, Value

__all__ = ["set_measure", "tune_cutoff"]

Floats = NDArray[np.float64]


def tune_cutoff(
    run: Mapping[str, Ranking],
    qrels: Qrels,
    measure: Measure | str,
    grid: CutoffGrid | None = None,
    *,
    folds: Folds = None,
    base: System | None = None,
    contents: Mapping[str, str] | None = None,
) -> Tuned:
    """The best rule `ratio(p, l, h)` for a run by a measure of sets: `micro_F1`, `macro_P`, `F1@4` ...

    A cut-off after the @ of the measure is ignored: it is what is tuned. `contents` are hashes of the queries' texts,
    so that queries with the same text are in the same fold. Combinations with l above h are left out.
    """
    base, target, axes = base or System(), set_measure(measure), (grid or CutoffGrid()).axes()
    rules = [_rule(point) for point in axes.points()]
    if not any(rules):
        raise UsageError("The grid has no rule: l must be at most h, and h at least 1")
    queries = judged_queries(list(run), qrels)

    def parts(query: str) -> Floats:
        sizes = [_size(rule, run[query]) for rule in rules]
        of_size = {
            size: replace(target, rule=Top(max(size, 1))).parts(judge(*_cut(run[query], size), qrels[query]))[0]
            for size in set(sizes)
        }
        return np.stack([of_size[size] for size in sizes])

    def rank(query: str, point: Mapping[str, Value]) -> Ranking:
        return Ranking(*_cut(run[query], _size(_rule(point), run[query])))

    def system(point: Mapping[str, Value]) -> System:
        return base.changed(cutoff=_rule(point))

    problem = Problem(
        axes=axes,
        measure=target,
        queries=queries,
        parts=np.stack([parts(query) for query in queries]),
        system=system,
        rank=rank,
        contents=contents or {},
        notes=unused_judgements(queries, qrels),
        exists=np.array([rule is not None for rule in rules]),
        name=str(target).partition("@")[0],
    )
    return choose(problem, folds)


def set_measure(measure: Measure | str) -> Returned:
    """A measure of sets; a cut-off after an @ is ignored."""
    text = str(measure)
    parsed = as_measure(text if "@" in text else f"{text}@1")
    if not isinstance(parsed, Returned):
        raise UsageError(f"A cut-off is tuned for F1, macro_ and micro_ P, R and F1. Got {text!r} instead.")
    return parsed


def _rule(point: Mapping[str, Value]) -> Ratio | None:
    p, least, most = (point[name] for name in ("p", "l", "h"))
    if not (isinstance(p, int | float) and isinstance(least, int) and isinstance(most, int)):
        raise UsageError(f"A cut-off needs a number p and integers l and h. Got p={p!r}, l={least!r}, h={most!r}.")
    return Ratio(float(p), least, most) if least <= most else None


def _size(rule: Ratio | None, ranking: Ranking) -> int:
    return int(cut(rule, ranking.scores[None])[0]) if rule else 0


def _cut(ranking: Ranking, size: int) -> tuple[tuple[str, ...], Floats]:
    return ranking.ids[:size], ranking.scores[:size]
