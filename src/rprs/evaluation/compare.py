"""Which system is better, by how much, and is the difference significant? Tables with marks as papers print them.

rprs.compare(["bm25.trec", "rprs.trec"], "qrels.txt", "P@1 AP")
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from pathlib import PurePath
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rprs.document import Ranking
from rprs.errors import UsageError
from rprs.evaluation import DEFAULT_MEASURES
from rprs.evaluation.evaluate import Evaluation, Ties, evaluate, totals
from rprs.evaluation.frame import data_frame
from rprs.evaluation.inputs import name_files, name_of
from rprs.evaluation.measures import Measure, MeasureInput, judged_beside, parse_measures
from rprs.evaluation.significance import (
    Pair,
    bonferroni,
    bootstrap_interval,
    effect_size,
    fisher,
    holm,
    t_interval,
    t_test,
)
from rprs.evaluation.table import Cell, Figure, Table

__all__ = ["MARKS", "Comparison", "Correction", "Difference", "Test", "compare"]

Correction = Literal["bonferroni", "holm", "none"]
Test = Literal["t", "fisher"]
Floats = NDArray[np.float64]

MARKS = ("†", "*", "‡", "§", "¶", "#")  # over the first baseline, the second ...
_TESTS = {"t": "paired t-test", "fisher": "Fisher's randomisation test"}
_CORRECTIONS = {"bonferroni": "Bonferroni", "holm": "Holm"}
_TIE = 1e-12


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between a system and a baseline by one measure."""

    system: str
    baseline: str
    measure: Measure
    difference: float  # of the totals; above 0 if the system is better
    low: float  # the confidence interval of the difference, not corrected; NaN for a single query
    high: float
    d_z: float  # Cohen's: the mean of the queries' differences / their standard deviation; NaN where it is not defined
    p_t: float
    p_fisher: float
    corrected_t: float
    corrected_fisher: float
    wins: int  # queries on which the system is better
    losses: int
    ties: int
    significant: bool  # by the chosen test, corrected, in either direction


