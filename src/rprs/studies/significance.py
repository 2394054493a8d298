"""Which systems of a study are compared, and how: the table [significance] of its TOML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from rprs.errors import UsageError
from rprs.evaluation.compare import MARKS, Correction, Test

__all__ = ["Significance"]


@dataclass(frozen=True)
class Significance:
    """All systems against the baselines, or only declared pairs of a system and a baseline, or both; or no tests."""

    baselines: tuple[str, ...] = ()
    comparisons: tuple[tuple[str, ...], ...] = ()
    alpha: float = 0.05
    correction: str = "bonferroni"
    test: str = "t"

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise UsageError(f"'alpha' must be a number in (0, 1). Got {self.alpha!r} instead.")
        for name, allowed in (("correction", get_args(Correction)), ("test", get_args(Test))):
            if getattr(self, name) not in allowed:
                raise UsageError(f"{name!r} must be {' or '.join(allowed)}. Got {getattr(self, name)!r} instead.")
        for pair in self.comparisons:
            if len(pair) != 2 or pair[0] == pair[1]:
                raise UsageError(
                    f'each of \'comparisons\' must be a pair of different systems, such as ["RPRS", "BM25"]. '
                    f"Got {list(pair)!r} instead."
                )
        if len(self.against) > len(MARKS):
            raise UsageError(f"{len(self.against)} baselines, and only {len(MARKS)} marks: name at most {len(MARKS)}")

    @property
    def against(self) -> tuple[str, ...]:
        """The systems that others are compared with."""
        return tuple(dict.fromkeys((*self.baselines, *(baseline for _, baseline in self.pairs))))

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The declared comparisons."""
        return [(system, baseline) for system, baseline in self.comparisons]

    @property
    def names(self) -> tuple[str, ...]:
        """All systems that are named here."""
        return tuple(dict.fromkeys((*self.baselines, *(name for pair in self.comparisons for name in pair))))
