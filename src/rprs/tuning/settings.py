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
from pathlib import Path
from typing import Any

from rprs.errors import ReadError, UsageError
from rprs.files.atomic import write_atomically
from rprs.rank.system import NO_RERANKER, System

__all__ = ["read_settings", "write_settings"]


_TYPES: dict[str, type] = {"first": str, "rerank": str, "depth": int, "cutoff": str}


def read_settings(path: str | Path) -> System:
    """The system that a TOML file describes; what it leaves out is as in `System()`."""
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
    try:
        return System(**found)
    except UsageError as error:
        raise ReadError(f"{path}: {error}") from error


def write_settings(path: str | Path, system: System, about: Mapping[str, Any]) -> None:
    """Write a system as TOML, with a table of remarks; the file appears complete or not at all."""
    lines = [f"first = {_toml(str(system.first))}", f"rerank = {_toml(str(system.rerank or NO_RERANKER))}"]
    lines.append(f"depth = {system.depth}")
    if system.cutoff is not None:
        lines.append(f"cutoff = {_toml(str(system.cutoff))}")
    if about:
        lines += ["", *_table("about", about)]
    write_atomically(path, "\n".join(lines) + "\n")


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
