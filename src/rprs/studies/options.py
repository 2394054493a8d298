"""The options of every analysis; the defaults are the paper's values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rprs.errors import UsageError
from rprs.evaluation.measures import parse_measure, parse_measures
from rprs.rank import RPRS
from rprs.tuning.grids import RprsGrid, listed_values

__all__ = [
    "ANALYSES",
    "Ablation",
    "Depth",
    "Judgements",
    "LengthBias",
    "Lengths",
    "Pearson",
    "Sensitivity",
    "TieOrders",
    "Truncation",
    "Units",
    "Unjudged",
    "positive_integers",
    "rprs_grid",
]


@dataclass(frozen=True)
class Ablation:
    """RPRS with one part left out at a time."""


@dataclass(frozen=True)
class Sensitivity:
    """A grid of k1 and b for some n."""

    n: str | tuple[int, ...] = (1, 5, 10)
    k1: str | tuple[float, ...] = "0..3/0.2"
    b: str | tuple[float, ...] = "0..1/0.1"
    measure: str = ""

    def __post_init__(self) -> None:
        rprs_grid(self.n, self.k1, self.b)
        _check_measure(self.measure)


@dataclass(frozen=True)
class TieOrders:
    """Each choice for equally similar sentences, with the queries whose best k documents change."""

    k: int = 10

    def __post_init__(self) -> None:
        positive_integers("k", self.k)


@dataclass(frozen=True)
class Units:
    """Units of a fixed number of tokens instead of sentences."""

    lengths: tuple[int, ...] = (16, 32, 64, 128, 256, 512)
    measure: str = ""
    pool_only: bool = False

    def __post_init__(self) -> None:
        positive_integers("lengths", self.lengths)
        _check_measure(self.measure)


@dataclass(frozen=True)
class Truncation(Units):
    """Only the first tokens of queries and documents."""

    lengths: tuple[int, ...] = (256, 512, 1024, 2048, 4096, 8192, 16384)


@dataclass(frozen=True)
class Depth:
    """How many candidates are re-ranked."""

    depths: str | tuple[int, ...] = "15..100/5"
    measure: str = ""

    def __post_init__(self) -> None:
        positive_integers("depths", self.depths)
        _check_measure(self.measure)


@dataclass(frozen=True)
class LengthBias:
    """P(relevant | length) against P(retrieved | length)."""

    k: int = 5
    edges: tuple[int, ...] = ()  # of the bins, in words; default: ten bins with equally many documents
    systems: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        positive_integers("k", self.k)


@dataclass(frozen=True)
class Pearson:
    """The correlation of score and length."""

    systems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lengths:
    """The distribution of document lengths."""


@dataclass(frozen=True)
class Judgements:
    """The systems scored with other judgements than the collection's, and a run file unchanged, if one is named.

    Paths are relative to the folder of the collection.
    """

    qrels: str
    run: str = ""
    measures: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        parse_measures(self.measures)


@dataclass(frozen=True)
class Unjudged:
    """Scores of systems on judged documents alone."""

    k: int = 5
    qrels: str = ""  # all judgements, if the collection's own are a part of them; a path in its folder
    systems: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        positive_integers("k", self.k)


def positive_integers(name: str, values: Any) -> tuple[int, ...]:
    """A list, or a text such as "15..100/5", of whole numbers above 0, ascending."""
    listed = listed_values(name, values)
    wrong = [value for value in listed if type(value) is not int or value < 1]
    if wrong:
        raise UsageError(f"{name!r} must be integers in [1, inf). Got {wrong[0]!r} instead.")
    return tuple(value for value in listed if isinstance(value, int))


def rprs_grid(n: Any, k1: Any, b: Any) -> RprsGrid:
    """A grid of RPRS from lists or texts such as "0..3/0.2"; a wrong value is an error."""
    values = {name: listed_values(name, each) for name, each in (("k1", k1), ("b", b))}
    for name, each in values.items():
        wrong = [value for value in each if type(value) not in (int, float)]
        if wrong:
            raise UsageError(f"{name!r} must be numbers. Got {wrong[0]!r} instead.")
        for value in each:
            RPRS(**{name: value})  # type: ignore[arg-type]  # raises an error for a wrong value
    return RprsGrid(positive_integers("n", n), **values)  # type: ignore[arg-type]


def _check_measure(measure: str) -> None:
    """Raise an error for an unknown measure; an empty text stands for the measure of the study."""
    if measure:
        parse_measure(measure)


ANALYSES: dict[str, type[Any]] = {
    "ablation": Ablation,
    "sensitivity": Sensitivity,
    "ties": TieOrders,
    "units": Units,
    "truncation": Truncation,
    "depth": Depth,
    "length_bias": LengthBias,
    "pearson": Pearson,
    "lengths": Lengths,
    "judgements": Judgements,
    "unjudged": Unjudged,
}
