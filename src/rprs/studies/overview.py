"""The systems table: all systems of a study side by side, and whether their differences could be luck."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields, replace
from typing import Any, cast

from rprs import spec
from rprs.evaluation.compare import Comparison, Correction, Test, compare
from rprs.evaluation.evaluate import Evaluation
from rprs.evaluation.table import Cell, Figure, Table
from rprs.studies.figures import Picture, differences, systems_bars
from rprs.studies.finding import DIGITS, Finding, score_table, scores
from rprs.studies.plan import PlannedSystem
from rprs.studies.runs import notes_of
from rprs.studies.systems import Study
from rprs.studies.tuned import tuned_facts

__all__ = ["compared", "describe", "overview", "significance", "tuning"]


def overview(study: Study, evaluations: dict[str, Evaluation], found: Comparison | None) -> Finding:
    """The systems with their scores and settings; marks tell what is significant."""
    plan = study.plan
    title = f"Systems on {plan.title}"
    table = found.table(title, DIGITS) if found else score_table(title, "system", evaluations, plan.measures)
    described = {name: describe(study, plan.system(name)) for name in evaluations}
    return Finding(
        title="Systems",
        text=tuple(_remarks(study, evaluations)),
        data={
            name: {**described[name], "scores": scores(row), "notes": list(row.notes)}
            for name, row in evaluations.items()
        },
        tables={"systems": table, "settings": _settings(described)},
        pictures=tuple(_pictures(study, table, evaluations)),
    )


def compared(study: Study, evaluations: dict[str, Evaluation]) -> Comparison | None:
    """The systems against the baselines, if the study names some."""
    asked = study.plan.significance
    baselines = [name for name in asked.baselines if name in evaluations]
    if not baselines or len(evaluations) < 2:
        return None
    return compare(
        list(evaluations.values()),
        study.plan.measures,
        baselines=baselines,
        alpha=asked.alpha,
        correction=cast("Correction", asked.correction),
        test=cast("Test", asked.test),
    )


def describe(study: Study, system: PlannedSystem) -> dict[str, Any]:
    """How a system was made, in texts and numbers; with what was tuned, and what of a run file is not there."""
    said: dict[str, Any] = {"first": system.first, "rerank": system.rerank, "depth": system.depth}
    if study.encodes(system):
        said |= {"encoder": system.encoder, "splitter": system.splitter, "pool_only": system.pool_only}
    if system.tune is not None:
        said |= {"tuned": tuned_facts(study, system)}
    facts = _candidates(study, system)
    return {**said, "candidates": facts} if facts else said


def _candidates(study: Study, system: PlannedSystem) -> dict[str, Any]:
    """What is known of the candidates that a system has from a first stage, unless that is another system."""
    made = study.run(system) if system.rerank is None else study.first(system)
    facts = made.path / "facts.json"
    return dict(json.loads(facts.read_text(encoding="utf-8"))) if facts.exists() else {}


def _settings(described: dict[str, dict[str, Any]]) -> Table:
    rows = []
    for name, said in described.items():
        tuned = said.get("tuned", {})
        first, rerank = said["first"], said["rerank"] or "none"
        if tuned:
            how = f"on {tuned['on']}" if tuned["on"] else f"{len(tuned['folds'])}-fold"
            if tuned["what"] == "bm25":
                first = f"bm25, tuned {how}"
            else:
                rerank = f"{'rprs' if tuned['what'] == 'rprs' else _untuned(rerank, tuned['grid'])}, tuned {how}"
        rows.append((name, first, rerank, said["depth"], said.get("encoder", "–")))
    return Table("How the systems were made", ("system", "first stage", "re-ranker", "depth", "encoder"), tuple(rows))


def _untuned(rerank: str, grid: Mapping[str, Any]) -> str:
    """A re-ranker without the parameters that are tuned."""
    component: Any = spec.parse("reranker", rerank)
    given = {each.name: each.default for each in fields(component) if each.name in grid and each.default is not MISSING}
    return str(replace(component, **given))


def tuning(study: Study) -> Finding | None:
    """What was tuned: the parameters that the other folds chose for each, and those that all queries choose."""
    rows: list[tuple[Cell, ...]] = []
    found = {system.name: tuned_facts(study, system) for system in study.plan.systems if system.tune is not None}
    for name, tuned in found.items():
        for number, fold in enumerate(tuned["folds"], 1):
            scores = Figure(fold["tuned"], DIGITS), Figure(fold["value"], DIGITS)
            rows.append((name, f"fold {number}", fold["queries"], fold["best"], tuned["measure"], *scores))
        held_out = None if tuned["held_out"] is None else Figure(tuned["held_out"], DIGITS)
        where = tuned["on"] or "all"
        value = Figure(tuned["value"], DIGITS)
        rows.append((name, where, tuned["queries"], tuned["best"], tuned["measure"], value, held_out))
    header = ("system", "tuned for", "queries", "best parameters", "measure", "where tuned", "held out")
    if not rows:
        return None
    return Finding(
        title="Tuning",
        text=(
            "In cross-validation the queries of each fold are ranked with the parameters that are best for the queries "
            "of all other folds (“where tuned”), which these have not seen (“held out”). The row “all” has the best "
            "parameters for all queries: what to use on new ones.",
        ),
        data=found,
        tables={"tuning": Table("What was tuned", header, tuple(rows))},
    )


def _remarks(study: Study, evaluations: dict[str, Evaluation]) -> list[str]:
    """What a reader must know of the figures."""
    remarks = [
        "A query itself, by its id or its text, and the pairs that the collection excludes are never ranked. Where a "
        "system re-ranks, what its first stage did not find is not ranked at all.",
        *study.plan.notes,
    ]
    named: dict[str, list[str]] = {}
    for name, row in evaluations.items():
        for said in (*row.notes, *_absences(study, study.plan.system(name))):
            named.setdefault(said, []).append(name)
    remarks += [f"{', '.join(names)}: {said}." for said, names in named.items()]
    return remarks


def _absences(study: Study, system: PlannedSystem) -> list[str]:
    """What of a system's first stage is not there, and what of its inputs a model did not see."""
    facts = _candidates(study, system)
    said = []
    if facts.get("listed_absent"):
        said.append(
            f"{facts['listed_absent']:,} of the {facts['listed']:,} documents that the run lists are not in the "
            f"collection, {facts['top_absent']:,} of them among a query’s best {system.depth}; the next ones take "
            "their places"
        )
    if facts.get("unanswered"):
        said.append(f"{len(facts['unanswered']):,} queries have no candidates; they count as 0")
    return [*said, *notes_of(study.run(system))]


