"""Systems whose parameters are tuned: by cross-validation on the collection itself, or on another one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from rprs import spec
from rprs.settings import Settings
from rprs.study.cache import Made
from rprs.study.grids import any_grid, bm25_grid, rprs_grid, whole
from rprs.study.plan import System
from rprs.study.runs import load, write_facts, write_rankings
from rprs.study.systems import Study
from rprs.tune import Tuned, Work, tune_bm25, tune_reranker, tune_rprs
from rprs.tune.rerankers import reranker_axes

__all__ = ["settled", "tuned_facts", "tuned_run"]


def tuned_run(study: Study, system: System) -> Made:
    """The run of a tuned system, with what the other folds chose for each query, or another collection for all."""
    return study.run(settled(study, system)) if system.on else _tuned(study, system)


def tuned_facts(study: Study, system: System) -> dict[str, Any]:
    """What the tuning found, for tables and programs."""
    where, what = _elsewhere(study, system)
    found: dict[str, Any] = json.loads((_tuned(where, what).path / "tuned.json").read_text(encoding="utf-8"))
    return {"what": system.tune, "on": system.on.data if system.on else None, **found}


def settled(study: Study, system: System) -> System:
    """A system with the parameters that another collection chose."""
    best = tuned_facts(study, system)["settings"]
    fixed = replace(system, tune=None, on=None)
    if system.tune == "bm25":
        return replace(fixed, first=best["first"])
    return replace(fixed, rerank=best["rerank"], depth=best["depth"] if "depth" in system.grid else system.depth)


def _elsewhere(study: Study, system: System) -> tuple[Study, System]:
    """The study and the system that are tuned: these, or their likes on another collection."""
    on = system.on
    if on is None:
        return study, system
    there = study.workshop.other(on.data, study.base, on.download)
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


def _tuned(study: Study, system: System) -> Made:
    """A folder with tuned.json and, after cross-validation, run.trec."""
    return {"bm25": _bm25, "rprs": _rprs, "rerank": _rerank}[system.tune or ""](study, system)


def _rprs(study: Study, system: System) -> Made:
    """RPRS, from the neighbours of all candidates."""
    workshop = study.workshop
    depths = whole("depth", system.grid.get("depth", system.depth))
    grid = rprs_grid({name: value for name, value in system.grid.items() if name != "depth"})
    pooled = study.pools(system, depths, max(grid.n))
    inputs = {
        "pools": {str(depth): made.key for depth, made in pooled.items()},
        "qrels": workshop.judged,
        "grid": [grid.n, grid.k1, grid.b],
        **_asked(system),
    }

    def produce(path: Path) -> None:
        listed = {depth: list(load(made)) for depth, made in pooled.items()}
        base = Settings(system.first, system.rerank, max(depths))
        found = tune_rprs(
            listed, workshop.qrels, system.measure, grid, folds=system.folds, base=base, progress=workshop.progress
        )
        _save(path, found)

    return workshop.cache.make("tuned", inputs, produce, about=f"{workshop.data}: {system.name}")


def _bm25(study: Study, system: System) -> Made:
    workshop = study.workshop
    grid, index = bm25_grid(system.grid), study.main_index(system)
    inputs = {
        "documents": workshop.documents.digest,
        "queries": workshop.asked,
        "analyzer": system.analyzer,
        "first": system.first,
        "qrels": workshop.judged,
        "depth": system.depth,
        "grid": [grid.k1, grid.b, grid.kli],
        **_asked(system),
    }

    def produce(path: Path) -> None:
        found = tune_bm25(
            workshop.open(index),
            workshop.queries,
            workshop.qrels,
            system.measure,
            grid,
            folds=system.folds,
            base=Settings(system.first, None, system.depth),
            excluded=workshop.excluded,
            work=Work(workshop.cache.root / "work"),  # it is long: what is done is kept query by query
            progress=workshop.progress,
        )
        _save(path, found)

    return workshop.cache.make("tuned", inputs, produce, about=f"{workshop.data}: {system.name}")


def _rerank(study: Study, system: System) -> Made:
    """Any other re-ranker, from the candidates themselves."""
    workshop = study.workshop
    depths = whole("depth", system.grid.get("depth", system.depth))
    index, first, mean = (
        study.index(system, max(depths)),
        study.first(system, max(depths)),
        study.mean_sentences(system),
    )
    reranker, base = spec.parse("reranker", system.rerank or ""), Settings(system.first, system.rerank, max(depths))
    grid = any_grid(system.grid)
    inputs = {
        "index": index.key,
        "queries": workshop.asked,
        "run": first.key,
        "mean_sentences": mean,
        "qrels": workshop.judged,
        "grid": reranker_axes(reranker, base, grid).values,
        **_asked(system),
        "rerank": spec.text(reranker, full=True),
        "models": workshop.models(reranker),
    }

    def produce(path: Path) -> None:
        found = tune_reranker(
            workshop.open(index),
            workshop.queries,
            study.read(first),
            workshop.qrels,
            system.measure,
            grid,
            folds=system.folds,
            base=base,
            mean_sentences=mean,
            work=Work(workshop.cache.root / "work"),  # it is long: what is done is kept query by query
            progress=workshop.progress,
        )
        _save(path, found)

    return workshop.cache.make("tuned", inputs, produce, about=f"{workshop.data}: {system.name}")


def _asked(system: System) -> dict[str, Any]:
    return {"measure": system.measure, "folds": system.folds, "tune": system.tune, "rerank": system.rerank}


def _save(path: Path, found: Tuned) -> None:
    """What was found; the best parameters as a text, and the settings to use them."""
    folds = [
        {"queries": len(fold.queries), "best": _said(fold.point), "tuned": fold.tuned, "value": fold.value}
        for fold in found.folds
    ]
    facts = {
        "measure": found.measure,
        "value": found.value,
        "queries": len(found.queries),
        "best": _said(found.point),
        "settings": {"first": found.best.first, "rerank": found.best.rerank, "depth": found.best.depth},
        "grid": found.axes.describe(),
        "folds": folds,
        "held_out": found.held_out.value if found.held_out else None,
        "notes": list(found.notes),
    }
    path.mkdir()
    (path / "tuned.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    if found.held_out:
        write_rankings(path / "run.trec", found.held_out.run, "tuned")
        write_facts(path / "facts.json", found.held_out.run)


def _said(point: Any) -> str:
    return ", ".join(f"{name}={'none' if value is None else value}" for name, value in point.items())
