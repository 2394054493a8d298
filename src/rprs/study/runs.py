"""What steps of a study made of pools: rankings, and what there is to say of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from rprs.document import Truncation
from rprs.pools import Pool, Run, load_pools
from rprs.read import write_run
from rprs.rerank import RPRS
from rprs.study.cache import Made

__all__ = ["load", "notes_of", "reranked", "write_facts", "write_rankings"]


def load(pooled: Made) -> Iterator[Pool]:
    """The pools that a step made, a few in memory at a time."""
    for shard in sorted(pooled.path.iterdir()):
        yield from load_pools(shard)


def reranked(pooled: Made, reranker: RPRS) -> Run:
    """The rankings that an RPRS gives to pools."""
    return {
        pool.query: reranker.from_neighbours(pool.neighbours, pool.ids, pool.mean_sentences) for pool in load(pooled)
    }


def write_facts(path: Path, run: Run) -> None:
    """What a reader must know of rankings, if there is anything: how many inputs a model did not see whole."""
    total = sum((ranking.truncation for ranking in run.values()), Truncation())
    if total.cut:
        path.write_text(json.dumps({**asdict(total), "notes": total.notes}, indent=1) + "\n", "utf-8")


def notes_of(made: Made) -> list[str]:
    """What there is to say of the rankings that a step made."""
    facts = made.path / "facts.json"
    return list(json.loads(facts.read_text(encoding="utf-8")).get("notes", [])) if facts.exists() else []


def write_rankings(path: Path, run: Run, tag: str) -> None:
    """Write a whole run, query by query."""
    with path.open("w", encoding="utf-8") as stream:
        for query, ranking in run.items():
            write_run(stream, query, ranking, "".join(tag.split()))
