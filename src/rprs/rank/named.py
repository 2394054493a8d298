"""Systems by name: the default, the paper's, BM25 alone, and a fast one without sentence vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType

from rprs import spec
from rprs.errors import UsageError
from rprs.rank.system import NO_RERANKER, System

__all__ = ["NAMED", "NamedSystem", "named_system", "system_name"]


@dataclass(frozen=True)
class NamedSystem:
    """A system with a name; `splitter` is the one that an index for it should be made with."""

    name: str
    first: str
    rerank: str
    about: str
    splitter: str = spec.DEFAULT["splitter"]
    depth: int = spec.DEPTH

    @property
    def system(self) -> System:
        """The system itself."""
        return System(self.first, self.rerank, self.depth)


NAMED: Mapping[str, NamedSystem] = MappingProxyType(
    {
        each.name: each
        for each in (
            NamedSystem(
                "default",
                spec.DEFAULT["ranker"],
                spec.DEFAULT["reranker"],
                "The best ranking for documents of any length: words and phrases, then sentence vectors.",
            ),
            NamedSystem(
                "paper",
                "bm25(k1=2.8,b=1.0)",
                "rprs(n=5,k1=1.5,b=0.5)",
                "The pipeline of Askari et al. (2023), for an index made with --system paper.",
                "sentences(limit=25,piece=25)",
            ),
            NamedSystem("bm25", "bm25(k1=2.8,b=1.0)", NO_RERANKER, "BM25 alone, with the paper's parameters."),
            NamedSystem("fast", "blend", NO_RERANKER, "The first stage of the default alone: no sentence vectors."),
        )
    }
)


def named_system(name: str) -> NamedSystem:
    """The system of a name."""
    if name not in NAMED:
        close = get_close_matches(name, NAMED, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"choose from {', '.join(NAMED)}"
        raise UsageError(f"There is no system named {name!r:.80}: {hint}")
    return NAMED[name]


def system_name(system: System) -> str | None:
    """The name of a system, if it has one; the cut-off does not count."""
    return next((each.name for each in NAMED.values() if each.system == system.changed(cutoff=None)), None)