@dataclass(frozen=True)
class Comparison:
    """Systems against baselines: all differences, and the tables that a paper prints."""

    evaluations: tuple[Evaluation, ...]
    measures: tuple[Measure, ...]
    baselines: tuple[str, ...]
    rows: tuple[Difference, ...]
    alpha: float
    correction: Correction
    test: Test
    family: int  # the number of comparisons by one measure, for the correction
    beside: tuple[Measure, ...] = ()  # measures that are printed but not tested, such as Judged@10

    def table(self, title: str = "", digits: int = 4) -> Table:
        """One row per system, one column per measure; significant improvements are marked, the best is bold."""
        marks: dict[tuple[str, Measure], str] = {}
        for row in self.rows:
            if row.significant and row.difference > 0:
                key = row.system, row.measure
                marks[key] = marks.get(key, "") + MARKS[self.baselines.index(row.baseline)]
        columns = (*self.measures, *self.beside)
        return totals(self.evaluations, columns, title, digits, marks, self._legend(marks))

    def details(self, title: str = "", digits: int = 4) -> Table:
        """One row per system, baseline and measure: the difference with its confidence interval and effect size, the p
        of both tests, and the numbers of wins, losses and ties."""
        level = f"{100 * (1 - self.alpha):g}%"
        interval = ("difference", f"{level} low", f"{level} high", "d_z")
        header = ("system", "baseline", "measure", *interval, "p (t)", "p (Fisher)")
        corrected = () if self.correction == "none" else ("corrected p (t)", "corrected p (Fisher)")
        rows = [self._details(row, digits) for row in self.rows]
        notes = [
            f"Significant: {self._test()}.",
            f"{level} low and high: the confidence interval of the difference, not corrected. d_z (Cohen): the mean of "
            "the queries' differences divided by their standard deviation.",
        ]
        pooled = [str(measure) for measure in self.measures if not measure.averaged]
        if pooled:
            measures = ", ".join(pooled)
            notes.append(
                f"For {measures}, the t-test and d_z compare the queries' values, although the total is not their "
                "mean; the interval is of the total, by bootstrap."
            )
        return Table(title, (*header, *corrected, "wins", "losses", "ties", "significant"), tuple(rows), tuple(notes))

    def to_frame(self, *, per_query: bool = False) -> Any:
        """A pandas DataFrame with one row per system (and query) and one column per measure.

        `details().to_frame()` has the differences and their p-values.
        """
        if not per_query:
            return self.table().to_frame()
        systems = [evaluation.name for evaluation in self.evaluations for _ in evaluation.queries]
        queries = [query for evaluation in self.evaluations for query in evaluation.queries]
        values = {
            str(measure): [value for each in self.evaluations for value in each.values(measure).tolist()]
            for measure in (*self.measures, *self.beside)
        }
        return data_frame("Comparison.to_frame", {"system": systems, "query_id": queries, **values})

    def __repr__(self) -> str:
        queries = len(self.evaluations[0].queries)
        names = ", ".join(evaluation.name for evaluation in self.evaluations)
        measures = ", ".join(map(str, self.measures))
        return f"<Comparison of {names} by {measures} on {queries:,} queries; baseline: {', '.join(self.baselines)}>"

    def _repr_html_(self) -> str:
        return self.table().html() + self.details().html()

    def _details(self, row: Difference, digits: int) -> tuple[Cell, ...]:
        corrected = () if self.correction == "none" else (row.corrected_t, row.corrected_fisher)
        verdict = "no" if not row.significant else "better" if row.difference > 0 else "worse"
        return (
            row.system,
            row.baseline,
            str(row.measure),
            *(Figure(value, digits) for value in (row.difference, row.low, row.high)),
            Figure(row.d_z, 2),
            row.p_t,
            row.p_fisher,
            *corrected,
            row.wins,
            row.losses,
            row.ties,
            verdict,
        )

    def _test(self) -> str:
        """The test in words, such as `paired t-test, p < 0.05, Bonferroni over 4 comparisons of each measure`."""
        over = f"{self.family} comparison{'s' if self.family > 1 else ''} of each measure"
        corrected = "uncorrected" if self.correction == "none" else f"{_CORRECTIONS[self.correction]} over {over}"
        return f"{_TESTS[self.test]}, p < {self.alpha:g}, {corrected}"

    def _legend(self, marks: Mapping[tuple[str, Measure], str]) -> tuple[str, ...]:
        used = "".join(marks.values())
        baselines = [(mark, name) for mark, name in zip(MARKS, self.baselines, strict=False) if mark in used]
        if not baselines:
            names = " or ".join(self.baselines)
            return (f"No significant improvement over {names} ({self._test()}).",)
        over = ", ".join(f"{mark} over {name}" for mark, name in baselines)
        return (f"Significant improvement: {over} ({self._test()}).",)


def compare(
    runs: Mapping[str, Any] | Iterable[Any],
    qrels: Any = None,
    measures: MeasureInput | None = None,
    *,
    baselines: str | Iterable[str] | None = None,
    comparisons: Iterable[tuple[str, str]] | None = None,
    alpha: float = 0.05,
    correction: Correction = "bonferroni",
    test: Test = "t",
    permutations: int = 100_000,
    seed: int = 0,
    ties: Ties = "run",
    judged: bool = False,
) -> Comparison:
    """The implementation of `rprs.compare`, which describes the arguments."""
    _check_options(alpha, correction, test, permutations, seed)
    systems = _named(runs)
    parsed = parse_measures(_default_measures(systems) if measures is None else measures)
    if judged:
        parsed = parse_measures([*parsed, *judged_beside(parsed)])
    evaluations = _evaluate_all(systems, qrels, parsed, ties)
    by = tuple(measure for measure in parsed if measure.compared)
    named = {evaluation.name: evaluation for evaluation in evaluations}
    declared = _declared(comparisons)
    chosen = () if declared and baselines is None else _baselines(baselines, list(named))
    against = tuple(dict.fromkeys((*chosen, *(baseline for _, baseline in declared))))
    _check_systems(evaluations, named, against, declared)
    every = [(system, baseline) for baseline in chosen for system in named if system != baseline]
    ordered = list(dict.fromkeys((*every, *declared)))
    pairs = list(dict.fromkeys(_pair(*names) for names in ordered))  # two baselines are compared once, not twice
    p = _corrected(_p_values(named, pairs, by, permutations, seed), len(by), correction)
    rows = [
        _difference(
            named[system], named[baseline], measure, of[pairs.index(_pair(system, baseline))], test, alpha, seed
        )
        for measure, of in zip(by, p.tolist(), strict=True)
        for system, baseline in ordered
    ]
    rows.sort(key=lambda row: (against.index(row.baseline), list(named).index(row.system)))
    beside = tuple(measure for measure in parsed if not measure.compared)
    return Comparison(tuple(evaluations), by, against, tuple(rows), alpha, correction, test, len(pairs), beside)


