"""A system: a first stage, a re-ranker, how many candidates pass between them, and where the answer ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np

from rprs import spec
from rprs.document import Ranking
from rprs.encode import Loadable
from rprs.errors import UsageError
from rprs.evaluation.cutoff import Ratio, Rule, Top, cut
from rprs.evaluation.measures import parse_rule
from rprs.progress import Progress, silent
from rprs.rank.stages import Ranker, Reranker

__all__ = ["NO_RERANKER", "System", "SystemOptions", "as_system", "require_depth"]

NO_RERANKER = "none"  # the text form of `rerank=None`, on the command line and in TOML


class SystemOptions(TypedDict, total=False):
    """The fields of a `System` as keyword arguments."""

    first: Ranker | str
    rerank: Reranker | str | None
    depth: int
    cutoff: Rule | str | None


@dataclass(frozen=True, init=False)
class System:
    """How documents are ranked: `System(first="bm25", rerank="rprs(n=4,k1=0)", depth=50, cutoff="ratio(p=0.8)")`.

    `first` and `rerank` are components or their texts; `rerank=None` keeps the order of the first stage. `depth` is the
    number of candidates that the first stage passes on, and `cutoff` the rule for the length of an answer (None: all).
    """

    first: Ranker
    rerank: Reranker | None
    depth: int
    cutoff: Rule | None

    def __init__(
        self,
        first: Ranker | str = spec.DEFAULT["ranker"],
        rerank: Reranker | str | None = spec.DEFAULT["reranker"],
        depth: int = spec.DEPTH,
        cutoff: Rule | str | None = None,
    ) -> None:
        object.__setattr__(self, "first", _component("ranker", first, Ranker, "a first stage, such as bm25"))
        object.__setattr__(self, "rerank", _reranker(rerank))
        object.__setattr__(self, "depth", require_depth(depth))
        object.__setattr__(self, "cutoff", _rule(cutoff))

    def __str__(self) -> str:
        stages = f"{self.first} → {self.rerank}" if self.rerank else str(self.first)
        return f"{stages}, cut at {self.cutoff}" if self.cutoff else stages

    @classmethod
    def named(cls, name: str) -> System:
        """A system by its name: "default", "paper", "bm25" or "fast"."""
        from rprs.rank.named import named_system

        return named_system(name).system

    @property
    def name(self) -> str | None:
        """Its name, if it has one."""
        from rprs.rank.named import system_name

        return system_name(self)

    @property
    def tag(self) -> str:
        """The name of a run of this system, in one word."""
        return self.name or "_".join(str(self.rerank or self.first).split())

    def changed(self, **options: Any) -> System:
        """The same system with other values of some fields."""
        return replace(self, **options)

    def load(self, progress: Progress = silent) -> None:
        """Load the models of the re-ranker, if it has any."""
        if isinstance(self.rerank, Loadable):
            self.rerank.load(progress)

    def cut(self, ranking: Ranking) -> Ranking:
        """The part of a ranking that is the answer."""
        if self.cutoff is None:
            return ranking
        return ranking.top(int(cut(self.cutoff, np.asarray(ranking.scores, dtype=np.float64)[None])[0]))


def as_system(system: Any, options: Mapping[str, Any]) -> System:
    """A system from a `System`, a name or None (the default), with other values of some fields."""
    if isinstance(system, str):
        system = System.named(system)
    if not isinstance(system, System | None):
        raise UsageError(
            f"The system must be a rprs.System or a name such as 'paper'; name a first stage as first=... "
            f"Got {system!r} instead."
        )
    return (system or System()).changed(**options)


def require_depth(depth: Any, name: str = "depth") -> int:
    """A number of candidates, checked."""
    if isinstance(depth, bool) or not isinstance(depth, int | np.integer) or depth < 1:
        raise UsageError(f"The {name} of re-ranking must be an integer in [1, inf). Got {depth!r} instead.")
    return int(depth)


def _component(kind: spec.Kind, value: Any, protocol: type[Any], expected: str) -> Any:
    component = spec.parse(kind, value) if isinstance(value, str) else value
    if isinstance(component, type) or not isinstance(component, protocol):
        raise UsageError(f"{value!r} is not {expected}")
    return component


def _reranker(value: Reranker | str | None) -> Reranker | None:
    if value is None or (isinstance(value, str) and value.strip().lower() == NO_RERANKER):
        return None
    reranker: Reranker = _component("reranker", value, Reranker, "a re-ranker, such as rprs")
    return reranker


def _rule(value: Rule | str | None) -> Rule | None:
    if value is None or isinstance(value, Top | Ratio):
        return value
    if not isinstance(value, str):
        raise UsageError(f"A cut-off is a rule such as '4' or 'ratio(p=0.8,l=1,h=6)'. Got {value!r} instead.")
    return parse_rule(value)
