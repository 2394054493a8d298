"""The options of every analysis, with what holds where nothing is said: the paper's values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rprs.scoring.measures import parse_measure, parse_measures
from rprs.study.grids import rprs_grid, whole

__all__ = [
    "ANALYSES",
    "Ablation",
    "Depth",
    "Judgements",
    "LengthBias",
    "Lengths",
    "Pearson",
    "Sensitivity",
    "Truncation",
    "Units",
    "Unjudged",
]


@dataclass(frozen=True)
class Ablation:
    """RPRS without its parts."""


@dataclass(frozen=True)
class Sensitivity:
    """A grid of k1 and b for some n."""

    n: str | tuple[int, ...] = (1, 5, 10)
    k1: str | tuple[float, ...] = "0..3/0.2"
    b: str | tuple[float, ...] = "0..1/0.1"
    measure: str = ""

    def __post_init__(self) -> None:
        rprs_grid({"n": self.n, "k1": self.k1, "b": self.b})
        _known(self.measure)


@dataclass(frozen=True)
class Units:
    """Units of a fixed number of tokens instead of sentences."""

    lengths: tuple[int, ...] = (16, 32, 64, 128, 256, 512)
    measure: str = ""
    pool_only: bool = False

    def __post_init__(self) -> None:
        whole("lengths", self.lengths)
        _known(self.measure)


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
        whole("depths", self.depths)
        _known(self.measure)


@dataclass(frozen=True)
class LengthBias:
    """P(relevant | length) against P(retrieved | length)."""

    k: int = 5
    edges: tuple[int, ...] = ()  # of the bins, in words; none: ten bins of equally many documents
    systems: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        whole("k", self.k)


@dataclass(frozen=True)
class Pearson:
    """The correlation of score and length."""

    systems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lengths:
    """The distribution of document lengths."""


@dataclass(frozen=True)
class Judgements:
    """A run file scored with other judgements than the collection's; paths are relative to its folder."""

    run: str
    qrels: str
    measures: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        parse_measures(self.measures)


@dataclass(frozen=True)
class Unjudged:
    """What systems are worth on judged documents alone."""

    k: int = 5
    qrels: str = ""  # all that was judged, if the collection's own judgements are not all; a path in its folder
    systems: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        whole("k", self.k)


def _known(measure: str) -> None:
    """Raise the line for a measure that there is not; no measure is the study's."""
    if measure:
        parse_measure(measure)


ANALYSES: dict[str, type[Any]] = {
    "ablation": Ablation,
    "sensitivity": Sensitivity,
    "units": Units,
    "truncation": Truncation,
    "depth": Depth,
    "length_bias": LengthBias,
    "pearson": Pearson,
    "lengths": Lengths,
    "judgements": Judgements,
    "unjudged": Unjudged,
}