# ---------------------------------------------------------------------------- systems and options


def _named(runs: Mapping[str, Any] | Iterable[Any]) -> list[tuple[str, Any]]:
    """Runs and evaluations with their names."""
    if isinstance(runs, Mapping) and not any(isinstance(run, Ranking) for run in runs.values()):
        return [(str(name), run) for name, run in runs.items()]
    if isinstance(runs, str | PurePath | bytes | Mapping) or not isinstance(runs, Iterable):
        raise UsageError(f"compare takes a mapping from names to runs, or a list of files. Got {runs!r:.80}")
    listed = list(runs)
    files = [run for run in listed if isinstance(run, str | PurePath)]
    names = iter(name_files(files))
    return [(next(names) if isinstance(run, str | PurePath) else _own_name(run), run) for run in listed]


def _own_name(run: Any) -> str:
    name = run.name if isinstance(run, Evaluation) else name_of(run)
    if not name:
        raise UsageError(f"Give the runs with names, as {{'bm25': run, ...}}: this one has none: {run!r:.80}")
    return name


def _default_measures(runs: Sequence[tuple[str, Any]]) -> MeasureInput:
    """The measures of the first evaluation among the runs, if there is one."""
    return next((run.measures for _, run in runs if isinstance(run, Evaluation)), DEFAULT_MEASURES)


def _evaluate_all(
    runs: Sequence[tuple[str, Any]], qrels: Any, measures: Sequence[Measure], ties: Ties
) -> list[Evaluation]:
    """Evaluations as they are, and runs evaluated by the same measures."""
    if not any(measure.compared for measure in measures):
        raise UsageError(f'Name a measure to compare by, such as "{DEFAULT_MEASURES}"')
    missing = [name for name, run in runs if not isinstance(run, Evaluation)]
    if missing and qrels is None:
        raise UsageError(f"The run {missing[0]!r} can only be compared with qrels, the relevance judgements")
    if missing:
        from rprs.read.inputs import read_judgements

        qrels = read_judgements(qrels)
    return [
        replace(run, name=name) if isinstance(run, Evaluation) else evaluate(run, qrels, measures, name=name, ties=ties)
        for name, run in runs
    ]


def _baselines(baselines: Any, names: Sequence[str]) -> tuple[str, ...]:
    listed = [baselines] if isinstance(baselines, str) or not isinstance(baselines, Iterable | None) else baselines
    chosen = list(listed or names[:1])
    if not all(isinstance(name, str) for name in chosen):
        raise UsageError(f"baselines must be names of systems. Got {baselines!r:.80} instead.")
    return tuple(dict.fromkeys(chosen))


def _declared(comparisons: Any) -> list[tuple[str, str]]:
    """The pairs of a system and a baseline, checked."""
    listed = list(comparisons) if isinstance(comparisons, Iterable) else [comparisons] * (comparisons is not None)
    for pair in listed:
        names = list(pair) if isinstance(pair, Sequence) and not isinstance(pair, str) else []
        if len(names) != 2 or not all(isinstance(name, str) for name in names) or names[0] == names[1]:
            raise UsageError(f"A comparison is a pair of different systems, such as ('rprs', 'bm25'). Got {pair!r:.80}")
    return [(system, baseline) for system, baseline in listed]


