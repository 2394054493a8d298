"""Runs as steps of a study keep them: rankings, and what a reader must know of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from rprs.document import Ranking
from rprs.files.cache import Step
from rprs.rank import RPRS
from rprs.results.run import Run
from rprs.tuning.pools import Pool

__all__ = ["notes_of", "rank_pools", "write_facts", "write_rankings"]


def rank_pools(pools: Sequence[Pool], reranker: RPRS) -> dict[str, Ranking]:
    """The rankings of an RPRS over pools."""
    return {pool.query: reranker.from_neighbours(pool.neighbours, pool.ids, pool.mean_sentences) for pool in pools}


def write_rankings(path: Path, run: Mapping[str, Ranking], tag: str) -> None:
    """Write a whole run."""
    Run(run, tag).write(path)


def write_facts(path: Path, run: Mapping[str, Ranking]) -> None:
    """How many inputs a model truncated, if any."""
    total = Run(run).truncation
    if total.cut:
        path.write_text(json.dumps({**asdict(total), "notes": total.notes}, indent=1) + "\n", "utf-8")


def notes_of(step: Step) -> list[str]:
    """The notes on the rankings of a step."""
    facts = step.path / "facts.json"
    return list(json.loads(facts.read_text(encoding="utf-8")).get("notes", [])) if facts.exists() else []
