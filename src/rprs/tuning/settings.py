"""Settings files: a system as TOML, written by `tune` and read wherever a system is chosen.

first = "bm25(k1=2.8,b=1.0)"
rerank = "rprs(n=4,k1=2.8,b=1.0)"      # "none": the order of the first stage
depth = 50
cutoff = "ratio(p=0.8,l=1,h=6)"        # optional: how many documents an answer has

[about]                                # how the values were found; nothing depends on it
measure = "AP@100"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rprs import spec
from rprs.errors import ReadError, UsageError
from rprs.files.atomic import write_atomically
from rprs.files.toml import fill, read_toml, toml_table, toml_value
from rprs.rank.system import NO_RERANKER, System

__all__ = ["read_settings", "write_settings"]


@dataclass(frozen=True)
class _Settings:
    first: str = spec.DEFAULT["ranker"]
    rerank: str = spec.DEFAULT["reranker"]
    depth: int = spec.DEPTH
    cutoff: str | None = None


def read_settings(path: str | Path) -> System:
    """The system that a TOML file describes; what it leaves out is as in `System()`."""
    tables = read_toml(path, "settings file")
    tables.pop("about", None)
    try:
        settings = fill(_Settings, tables, str(path))
    except UsageError as error:
        raise ReadError(str(error)) from error
    try:
        return System(settings.first, settings.rerank, settings.depth, settings.cutoff)
    except UsageError as error:
        raise ReadError(f"{path}: {error}") from error


def write_settings(path: str | Path, system: System, about: Mapping[str, Any]) -> None:
    """Write a system as TOML, with a table of remarks; the file appears complete or not at all."""
    lines = [f"first = {toml_value(str(system.first))}", f"rerank = {toml_value(str(system.rerank or NO_RERANKER))}"]
    lines.append(f"depth = {system.depth}")
    if system.cutoff is not None:
        lines.append(f"cutoff = {toml_value(str(system.cutoff))}")
    if about:
        lines += ["", *toml_table("about", about)]
    write_atomically(path, "\n".join(lines) + "\n")
