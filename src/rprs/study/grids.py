"""Grids as a study writes them: tables of parameters with lists, or ranges such as "0..3/0.2"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rprs.errors import UsageError
from rprs.rank import BM25
from rprs.rerank import RPRS
from rprs.tune.grids import Bm25Grid, RprsGrid, Value, ascending, parse_values

__all__ = ["any_grid", "bm25_grid", "rprs_grid", "whole"]


def _listed(name: str, said: Any) -> tuple[Value, ...]:
    """The values of a parameter: a list, or a text such as "0..3/0.2"."""
    listed = said if isinstance(said, list | tuple) else (said,)
    found = [value for part in listed for value in (parse_values(part) if isinstance(part, str) else (part,))]
    if not found:
        raise UsageError(f"{name!r} must have one value at least")
    return ascending(found)


def _values(name: str, said: Any) -> tuple[Value, ...]:
    """The same for numbers."""
    found = _listed(name, said)
    wrong = [value for value in found if type(value) not in (int, float, type(None))]
    if wrong:
        raise UsageError(f"{name!r} must be numbers. Got {wrong[0]!r} instead.")
    return found


def whole(name: str, said: Any) -> tuple[int, ...]:
    """The same for whole numbers above 0."""
    found = _values(name, said)
    wrong = [value for value in found if type(value) is not int or value < 1]
    if wrong:
        raise UsageError(f"{name!r} must be integers in [1, inf). Got {wrong[0]!r} instead.")
    return tuple(value for value in found if isinstance(value, int))


def rprs_grid(said: Mapping[str, Any]) -> RprsGrid:
    """The grid of a table with some of n, k1 and b; the paper's for what is not said."""
    given: dict[str, Any] = {name: _values(name, value) for name, value in said.items() if name in ("k1", "b")}
    if "n" in said:
        given["n"] = whole("n", said["n"])
    grid = RprsGrid(**given)
    for k1, b in ((k1, b) for k1 in grid.k1 for b in grid.b):
        RPRS(k1=k1, b=b)  # a wrong value is found here
    return grid


def any_grid(said: Mapping[str, Any]) -> dict[str, tuple[Value, ...]]:
    """The grid of a table with parameters of any re-ranker, which knows what they may be."""
    return {name: whole(name, values) if name == "depth" else _listed(name, values) for name, values in said.items()}


def bm25_grid(said: Mapping[str, Any]) -> Bm25Grid:
    """The grid of a table with some of k1, b and kli; the paper's for what is not said."""
    grid = Bm25Grid(**{name: _values(name, value) for name, value in said.items()})  # type: ignore[arg-type]
    for k1, b, kli in ((k1, b, kli) for k1 in grid.k1 for b in grid.b for kli in grid.kli):
        BM25(k1, b, kli)
    return grid
