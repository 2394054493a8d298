"""From the measure of every query at every point to the best point, with cross-validation and a sensitivity table."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rprs.document import Ranking
from rprs.errors import UsageError
from rprs.evaluation.measures import Measure, Ranked, judge, parse_measure
from rprs.evaluation.table import Cell, Figure, Table
from rprs.files.atomic import write_atomically
from rprs.progress import Progress
from rprs.rank import System
from rprs.results.run import Run
from rprs.scoring.threads import cores
from rprs.tuning.grids import Axes, Value

__all__ = [
    "Fold",
    "HeldOut",
    "Problem",
    "Tuned",
    "as_measure",
    "choose",
    "deal",
    "judged_queries",
    "map_queries",
    "measured",
    "measured_lists",
    "unused_judgements",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Qrels = Mapping[str, Mapping[str, int]]
Folds = int | Mapping[str, int] | None

Result = TypeVar("Result")

_ROUNDING = 1e-12  # totals that are equal in exact arithmetic may differ by this much


@dataclass(frozen=True)
class Fold:
    """A part of the queries, and the best point of all the others."""

    queries: tuple[str, ...]
    point: Mapping[str, Value]
    best: System
    tuned: float  # the measure at that point on the other queries
    value: float  # and on these


@dataclass(frozen=True)
class HeldOut:
    """The result of cross-validation: every query is ranked with the parameters that other queries chose."""

    value: float
    queries: tuple[str, ...]
    values: Floats  # (queries,): each query's own
    run: Mapping[str, Ranking]


@dataclass(frozen=True, repr=False)
class Tuned:
    """The best point of a grid, and how the measure varies over it."""

    best: System
    point: Mapping[str, Value]
    measure: str
    value: float
    before: float | None  # the measure of the system before tuning, where it is known
    queries: tuple[str, ...]
    axes: Axes
    totals: Floats  # of the shape of the axes; NaN where there is no such point
    sensitivity: Table
    folds: tuple[Fold, ...] = ()
    held_out: HeldOut | None = None
    notes: tuple[str, ...] = ()
    candidate_notes: tuple[str, ...] = ()  # of the first stage, a line for each query and note
    about: Mapping[str, Any] = field(default_factory=dict)  # how the system was tuned, for its settings file

    def __repr__(self) -> str:
        return f"<Tuned {self.measure} {self.value:.4f}: {self.best}>"

    def write(self, path: str | Path) -> None:
        """Write the tuned system as a settings file, and beside it the tables and the held-out run.

        The settings are written last: once they are there, so is the rest.
        """
        from rprs.tuning.settings import write_settings

        path = Path(path)
        tables = ([self.validation] if self.folds else []) + [self.sensitivity]
        write_atomically(_beside(path, "sensitivity.md"), "\n".join(table.markdown() for table in tables))
        write_atomically(_beside(path, "sensitivity.csv"), self.sensitivity.csv())
        write_atomically(_beside(path, "points.csv"), self.points.csv())
        _beside(path, "held-out.trec").unlink(missing_ok=True)  # it may be that of another tuning
        if self.held_out is not None:
            Run(self.held_out.run, "held-out").write(_beside(path, "held-out.trec"))
        write_settings(path, self.best, self.about)

    @property
    def points(self) -> Table:
        """Every point with its value."""
        rows = zip(self.axes.points(), self.totals.ravel().tolist(), strict=True)
        header = (*self.axes.values, self.measure)
        return Table(
            "All points", header, tuple((*map(_cell, point.values()), Figure(value, 4)) for point, value in rows)
        )

    @property
    def validation(self) -> Table:
        """One row per fold: the point that the other queries chose, its value for them and for this fold."""
        rows: list[tuple[Cell, ...]] = [
            (number, len(fold.queries), *map(_cell, fold.point.values()), Figure(fold.tuned, 4), Figure(fold.value, 4))
            for number, fold in enumerate(self.folds, 1)
        ]
        header = ("fold", "queries", *self.axes.values, "tuned", "held out")
        all_queries = f"All {len(self.queries):,} queries, held out: {self.held_out.value:.4f}" if self.held_out else ""
        return Table(f"Cross-validation, {self.measure}", header, tuple(rows), (all_queries,) if all_queries else ())


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(f"{path.name.removesuffix('.toml')}.{suffix}")


# ---------------------------------------------------------------------------- queries and measures


def map_queries(
    compute: Callable[[str], Result], queries: Sequence[str], progress: Progress, what: str
) -> Iterator[Result]:
    """The result for each query, computed on all cores, in the order of the queries."""
    with ThreadPoolExecutor(cores()) as threads, progress(what, len(queries), "queries") as advance:
        for result in threads.map(compute, queries):
            yield result
            advance(1)


def as_measure(measure: Measure | str) -> Measure:
    """A measure from its text, or as it is."""
    return parse_measure(measure) if isinstance(measure, str) else measure


def judged_queries(queries: Sequence[str], qrels: Qrels) -> list[str]:
    """Those of some queries that have a relevant document, in the order of their ids."""
    judged = sorted(query for query in set(queries) if max(qrels.get(query, {}).values(), default=0) > 0)
    if not judged:
        example = min(queries, default="none at all")
        raise UsageError(
            f"None of the {len(set(queries)):,} queries has a relevant document in these judgements: are they theirs? "
            f"(A query is {example!r}, a judged one {min(qrels, default='none at all')!r})"
        )
    return judged


def unused_judgements(queries: Iterable[str], qrels: Qrels) -> tuple[str, ...]:
    """A note if queries with relevant documents are not among those used for tuning."""
    relevant = {query for query, grades in qrels.items() if max(grades.values(), default=0) > 0}
    missing = len(relevant - set(queries))
    return (f"{missing:,} of {len(relevant):,} judged queries are not used for tuning",) if missing else ()


def measured(measure: Measure, grades: Ints, scores: Floats, judgements: Mapping[str, int]) -> Floats:
    """(p, j): the parts of a measure for p orders of one query.

    `grades` and `scores` (p, depth) are those of the documents in their order; -1 is a document without a judgement.
    """
    positive = np.array([grade for grade in judgements.values() if grade > 0], dtype=np.int64)
    irrelevant = sum(grade == 0 for grade in judgements.values())
    return measure.parts(Ranked(np.maximum(grades, 0), scores, positive, grades >= 0, irrelevant))


def measured_lists(
    measure: Measure, grades: Ints, scores: Floats, sizes: Ints, judgements: Mapping[str, int]
) -> Floats:
    """The same for p lists of different `sizes` (p,), of which the arrays (p, depth) hold the first documents."""
    parts = {
        size: measured(measure, grades[sizes == size, :size], scores[sizes == size, :size], judgements)
        for size in np.unique(sizes).tolist()
    }
    joined = np.empty((len(sizes), next(iter(parts.values())).shape[1]))
    for size, values in parts.items():
        joined[sizes == size] = values
    return joined


def deal(contents: Mapping[str, str], folds: int, seed: int = 0) -> dict[str, int]:
    """A fold, from 0, for each query: shuffled by a seed, then assigned in turn.

    Queries with the same text (the same hash in `contents`; an empty hash matches nothing) are in the same fold, since
    a query that was used for tuning is not held out.
    """
    groups: dict[str, list[str]] = {}
    for query in sorted(contents):
        groups.setdefault(contents[query] or f"query {query}", []).append(query)
    if not 2 <= folds <= len(groups):
        raise UsageError(
            f"The number of folds must be in [2, {len(groups)}], the number of different queries. Got {folds}."
        )
    dealt = sorted(groups.values(), key=lambda group: hashlib.sha256(f"{seed} {group[0]}".encode()).digest())
    return {query: place % folds for place, group in enumerate(dealt) for query in group}


# ---------------------------------------------------------------------------- choosing


@dataclass(frozen=True)
class Problem:
    """A tuning problem: the parts of a measure for all queries and points, and how to rank at any point."""

    axes: Axes
    measure: Measure
    queries: Sequence[str]
    parts: Floats  # (queries, points, j)
    system: Callable[[Mapping[str, Value]], System]
    rank: Callable[[str, Mapping[str, Value]], Ranking]
    contents: Mapping[str, str] = field(default_factory=dict)  # hashes of the queries' texts, where they are known
    notes: tuple[str, ...] = ()
    exists: NDArray[np.bool_] | None = None  # (points,): which of the box are points
    before: Mapping[str, Value] | None = None  # the parameters that were there before tuning
    qrels: Qrels = field(default_factory=dict)
    name: str = ""  # of the measure, if not its own

    def totals(self, chosen: NDArray[np.bool_] | None = None) -> Floats:
        """(points,): the measure over some of the queries; NaN where there is no point."""
        totals = self.measure.total(self.parts if chosen is None else self.parts[chosen])
        return totals if self.exists is None else np.where(self.exists, totals, np.nan)


def choose(problem: Problem, folds: Folds = None) -> Tuned:
    """The best point on all queries and, with folds, on all queries but those of each fold.

    Of equally good points the preference of the axes decides.
    """
    totals = problem.totals()
    best = _best(problem.axes, totals)
    point = problem.axes.point(best)
    shaped = totals.reshape(problem.axes.shape)
    validated, held_out = _validated(problem, folds) if folds is not None else ((), None)
    return Tuned(
        best=problem.system(point),
        point=point,
        measure=problem.name or str(problem.measure),
        value=float(totals[best]),
        before=_before(problem, totals),
        queries=tuple(problem.queries),
        axes=problem.axes,
        totals=shaped,
        sensitivity=_sensitivity(problem.axes, shaped, best, problem.name or str(problem.measure)),
        folds=validated,
        held_out=held_out,
        notes=(*problem.notes, *_edges(problem.axes, best)),
    )


def _before(problem: Problem, totals: Floats) -> float | None:
    if problem.before is None:
        return None
    number = problem.axes.number(problem.before)
    if number is not None:
        return float(totals[number])
    rankings = [(query, problem.rank(query, problem.before)) for query in problem.queries]
    parts = [problem.measure.parts(judge(one.ids, one.scores, problem.qrels[query])) for query, one in rankings]
    return float(problem.measure.total(np.concatenate(parts)))


def _edges(axes: Axes, best: int) -> tuple[str, ...]:
    names = axes.at_the_end(best)
    return (f"The best {' and '.join(names)} is the last value of the grid: try larger values",) if names else ()


def _best(axes: Axes, totals: Floats) -> int:
    return axes.preferred(np.flatnonzero(totals >= np.nanmax(totals) - _ROUNDING).tolist())


def _validated(problem: Problem, folds: Folds) -> tuple[tuple[Fold, ...], HeldOut]:
    contents = {query: problem.contents.get(query, "") for query in problem.queries}
    dealt = deal(contents, folds) if isinstance(folds, int) else dict(folds or {})
    missing = [query for query in problem.queries if query not in dealt]
    if missing:
        raise UsageError(f"The query {missing[0]!r} belongs to no fold: every query used for tuning must")
    fold_of = np.array([dealt[query] for query in problem.queries])
    chosen = np.zeros(len(problem.queries), dtype=np.int64)
    results, measure = [], problem.measure
    for fold in np.unique(fold_of):
        inside = fold_of == fold
        if inside.all():
            raise UsageError("All queries are in one fold: none are left to tune on. Use more folds.")
        totals = problem.totals(~inside)
        best = _best(problem.axes, totals)
        chosen[inside] = best
        point, value = problem.axes.point(best), float(measure.total(problem.parts[inside, best]))
        queries = tuple(query for query, own in zip(problem.queries, inside, strict=True) if own)
        results.append(Fold(queries, point, problem.system(point), float(totals[best]), value))
    parts = problem.parts[np.arange(len(chosen)), chosen]
    points = {best: problem.axes.point(best) for best in chosen.tolist()}
    run = {
        query: problem.rank(query, points[best]) for query, best in zip(problem.queries, chosen.tolist(), strict=True)
    }
    total, values = float(measure.total(parts)), measure.values(parts)
    return tuple(results), HeldOut(total, tuple(problem.queries), values, run)


def _sensitivity(axes: Axes, totals: Floats, best: int, measure: str) -> Table:
    """One row per value: the measure with the other parameters at the best point, at their best, and on average."""
    at = [int(place) for place in np.unravel_index(best, axes.shape)]
    rows: list[tuple[Cell, ...]] = []
    for axis, (name, values) in enumerate(axes.values.items()):
        if len(values) == 1:
            continue
        line: list[int | slice] = [slice(None) if other == axis else place for other, place in enumerate(at)]
        here, others = totals[tuple(line)], np.moveaxis(totals, axis, 0).reshape(len(values), -1)
        for place, value in enumerate(values):
            values_there = others[place][~np.isnan(others[place])]
            top, mean = (
                (float(values_there.max()), float(values_there.mean())) if len(values_there) else (np.nan, np.nan)
            )
            figures = Figure(float(here[place]), 4, best=place == at[axis]), Figure(top, 4), Figure(mean, 4)
            rows.append((name, _cell(value), *figures))
    header = ("parameter", "value", "others at the best point", "best over others", "mean over others")
    return Table(f"Sensitivity of {measure} to each parameter", header, tuple(rows))


def _cell(value: Value) -> str:
    return "none" if value is None else str(value)
