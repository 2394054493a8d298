"""Systems whose parameters are tuned: by cross-validation on the collection itself, or on another collection."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from rprs.files.cache import Step
from rprs.rank import System
from rprs.rank.identity import identity
from rprs.studies.plan import PlannedSystem
from rprs.studies.runs import write_facts, write_rankings
from rprs.studies.systems import Study
from rprs.tuning.choose import Tuned
from rprs.tuning.grids import describe_point, integers
from rprs.tuning.tasks import check_grid
from rprs.tuning.tune import tune

__all__ = ["settled", "tuned_facts", "tuned_run"]


def tuned_run(study: Study, system: PlannedSystem) -> Step:
    """The run of a tuned system, with what the other folds chose for each query, or another collection for all."""
    return study.run(settled(study, system)) if system.on else _tuned(study, system)


def tuned_facts(study: Study, system: PlannedSystem) -> dict[str, Any]:
    """The outcome of tuning, for tables and programs."""
    where, what = _elsewhere(study, system)
    facts: dict[str, Any] = json.loads((_tuned(where, what).path / "tuned.json").read_text(encoding="utf-8"))
    return {"what": system.tune, "on": system.on.data if system.on else None, **facts}


def settled(study: Study, system: PlannedSystem) -> PlannedSystem:
    """A system with the parameters that another collection chose."""
    best = tuned_facts(study, system)["settings"]
    fixed = replace(system, tune=None, on=None)
    if system.tune == "bm25":
        return replace(fixed, first=best["first"])
    return replace(fixed, rerank=best["rerank"], depth=best["depth"] if "depth" in system.grid else system.depth)


def _elsewhere(study: Study, system: PlannedSystem) -> tuple[Study, PlannedSystem]:
    """The study and the system that are tuned: these, or their counterparts on another collection."""
    on = system.on
    if on is None:
        return study, system
    there = study.experiment.other(on.data, study.base, on.download)
    like = replace(
        system,
        on=None,
        pool_only=False,
        first=on.first,
        after=None,
        encoder=on.encoder or system.encoder,
        depth=on.depth or system.depth,
        measure=on.measure or system.measure,
    )
    return Study(replace(study.plan, systems=(like,)), there, study.base), like


def _tuned(study: Study, system: PlannedSystem) -> Step:
    """A folder with tuned.json and, after cross-validation, run.trec."""
    experiment = study.experiment
    inputs: dict[str, Any] = {
        "queries": experiment.query_key,
        "qrels": experiment.qrels_key,
        "measure": system.measure,
        "folds": system.folds,
        "tune": system.tune,
    }
    options: dict[str, Any] = {}
    if system.tune == "bm25":
        base = System(system.first, None, system.depth)
        index = study.main_index(system)
        axes = check_grid("first", base, system.grid)
        inputs |= {"documents": experiment.documents.digest, "analyzer": system.analyzer, "depth": system.depth}
    else:
        deepest = max(integers("depth", system.grid.get("depth", (system.depth,))))
        base = (
            System(rerank=system.rerank, depth=deepest)
            if system.after
            else System(system.first, system.rerank, deepest)
        )
        index, first, mean = study.index(system, deepest), study.first(system, deepest), study.mean_sentences(system)
        axes = check_grid("rerank", base, system.grid)
        inputs |= {"index": index.key, "candidates": first.key, "mean_sentences": mean}
        inputs |= {"rerank": identity(base.rerank, experiment.cache)}
        options = {"candidates": study.read(first), "mean_sentences": mean, "index_key": index.key}
    inputs |= {"first": system.first, "grid": axes.values}

    def produce(path: Path) -> None:
        tuned = tune(
            experiment.open(index),
            experiment.queries,
            experiment.qrels,
            what="first" if system.tune == "bm25" else "rerank",
            measure=system.measure,
            grid=system.grid,
            folds=system.folds,
            system=base,
            exclude=experiment.excluded,
            before=None if experiment.limit is None else str(experiment.limit),
            undated="keep" if experiment.limit is None else experiment.limit.undated,
            cache=experiment.cache,
            progress=experiment.progress,
            **options,
        )
        _save(path, tuned, system.after)

    return experiment.cache.make("tuned", inputs, produce, about=f"{experiment.data}: {system.name}")


def _save(path: Path, tuned: Tuned, first: str | None) -> None:
    """What was found; the best parameters as a text, and the settings to use them.

    `first` is the name of the system that is the first stage, if it is one.
    """
    best = tuned.best
    folds = [
        {"queries": len(fold.queries), "best": describe_point(fold.point), "tuned": fold.tuned, "value": fold.value}
        for fold in tuned.folds
    ]
    facts = {
        "measure": tuned.measure,
        "value": tuned.value,
        "queries": len(tuned.queries),
        "best": describe_point(tuned.point),
        "settings": {
            "first": first or str(best.first),
            "rerank": None if best.rerank is None else str(best.rerank),
            "depth": best.depth,
        },
        "grid": tuned.axes.describe(),
        "folds": folds,
        "held_out": tuned.held_out.value if tuned.held_out else None,
        "notes": list(tuned.notes),
    }
    path.mkdir()
    (path / "tuned.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    if tuned.held_out:
        write_rankings(path / "run.trec", tuned.held_out.run, "tuned")
        write_facts(path / "facts.json", tuned.held_out.run)
