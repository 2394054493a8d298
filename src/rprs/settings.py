"""What a tuned system is: its first stage, re-ranker, depth and cut-off, as a TOML file that several verbs take.

first = "bm25(k1=2.8,b=1.0)"
rerank = "rprs(n=4,k1=2.8,b=1.0)"      # "none": the order of the first stage
depth = 50
cutoff = "ratio(p=0.8,l=1,h=6)"        # optional: how many documents an answer has

[about]                                # how the values were found; nothing depends on it
measure = "AP@100"
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rprs import spec
from rprs.errors import ReadError, UsageError
from rprs.scoring.measures import cut, parse_rule
from rprs.whole import write_whole

__all__ = ["NONE", "Settings", "read_settings", "returned", "write_settings"]

NONE = "none"  # TOML has no null


@dataclass(frozen=True, slots=True)
class Settings:
    """A system: the texts of its components, and numbers. `rerank=None` leaves the order of the first stage."""

    first: str = spec.DEFAULT["ranker"]
    rerank: str | None = spec.DEFAULT["reranker"]
    depth: int = spec.DEPTH
    cutoff: str | None = None

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise UsageError(f"The depth of re-ranking must be an integer in [1, inf). Got {self.depth} instead.")


_TYPES: dict[str, type] = {"first": str, "rerank": str, "depth": int, "cutoff": str}


def read_settings(path: str | Path) -> Settings:
    """The settings of a TOML file; what it leaves out is as in `Settings()`."""
    try:
        found = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ReadError(f"{path}: no such file of settings") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ReadError(f"{path}: cannot be read as TOML: {' '.join(str(error).split())}") from error
    found.pop("about", None)
    for key, value in found.items():
        if key not in _TYPES:
            raise ReadError(f"{path}: there is no setting {key!r}: known are {', '.join(_TYPES)}")
        if type(value) is not _TYPES[key]:
            wanted = "an integer" if _TYPES[key] is int else "a text"
            raise ReadError(f"{path}: {key} must be {wanted}. Got {value!r} instead.")
    if found.get("rerank", "").strip().lower() == NONE:
        found["rerank"] = None
    try:
        settings = Settings(**found)
        spec.parse("ranker", settings.first)
        if settings.rerank is not None:
            spec.parse("reranker", settings.rerank)
        if settings.cutoff is not None:
            parse_rule(settings.cutoff)
    except UsageError as error:
        raise ReadError(f"{path}: {error}") from error
    return settings


def returned(cutoff: str | None, scores: Sequence[float]) -> int:
    """How many of the best documents a cut-off rule returns: all, without one."""
    if cutoff is None:
        return len(scores)
    return int(cut(parse_rule(cutoff), np.array([scores], dtype=np.float64).reshape(1, len(scores)))[0])


def write_settings(path: str | Path, settings: Settings, about: Mapping[str, Any]) -> None:
    """Write settings as TOML, with a table of remarks; the file is there when it is whole, and not before."""
    lines = [f"first = {_toml(settings.first)}", f"rerank = {_toml(settings.rerank or NONE)}"]
    lines.append(f"depth = {settings.depth}")
    if settings.cutoff is not None:
        lines.append(f"cutoff = {_toml(settings.cutoff)}")
    if about:
        lines += ["", *_table("about", about)]
    write_whole(path, "\n".join(lines) + "\n")


def _table(name: str, values: Mapping[str, Any]) -> list[str]:
    """A table with its plain values first and then the tables within it, as TOML wants them."""
    plain = [
        f"{_key(key)} = {_toml(value)}"
        for key, value in values.items()
        if not isinstance(value, Mapping) and value is not None
    ]
    inner = [(f"{name}.{_key(key)}", value) for key, value in values.items() if isinstance(value, Mapping)]
    return [f"[{name}]", *plain, *(line for each in inner for line in ("", *_table(*each)))]


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml(key)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return '"' + re.sub(r'["\\\x00-\x1f\x7f]', _escaped, value) + '"'
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(_toml, value)) + "]"
    raise TypeError(f"{value!r} has no form in these files")


def _escaped(found: re.Match[str]) -> str:
    return f"\\{found[0]}" if found[0] in '"\\' else f"\\u{ord(found[0]):04x}"
