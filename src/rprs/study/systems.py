"""The systems of a study: each with its index, its candidates and its ranking."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from rprs.document import Ranking
from rprs.errors import ReadError
from rprs.evaluate import Evaluation, evaluate
from rprs.pools import NEAREST, Run
from rprs.rank.fuse import by_words, run_files
from rprs.read import read_run
from rprs.scoring.measures import Measure, parse_measure
from rprs.spec import parse
from rprs.study.cache import Made
from rprs.study.plan import Plan, System
from rprs.study.workshop import Kind, Workshop

__all__ = ["Study"]


@dataclass(frozen=True, eq=False)
class Study:
    """A plan at work on its collection. What it gives is made when it is asked for, and kept in the cache."""

    plan: Plan
    workshop: Workshop
    base: Path  # where the folders of collections are
    used: dict[str, System] = field(default_factory=dict)  # encoders at work, each with a system that has it

    def check(self) -> None:
        """Find out that a file is missing before hours of work, not after."""
        for system in self.plan.systems:
            for file in run_files(self.workshop.ranker(system.first)) if system.after is None else ():
                if not Path(file.path).is_file():
                    raise ReadError(f"{file.path}: no such run file, which is the first stage of {system.name!r}")
            if system.on is not None:
                self.workshop.other(system.on.data, self.base, system.on.download)
        for analysis, asked in self.plan.analyses.items():
            for path in (
                self.workshop.folder / name for name in (getattr(asked, "run", ""), getattr(asked, "qrels", "")) if name
            ):
                if not path.is_file():
                    raise ReadError(f"{path}: no such file, which the analysis {analysis} needs")

    # ------------------------------------------------------------------------ what is analysed

    @property
    def subject(self) -> System:
        """The system that is analysed."""
        return self.plan.system(self.plan.subject or "")

    def target(self, text: str = "") -> Measure:
        """The measure of an analysis: its own, or the study's."""
        return parse_measure(text) if text else self.plan.target

    @cached_property
    def relevant(self) -> tuple[tuple[str, str], ...]:
        """All pairs of a query and a document that is relevant to it."""
        qrels = self.workshop.qrels
        return tuple((query, id) for query in sorted(qrels) for id, grade in qrels[query].items() if grade > 0)

    @property
    def compared(self) -> tuple[str, ...]:
        """The systems of an analysis that names none: the baselines and the one that is analysed, or else all."""
        names = [*self.plan.significance.baselines, *([self.plan.subject] if self.plan.subject else [])]
        return tuple(dict.fromkeys(names)) or tuple(system.name for system in self.plan.systems)

    # ------------------------------------------------------------------------ what a system is made of

    def main_index(self, system: System) -> Made:
        """The index of the whole collection that a system's first stage and avgdl come from."""
        encoder = self.plan.encoder if system.pool_only else system.encoder
        return self.workshop.index(Kind(system.splitter, system.analyzer, encoder))

    def encodes(self, system: System) -> bool:
        """Whether a system looks at vectors, in either stage."""
        if system.rerank is not None or system.tune == "rprs":
            return True
        return system.after is None and not by_words(self.workshop.ranker(system.first))

    def index(self, system: System, depth: int | None = None) -> Made:
        """The index that has a system's vectors."""
        self.used.setdefault(system.encoder, system)
        if not system.pool_only:
            return self.main_index(system)
        kind = Kind(system.splitter, system.analyzer, system.encoder)
        return self.workshop.pool_index(kind, self.candidates(system, depth))

    def candidates(self, system: System, depth: int | None = None) -> frozenset[str]:
        """All documents that are among the candidates of any query."""
        run = self.read(self.first(system, depth))
        return frozenset(id for ranking in run.values() for id in ranking.ids[: depth or system.depth])

    def first(self, system: System, depth: int | None = None) -> Made:
        """The run of a system's first stage, which may be another system."""
        if system.after is not None:
            return self.run(self.plan.system(system.after))
        if self.encodes(system) and not system.pool_only:
            self.used.setdefault(system.encoder, system)
        return self.workshop.first(system.first, depth or system.depth, self.main_index(system), system.analyzer)

    def mean_sentences(self, system: System) -> float:
        """avgdl: of the whole collection, also where only candidates are encoded."""
        return self.workshop.open(self.main_index(system)).mean_sentences

    def pools(self, system: System, depths: tuple[int, ...], n: int = NEAREST) -> dict[int, Made]:
        """The neighbours of a system's candidates, by depth; at least as many as its re-ranker looks at."""
        first, mean = self.first(system, max(depths)), self.mean_sentences(system)
        n = max(n, parse("reranker", system.rerank or "rprs").n)
        return self.workshop.pools(self.index(system, max(depths)), first, depths, n, mean)

    # ------------------------------------------------------------------------ its ranking

    def run(self, system: System) -> Made:
        """A folder with the ranking of a system as run.trec."""
        if system.tune is not None:
            from rprs.study.tuned import tuned_run

            return tuned_run(self, system)
        if system.rerank is None:
            return self.first(system)
        mean = self.mean_sentences(system)
        return self.workshop.ranking(self.index(system), self.first(system), system.depth, system.rerank, mean)

    def read(self, made: Made) -> Run:
        """The rankings of a step that made a run."""
        return read_run(made.path / "run.trec")

    def rankings(self, name: str) -> Run:
        """The ranking of a system by query, cut to its depth, unless that is what was tuned."""
        system = self.plan.system(name)
        found = self.read(self.run(system))
        if "depth" in system.grid:
            return found
        return {
            query: Ranking(ranking.ids[: system.depth], ranking.scores[: system.depth])
            for query, ranking in found.items()
        }

    # ------------------------------------------------------------------------ how good it is

    def evaluation(self, name: str, *more: Measure) -> Evaluation:
        """What a system scores, by the study's measures and some more."""
        return self.score(self.rankings(name), name, *more)

    def score(self, run: Run, name: str, *more: Measure) -> Evaluation:
        """What a run scores, by the study's measures and some more."""
        return evaluate(run, self.workshop.qrels, tuple(dict.fromkeys((*self.plan.measures, *more))), name)