def significance(study: Study, found: Comparison) -> Finding:
    """Every difference with both tests: could it be luck?"""
    rows = [{**asdict(row), "measure": str(row.measure)} for row in found.rows]
    return Finding(
        title="Significance",
        text=(
            "The difference of each system to each baseline, with the p of a paired t-test and of Fisher’s "
            "randomisation test over the queries, before and after correction, and on how many queries the system is "
            "better (wins), worse and equal.",
        ),
        data={
            "alpha": found.alpha,
            "correction": found.correction,
            "test": found.test,
            "comparisons": found.family,
            "baselines": list(found.baselines),
            "rows": [{key: None if _undefined(value) else value for key, value in row.items()} for row in rows],
        },
        tables={"significance": found.details(f"Differences on {study.plan.title}", DIGITS)},
    )


def _undefined(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _pictures(study: Study, table: Table, evaluations: dict[str, Evaluation]) -> list[Picture]:
    plan = study.plan
    cells = [[cell for cell in row if isinstance(cell, Figure)] for row in table.rows]
    values = [[cell.value for cell in row] for row in cells]
    marks = [[cell.mark for cell in row] for row in cells]
    pictures = [systems_bars("systems", table.title, list(evaluations), list(map(str, plan.measures)), values, marks)]
    baseline = next((name for name in plan.significance.baselines if name in evaluations), None)
    if plan.subject in evaluations and baseline and baseline != plan.subject:
        change = evaluations[plan.subject].values(plan.target) - evaluations[baseline].values(plan.target)
        title = f"{plan.subject} against {baseline}, query by query"
        pictures.append(differences("differences", title, change, f"difference of {plan.target}"))
    return pictures