def _check_systems(
    evaluations: Sequence[Evaluation],
    named: Mapping[str, Evaluation],
    baselines: Sequence[str],
    declared: Sequence[tuple[str, str]],
) -> None:
    if len(named) < 2:
        raise UsageError("Give at least two systems of different names to compare")
    if len(named) < len(evaluations):
        names = [evaluation.name for evaluation in evaluations]
        raise UsageError(f"Two systems have the same name: {next(name for name in names if names.count(name) > 1)}")
    unknown = [name for name in baselines if name not in named]
    if unknown:
        raise UsageError(f"There is no system {unknown[0]!r} to be a baseline: there are {', '.join(named)}")
    unknown = [name for name, _ in declared if name not in named]
    if unknown:
        raise UsageError(f"There is no system {unknown[0]!r} to compare: there are {', '.join(named)}")
    if len(baselines) > len(MARKS):
        raise UsageError(f"{len(baselines)} baselines, and only {len(MARKS)} marks: name at most {len(MARKS)}")
    if len({evaluation.queries for evaluation in evaluations}) > 1:
        raise UsageError("The systems were measured on different queries: evaluate them with the same judgements")


def _check_options(alpha: float, correction: str, test: str, permutations: int, seed: int) -> None:
    if not isinstance(alpha, Real) or not 0 < alpha < 1:
        raise UsageError(f"alpha must be a number in (0, 1). Got {alpha!r} instead.")
    for name, value, choices in (
        ("correction", correction, get_args(Correction)),
        ("test", test, get_args(Test)),
    ):
        if value not in choices:
            raise UsageError(f"{name} must be {' or '.join(map(repr, choices))}. Got {value!r} instead.")
    for name, number, least in (("permutations", permutations, 1), ("seed", seed, 0)):
        if not isinstance(number, Integral) or number < least:
            raise UsageError(f"{name} must be an integer in [{least}, inf). Got {number!r} instead.")


# ---------------------------------------------------------------------------- tests of significance


def _pair(one: str, other: str) -> tuple[str, str]:
    return min(one, other), max(one, other)


def _p_values(
    named: Mapping[str, Evaluation],
    pairs: Sequence[tuple[str, str]],
    measures: Sequence[Measure],
    permutations: int,
    seed: int,
) -> tuple[Floats, Floats]:
    """The p of the t-test and of Fisher's test, for every measure and pair of systems."""
    tests = [(named[one], named[other], measure) for measure in measures for one, other in pairs]
    by_t = np.array([t_test(one.values(by), other.values(by)) for one, other, by in tests])
    by_fisher = fisher(
        [Pair(one.parts[by], other.parts[by], by.combine) for one, other, by in tests],
        permutations=permutations,
        seed=seed,
    )
    return by_t, by_fisher


def _corrected(p_values: tuple[Floats, Floats], measures: int, correction: Correction) -> Floats:
    """(measures, pairs, 4): the p of both tests, and each corrected over the pairs."""
    correct = {"bonferroni": bonferroni, "holm": holm, "none": _uncorrected}[correction]
    plain = [p.reshape(measures, -1) for p in p_values]
    return np.stack([*plain, *(np.array([correct(family) for family in p]) for p in plain)], axis=2)


def _uncorrected(p: Floats) -> Floats:
    return p


def _difference(
    system: Evaluation,
    baseline: Evaluation,
    measure: Measure,
    p: Sequence[float],
    test: Test,
    alpha: float,
    seed: int,
) -> Difference:
    a, b = system.values(measure), baseline.values(measure)
    change = a - b
    low, high = _interval(system, baseline, measure, 1 - alpha, seed)
    wins, losses = int((change > _TIE).sum()), int((change < -_TIE).sum())
    return Difference(
        system.name,
        baseline.name,
        measure,
        difference=system.total(measure) - baseline.total(measure),
        low=low,
        high=high,
        d_z=effect_size(a, b),
        p_t=p[0],
        p_fisher=p[1],
        corrected_t=p[2],
        corrected_fisher=p[3],
        wins=wins,
        losses=losses,
        ties=len(change) - wins - losses,
        significant=p[2 if test == "t" else 3] < alpha,
    )


def _interval(
    system: Evaluation, baseline: Evaluation, measure: Measure, confidence: float, seed: int
) -> tuple[float, float]:
    """The confidence interval of the difference of the totals."""
    if measure.averaged:
        return t_interval(system.values(measure), baseline.values(measure), confidence)
    return bootstrap_interval(system.parts[measure], baseline.parts[measure], measure.total, confidence, seed=seed)
