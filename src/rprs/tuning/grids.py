"""Grids: the values of each parameter to try. The defaults are the paper's.

A grid is a box: every value of one parameter is combined with every value of the others. The text form of one
parameter is `n=1..10`, `k1=0..3/0.2` (a range with its step), `b=0,0.5,1` or `kli=none,0.1..0.5/0.1`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import product
from typing import Any

import numpy as np

from rprs.errors import UsageError
from rprs.evaluation.cutoff import Ratio
from rprs.rank import RPRS

__all__ = [
    "DEPTHS",
    "Axes",
    "Bm25Grid",
    "CutoffGrid",
    "RprsGrid",
    "Value",
    "ascending",
    "describe_point",
    "integers",
    "listed_values",
    "parse_axis",
    "parse_grid",
    "parse_values",
]

Value = int | float | str | bool | None
LARGEST = 100_000  # values of one range: more is a typing error

_TENTHS = tuple(tenth / 10 for tenth in range(11))
_FIFTHS = tuple(fifth * 2 / 10 for fifth in range(16))

DEPTHS = tuple(range(15, 101, 5))  # the paper's depths of re-ranking


@dataclass(frozen=True)
class Axes:
    """The parameters of a grid with their values, the one that changes slowest first.

    Of equally good points the one with the earlier value of the first parameter of `preference` wins, then of the
    second, and so on.
    """

    values: Mapping[str, tuple[Value, ...]]
    preference: tuple[str, ...]

    def __post_init__(self) -> None:
        for name, values in self.values.items():
            if not values:
                raise UsageError(f"The grid has no value for {name}: give at least one, as {name}=1")

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each parameter has."""
        return tuple(map(len, self.values.values()))

    def __len__(self) -> int:
        return int(np.prod(self.shape))

    def point(self, number: int) -> dict[str, Value]:
        """The parameters of a point by its number."""
        places = np.unravel_index(number, self.shape)
        return {name: self.values[name][int(place)] for name, place in zip(self.values, places, strict=True)}

    def number(self, point: Mapping[str, Value]) -> int | None:
        """The number of a point, or None if it is not one of these."""
        if any(point.get(name) not in values for name, values in self.values.items()):
            return None
        places = [values.index(point[name]) for name, values in self.values.items()]
        return int(np.ravel_multi_index(places, self.shape))

    def at_the_end(self, number: int) -> list[str]:
        """The parameters that have their last value at a point although larger ones are possible; shares end at 1."""
        last = [name for name, value in self.point(number).items() if value == self.values[name][-1] and value != 1]
        return [name for name in last if len(self.values[name]) > 1 and isinstance(self.values[name][-1], int | float)]

    def points(self) -> list[dict[str, Value]]:
        """The parameters of all points, in the order of their numbers."""
        return [dict(zip(self.values, values, strict=True)) for values in product(*self.values.values())]

    def preferred(self, numbers: Iterable[int]) -> int:
        """Of equally good points, the one to choose."""
        names = list(self.values)

        def key(number: int) -> tuple[int, ...]:
            places = np.unravel_index(number, self.shape)
            return tuple(int(places[names.index(name)]) for name in self.preference)

        return min(numbers, key=key)

    def describe(self) -> dict[str, str]:
        """Every parameter with the text of its values."""
        return {name: _text(values) for name, values in self.values.items()}


@dataclass(frozen=True)
class RprsGrid:
    """RPRS: 1,760 points. Where k1 is 0, b changes nothing."""

    n: Sequence[int] = tuple(range(1, 11))
    k1: Sequence[float] = _FIFTHS
    b: Sequence[float] = _TENTHS

    def axes(self, depths: Sequence[int] = ()) -> Axes:
        """As a box, with the depths as one more parameter if there are any."""
        values: dict[str, tuple[Value, ...]] = {
            **({"depth": integers("depth", depths)} if depths else {}),
            "n": integers("n", self.n),
            "k1": _floats("k1", self.k1),
            "b": _floats("b", self.b),
        }
        for k1 in self.k1:
            RPRS(k1=k1)  # raises an error for a wrong value
        for b in self.b:
            RPRS(b=b)
        return Axes(values, ("k1", "n", "b", "depth") if depths else ("k1", "n", "b"))


@dataclass(frozen=True)
class Bm25Grid:
    """BM25: k1, b, and the share of the query's terms that KLI keeps (None: all)."""

    k1: Sequence[float] = _FIFTHS
    b: Sequence[float] = _TENTHS
    kli: Sequence[float | None] = (None, *_TENTHS[1:10])

    def axes(self) -> Axes:
        """As a box."""
        shares = _floats("kli", [share for share in self.kli if share is not None])
        kli = (None, *shares) if None in self.kli else shares
        return Axes({"kli": kli, "k1": _floats("k1", self.k1), "b": _floats("b", self.b)}, ("k1", "b", "kli"))


