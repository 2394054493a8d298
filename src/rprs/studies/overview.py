"""The systems table: all systems of a study side by side, and the significance of their differences."""

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
from rprs.studies.references import with_references
from rprs.studies.runs import notes_of
from rprs.studies.systems import Study
from rprs.studies.tuned import tuned_facts

__all__ = ["compare_systems", "describe", "overview", "significance", "tuning"]


def overview(
    study: Study,
    evaluations: dict[str, Evaluation],
    references: dict[str, Evaluation],
    comparison: Comparison | None,
) -> Finding:
    """The systems with their scores and settings; marks show significant improvements, reference rows stand apart."""
    plan = study.plan
    title, columns = f"Systems on {plan.title}", (*plan.measures, *study.judged_measures)
    table = comparison.table(title, DIGITS) if comparison else score_table(title, "system", evaluations, columns)
    table = with_references(table, references, columns, _reference_note(study))
    descriptions = {name: describe(study, plan.system(name)) for name in evaluations}
    return Finding(
        title="Systems",
        text=tuple(_remarks(study, evaluations)),
        data={
            name: {
                **descriptions[name],
                "scores": scores(row, [measure for measure in row.parts if measure.compared]),
                "judged": scores(row, study.judged_measures),
                "notes": list(row.notes),
            }
            for name, row in evaluations.items()
        },
        tables={"systems": table, "settings": _settings(descriptions)},
        pictures=tuple(_pictures(study, table, evaluations)),
    )


def _reference_note(study: Study) -> str:
    system = study.plan.system(study.plan.reference)
    if system.rerank is None and system.tune != "rprs":
        documents = f"the {system.depth} documents that {system.name} lists"
    else:
        documents = f"the {system.depth} candidates of {system.name} (first stage: {system.after or system.first})"
    return (
        f"For reference, and not tested: {documents}, in random order (the expected value) and in the best possible "
        "order (by grade)."
    )


def compare_systems(study: Study, evaluations: dict[str, Evaluation]) -> Comparison | None:
    """The comparisons of the study: with baselines, or of declared pairs, if it names any."""
    options = study.plan.significance
    baselines = [name for name in options.baselines if name in evaluations]
    pairs = [pair for pair in options.pairs if set(pair) <= evaluations.keys()]
    if not (baselines or pairs) or len(evaluations) < 2:
        return None
    measured = next(iter(evaluations.values())).parts
    return compare(
        list(evaluations.values()),
        measures=[measure for measure in (*study.plan.measures, *study.judged_measures) if measure in measured],
        baselines=baselines or None,
        comparisons=pairs,
        alpha=options.alpha,
        correction=cast("Correction", options.correction),
        test=cast("Test", options.test),
    )


def describe(study: Study, system: PlannedSystem) -> dict[str, Any]:
    """The settings of a system as texts and numbers, with the result of tuning and what a run file lacks."""
    facts: dict[str, Any] = {"first": system.first, "rerank": system.rerank, "depth": system.depth}
    if study.encodes(system):
        facts |= {"encoder": system.encoder, "splitter": system.splitter, "pool_only": system.pool_only}
    if system.tune is not None:
        facts |= {"tuned": tuned_facts(study, system)}
    candidates = _candidates(study, system)
    return {**facts, "candidates": candidates} if candidates else facts


def _candidates(study: Study, system: PlannedSystem) -> dict[str, Any]:
    """Facts about the candidates of a system, unless its first stage is another system."""
    step = study.run(system) if system.rerank is None else study.first(system)
    facts = step.path / "facts.json"
    return dict(json.loads(facts.read_text(encoding="utf-8"))) if facts.exists() else {}


def _settings(descriptions: dict[str, dict[str, Any]]) -> Table:
    rows = []
    for name, facts in descriptions.items():
        tuned = facts.get("tuned", {})
        first, rerank = facts["first"], facts["rerank"] or "none"
        if tuned:
            how = f"on {tuned['on']}" if tuned["on"] else f"{len(tuned['folds'])}-fold"
            if tuned["what"] == "bm25":
                first = f"bm25, tuned {how}"
            else:
                rerank = f"{'rprs' if tuned['what'] == 'rprs' else _untuned(rerank, tuned['grid'])}, tuned {how}"
        rows.append((name, first, rerank, facts["depth"], facts.get("encoder", "–")))
    return Table("Settings of the systems", ("system", "first stage", "re-ranker", "depth", "encoder"), tuple(rows))


def _untuned(rerank: str, grid: Mapping[str, Any]) -> str:
    """A re-ranker without its tuned parameters."""
    component: Any = spec.parse("reranker", rerank)
    defaults = {
        each.name: each.default for each in fields(component) if each.name in grid and each.default is not MISSING
    }
    return str(replace(component, **defaults))


