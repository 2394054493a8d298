"""Which system is better, by how much, and could it be luck? Tables with marks of significance as papers print them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rprs.errors import UsageError
from rprs.evaluation.evaluate import Evaluation
from rprs.evaluation.measures import Measure
from rprs.evaluation.significance import Pair, bonferroni, fisher, holm, t_test
from rprs.evaluation.table import Cell, Figure, Table

__all__ = ["Comparison", "Correction", "Difference", "Test", "compare", "totals"]

Correction = Literal["bonferroni", "holm", "none"]
Test = Literal["t", "fisher"]
Floats = NDArray[np.float64]

MARKS = ("†", "*", "‡", "§", "¶", "#")  # over the first baseline, the second ...
_TESTS = {"t": "paired t-test", "fisher": "Fisher's randomisation test"}
_CORRECTIONS = {"bonferroni": "Bonferroni", "holm": "Holm"}
_TIE = 1e-12


@dataclass(frozen=True, slots=True)
class Difference:
    """A system against a baseline by one measure."""

    system: str
    baseline: str
    measure: Measure
    difference: float  # of the totals; above 0 where the system is better
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
    family: int  # comparisons of one measure that the correction is over

    def table(self, title: str = "", digits: int = 4) -> Table:
        """A row a system, a column a measure; marks tell significant improvements, the best is bold."""
        marks: dict[tuple[str, Measure], str] = {}
        for row in self.rows:
            if row.significant and row.difference > 0:
                key = row.system, row.measure
                marks[key] = marks.get(key, "") + MARKS[self.baselines.index(row.baseline)]
        return totals(self.evaluations, self.measures, title, digits, marks, self._legend(marks))

    def details(self, title: str = "", digits: int = 4) -> Table:
        """A row for each system, baseline and measure: difference, p of both tests, wins, losses and ties."""
        header = ("system", "baseline", "measure", "difference", "p (t)", "p (Fisher)")
        corrected = () if self.correction == "none" else ("corrected p (t)", "corrected p (Fisher)")
        rows = [self._details(row, digits) for row in self.rows]
        notes = [f"Significant: {self._said()}."]
        pooled = [str(measure) for measure in self.measures if not measure.averaged]
        if pooled:
            notes.append(f"The t-test of {', '.join(pooled)} is of the queries' own values, whose mean it is not.")
        return Table(title, (*header, *corrected, "wins", "losses", "ties", "significant"), tuple(rows), tuple(notes))

    def _details(self, row: Difference, digits: int) -> tuple[Cell, ...]:
        corrected = () if self.correction == "none" else (row.corrected_t, row.corrected_fisher)
        verdict = "no" if not row.significant else "better" if row.difference > 0 else "worse"
        return (
            row.system,
            row.baseline,
            str(row.measure),
            Figure(row.difference, digits),
            row.p_t,
            row.p_fisher,
            *corrected,
            row.wins,
            row.losses,
            row.ties,
            verdict,
        )

    def _said(self) -> str:
        """The test in words: `paired t-test, p < 0.05, Bonferroni over 4 comparisons of each measure`."""
        over = f"{self.family} comparison{'s' if self.family > 1 else ''} of each measure"
        corrected = "uncorrected" if self.correction == "none" else f"{_CORRECTIONS[self.correction]} over {over}"
        return f"{_TESTS[self.test]}, p < {self.alpha:g}, {corrected}"

    def _legend(self, marks: Mapping[tuple[str, Measure], str]) -> tuple[str, ...]:
        used = "".join(marks.values())
        shown = [(mark, name) for mark, name in zip(MARKS, self.baselines, strict=False) if mark in used]
        if not shown:
            names = " or ".join(self.baselines)
            return (f"No significant improvement over {names} ({self._said()}).",)
        over = ", ".join(f"{mark} over {name}" for mark, name in shown)
        return (f"Significant improvement: {over} ({self._said()}).",)


def totals(
    evaluations: Sequence[Evaluation],
    measures: Sequence[Measure],
    title: str = "",
    digits: int = 4,
    marks: Mapping[tuple[str, Measure], str] | None = None,
    notes: Sequence[str] = (),
) -> Table:
    """A row a system, a column a measure, the best of several in bold; `marks` by system and measure."""
    found = np.array([[evaluation.total(measure) for measure in measures] for evaluation in evaluations])
    best = np.round(found, digits) == np.round(found.max(axis=0), digits)
    rows: list[tuple[Cell, ...]] = [
        (
            evaluation.name,
            *(
                Figure(value, digits, (marks or {}).get((evaluation.name, measure), ""), bool(top and len(found) > 1))
                for measure, value, top in zip(measures, values, tops, strict=True)
            ),
        )
        for evaluation, values, tops in zip(evaluations, found.tolist(), best.tolist(), strict=True)
    ]
    return Table(title, ("system", *map(str, measures)), tuple(rows), tuple(notes))


def compare(
    evaluations: Sequence[Evaluation],
    measures: Sequence[Measure],
    *,
    baselines: Sequence[str] | None = None,
    alpha: float = 0.05,
    correction: Correction = "bonferroni",
    test: Test = "t",
    permutations: int = 100_000,
    seed: int = 0,
) -> Comparison:
    """Test every system against every baseline (the first system, if none is named), by each measure.

    A measure is a family of its own: the correction is over the pairs of systems that are compared by it. Where the
    total is not the mean of the queries' values (micro_F1), the t-test is of these values; Fisher's is of the total.
    """
    named = {evaluation.name: evaluation for evaluation in evaluations}
    against = tuple(dict.fromkeys(baselines or list(named)[:1]))
    _check(evaluations, named, against, alpha, permutations)
    ordered = [(system, baseline) for baseline in against for system in named if system != baseline]
    pairs = list(dict.fromkeys(_pair(*names) for names in ordered))  # two baselines are compared once, not twice
    tests = [(named[one], named[other], measure) for measure in measures for one, other in pairs]
    by_t = np.array([t_test(one.values(by), other.values(by)) for one, other, by in tests])
    by_fisher = fisher(
        [Pair(one.parts[by], other.parts[by], by.combine) for one, other, by in tests],
        permutations=permutations,
        seed=seed,
    )
    p = _corrected(by_t, by_fisher, len(measures), correction)
    rows = [
        _difference(named[system], named[baseline], measure, of[pairs.index(_pair(system, baseline))], test, alpha)
        for measure, of in zip(measures, p.tolist(), strict=True)
        for system, baseline in ordered
    ]
    rows.sort(key=lambda row: (against.index(row.baseline), list(named).index(row.system)))
    everything = tuple(evaluations), tuple(measures), against, tuple(rows)
    return Comparison(*everything, alpha, correction, test, len(pairs))


def _pair(one: str, other: str) -> tuple[str, str]:
    return min(one, other), max(one, other)


def _corrected(by_t: Floats, by_fisher: Floats, measures: int, correction: Correction) -> Floats:
    """(measures, pairs, 4): the p of both tests, and each corrected over the pairs."""
    correct = {"bonferroni": bonferroni, "holm": holm, "none": _as_it_is}[correction]
    plain = [p.reshape(measures, -1) for p in (by_t, by_fisher)]
    return np.stack([*plain, *(np.array([correct(family) for family in p]) for p in plain)], axis=2)


def _as_it_is(p: Floats) -> Floats:
    return p


def _difference(
    system: Evaluation, baseline: Evaluation, measure: Measure, p: Sequence[float], test: Test, alpha: float
) -> Difference:
    change = system.values(measure) - baseline.values(measure)
    wins, losses = int((change > _TIE).sum()), int((change < -_TIE).sum())
    return Difference(
        system.name,
        baseline.name,
        measure,
        difference=system.total(measure) - baseline.total(measure),
        p_t=p[0],
        p_fisher=p[1],
        corrected_t=p[2],
        corrected_fisher=p[3],
        wins=wins,
        losses=losses,
        ties=len(change) - wins - losses,
        significant=p[2 if test == "t" else 3] < alpha,
    )


def _check(
    evaluations: Sequence[Evaluation],
    named: Mapping[str, Evaluation],
    baselines: Sequence[str],
    alpha: float,
    permutations: int,
) -> None:
    if len(named) < 2:
        raise UsageError("Give at least two systems of different names to compare")
    if len(named) < len(evaluations):
        names = [evaluation.name for evaluation in evaluations]
        raise UsageError(f"Two systems have the same name: {next(name for name in names if names.count(name) > 1)}")
    unknown = [name for name in baselines if name not in named]
    if unknown:
        raise UsageError(f"There is no system {unknown[0]!r} to be a baseline: there are {', '.join(named)}")
    if len(baselines) > len(MARKS):
        raise UsageError(f"{len(baselines)} baselines, and only {len(MARKS)} marks: name at most {len(MARKS)}")
    if not 0 < alpha < 1:
        raise UsageError(f"alpha must be a number in (0, 1). Got {alpha!r} instead.")
    if permutations < 1:
        raise UsageError(f"permutations must be an integer in [1, inf). Got {permutations!r} instead.")
    if len({evaluation.queries for evaluation in evaluations}) > 1:
        raise UsageError("The systems were measured on different queries: evaluate them with the same judgements")