@dataclass(frozen=True)
class CutoffGrid:
    """The rule `ratio(p, l, h)`: what scores at least p times the top score, but at least l and at most h documents."""

    p: Sequence[float] = tuple(twentieth * 5 / 100 for twentieth in range(21))
    l: Sequence[int] = tuple(range(1, 6))  # noqa: E741  # the letter used for it in COLIEE
    h: Sequence[int] = tuple(range(1, 11))

    def axes(self) -> Axes:
        """As a box, in which l beyond h is no point."""
        values = {"p": _floats("p", self.p), "l": integers("l", self.l), "h": integers("h", self.h)}
        for p in self.p:
            Ratio(p)  # raises an error for a wrong value
        return Axes(values, ("h", "l", "p"))


def _floats(name: str, values: Iterable[Any]) -> tuple[Value, ...]:
    numbers = list(values)
    for value in numbers:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UsageError(f"The grid of {name} must be numbers. Got {value!r} instead.")
    return ascending(map(float, numbers))


def integers(name: str, values: Iterable[Any]) -> tuple[int, ...]:
    """The values of a parameter that must be positive integers, ascending."""
    numbers = list(values)
    for value in numbers:
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise UsageError(f"The grid of {name} must be integers in [1, inf). Got {value!r} instead.")
    return tuple(sorted(set(numbers)))


def ascending(values: Iterable[Any]) -> tuple[Value, ...]:
    """Each value once: first the values that are not numbers, in their order, then the numbers, ascending."""
    distinct = list(dict.fromkeys(values))
    words = [value for value in distinct if value is None or isinstance(value, str | bool)]
    return (*words, *sorted(value for value in distinct if value not in words))


# ---------------------------------------------------------------------------- text


def parse_grid(grid: Mapping[str, Any] | Iterable[str] | None) -> dict[str, tuple[Value, ...]]:
    """Values by parameter, from `{"k1": "0..3/0.2", "b": [0.5, 1]}` or from `["k1=0..3/0.2", "b=0.5,1"]`."""
    if grid is None:
        return {}
    if isinstance(grid, Mapping):
        return {str(name): listed_values(str(name), values) for name, values in grid.items()}
    texts: Any = grid
    if isinstance(texts, str) or not isinstance(texts, Iterable) or not all(isinstance(text, str) for text in texts):
        raise UsageError(f"A grid is {{'k1': '0..3/0.2', 'b': [0, 1]}} or ['k1=0..3/0.2', 'b=0,1']. Got {grid!r:.80}")
    return dict(parse_axis(text) for text in grid)


def listed_values(name: str, values: Any) -> tuple[Value, ...]:
    """The values of a parameter: one, a list, or a text such as "0..3/0.2"."""
    items = values if isinstance(values, list | tuple | range) else (values,)
    listed = [value for item in items for value in (parse_values(item) if isinstance(item, str) else (item,))]
    if not listed:
        raise UsageError(f"{name!r} must have at least one value")
    return ascending(listed)


def describe_point(point: Mapping[str, Value]) -> str:
    """A point in one line: `depth=50, n=4, kli=none`."""
    return ", ".join(f"{name}={'none' if value is None else value}" for name, value in point.items())


def parse_axis(text: str) -> tuple[str, tuple[Value, ...]]:
    """A parameter with its values: `k1=0..3/0.2`."""
    name, sign, values = text.partition("=")
    if not sign or not name.strip():
        raise UsageError(
            f"Cannot read the grid {text!r}: write a parameter and its values, as k1=0..3/0.2 or b=0,0.5,1"
        )
    return name.strip(), parse_values(values, text)


def parse_values(text: str, context: str | None = None) -> tuple[Value, ...]:
    """The values of a list of numbers, ranges `first..last/step`, words, true, false and none."""
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise UsageError(f"Cannot read the grid {context or text!r}: a value is missing")
    return ascending(value for part in parts for value in _values(part, context or text))


def _values(part: str, context: str) -> list[Value]:
    words: dict[str, Value] = {"none": None, "true": True, "false": False}
    if part.lower() in words:
        return [words[part.lower()]]
    ends, _, step = part.partition("/")
    first, dots, last = ends.partition("..")
    if not dots:
        try:
            return [_number(Decimal(part))]
        except InvalidOperation:
            return [part]
    try:
        low, high, by = Decimal(first), Decimal(last), Decimal(step or 1)
        steps = int((high - low) / by)
    except (ArithmeticError, ValueError) as error:
        raise UsageError(
            f"Cannot read the range {part!r} of {context!r}: write first..last/step, as 0..3/0.2"
        ) from error
    if by <= 0 or high < low or steps >= LARGEST:
        raise UsageError(
            f"The range {part!r} of {context!r} must rise by a step above 0, in fewer than {LARGEST:,} steps"
        )
    return [_number(low + by * place) for place in range(steps + 1)]


def _number(value: Decimal) -> int | float:
    """An integer where it was written as one."""
    exponent = value.as_tuple().exponent
    return int(value) if isinstance(exponent, int) and exponent >= 0 else float(value)


def _text(values: Sequence[Value]) -> str:
    words = {None: "none", True: "true", False: "false"}
    return ",".join(words[value] if value is None or isinstance(value, bool) else str(value) for value in values)