def tuning(study: Study) -> Finding | None:
    """The tuned parameters: those that the other folds chose for each fold, and those for all queries."""
    rows: list[tuple[Cell, ...]] = []
    tuned_systems = {
        system.name: tuned_facts(study, system) for system in study.plan.systems if system.tune is not None
    }
    for name, tuned in tuned_systems.items():
        for number, fold in enumerate(tuned["folds"], 1):
            scores = Figure(fold["tuned"], DIGITS), Figure(fold["value"], DIGITS)
            rows.append((name, f"fold {number}", fold["queries"], fold["best"], tuned["measure"], *scores))
        held_out = None if tuned["held_out"] is None else Figure(tuned["held_out"], DIGITS)
        where = tuned["on"] or "all"
        value = Figure(tuned["value"], DIGITS)
        rows.append((name, where, tuned["queries"], tuned["best"], tuned["measure"], value, held_out))
    header = ("system", "tuned for", "queries", "best parameters", "measure", "value when tuned", "held out")
    if not rows:
        return None
    return Finding(
        title="Tuning",
        text=(
            "In cross-validation, the queries of each fold are ranked (“held out”) with the parameters that are best "
            "for the queries of all other folds (“value when tuned”). The row “all” has the best parameters for all "
            "queries: use these for new queries.",
        ),
        data=tuned_systems,
        tables={"tuning": Table("Tuned parameters", header, tuple(rows))},
    )


def _remarks(study: Study, evaluations: dict[str, Evaluation]) -> list[str]:
    """Notes on the figures."""
    remarks = [
        "The query itself (the same id or text) and the pairs that the collection excludes are never ranked. A system "
        "that re-ranks does not rank documents that its first stage did not find.",
        "Judged@k is the share of judged documents among a system’s best k; the others count as not relevant."
        + _only_relevant(study),
        *study.plan.notes,
    ]
    named: dict[str, list[str]] = {}
    for name, row in evaluations.items():
        for note in (*row.notes, *_absences(study, study.plan.system(name))):
            named.setdefault(note, []).append(name)
    remarks += [f"{', '.join(names)}: {note}." for note, names in named.items()]
    return remarks


def _only_relevant(study: Study) -> str:
    grades = (grade for judged in study.all_judgements.values() for grade in judged.values())
    return "" if any(grade <= 0 for grade in grades) else " Here, only relevant documents are judged."


def _absences(study: Study, system: PlannedSystem) -> list[str]:
    """Notes on documents that the first stage lacks and on inputs that a model truncated."""
    facts = _candidates(study, system)
    notes = []
    if facts.get("listed_absent"):
        notes.append(
            f"{facts['listed_absent']:,} of the {facts['listed']:,} documents in the run are not in the collection, "
            f"{facts['top_absent']:,} of them among a query’s best {system.depth}; the documents after them move up"
        )
    if facts.get("unanswered"):
        notes.append(f"{len(facts['unanswered']):,} queries have no candidates; they count as 0")
    return [*notes, *notes_of(study.run(system))]


def significance(study: Study, comparison: Comparison) -> Finding:
    """Every difference, with the p-values of both tests."""
    rows = [{**asdict(row), "measure": str(row.measure)} for row in comparison.rows]
    return Finding(
        title="Significance",
        text=(
            "The difference between a system and a baseline, with its confidence interval and effect size, the "
            "p-values of a paired t-test and of Fisher’s randomisation test over the queries, before and after "
            "correction, and the number of queries on which the system is better (wins), worse (losses) or equal "
            "(ties). The interval is not corrected for the number of comparisons.",
        ),
        data={
            "alpha": comparison.alpha,
            "correction": comparison.correction,
            "test": comparison.test,
            "comparisons": comparison.family,
            "baselines": list(comparison.baselines),
            "confidence": 1 - comparison.alpha,
            "rows": [{key: None if _undefined(value) else value for key, value in row.items()} for row in rows],
        },
        tables={"significance": comparison.details(f"Differences on {study.plan.title}", DIGITS)},
    )


def _undefined(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _pictures(study: Study, table: Table, evaluations: dict[str, Evaluation]) -> list[Picture]:
    plan = study.plan
    cells = [[cell for cell in row if isinstance(cell, Figure)][: len(plan.measures)] for row in table.rows]
    values = [[cell.value for cell in row] for row in cells]
    marks = [[cell.mark for cell in row] for row in cells]
    pictures = [systems_bars("systems", table.title, list(evaluations), list(map(str, plan.measures)), values, marks)]
    baseline = next((name for name in plan.significance.against if name in evaluations.keys() - {plan.subject}), None)
    if plan.subject in evaluations and baseline:
        change = evaluations[plan.subject].values(plan.target) - evaluations[baseline].values(plan.target)
        title = f"{plan.subject} against {baseline}, query by query"
        pictures.append(differences("differences", title, change, f"difference of {plan.target}"))
    return pictures
