"""The systems of a study: each with its index, its candidates and its ranking."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from rprs.document import Ranking
from rprs.errors import ReadError, UsageError
from rprs.evaluation.evaluate import Evaluation, evaluate
from rprs.evaluation.measures import Measure, judged_beside, parse_measure
from rprs.files.cache import Step
from rprs.rank import RPRS
from rprs.rank.fuse import run_files, uses_vectors
from rprs.read import read_qrels, read_run
from rprs.scoring.neighbours import Ties
from rprs.spec import parse
from rprs.studies.experiment import Experiment, Kind
from rprs.studies.plan import Plan, PlannedSystem
from rprs.tuning.pools import NEAREST, Pool

__all__ = ["Study", "rprs_of"]


def rprs_of(system: PlannedSystem) -> RPRS:
    """The RPRS of a system that re-ranks with it, as a plan has checked; the default where it names no re-ranker."""
    reranker = parse("reranker", system.rerank or "rprs")
    if not isinstance(reranker, RPRS):
        raise UsageError(f"The system {system.name!r} must re-rank with rprs(...): it has {reranker}")
    return reranker


@dataclass(frozen=True, eq=False)
class Study:
    """A plan applied to its collection. Results are computed when they are needed and kept in the cache."""

    plan: Plan
    experiment: Experiment
    base: Path  # the folder that holds the collections
    used: dict[str, PlannedSystem] = field(default_factory=dict)  # encoders in use, each with a system that uses it

    def check(self) -> None:
        """Report a missing file before hours of computation, not after."""
        for system in self.plan.systems:
            for file in run_files(self.experiment.ranker(system.first)) if system.after is None else ():
                if not Path(file.path).is_file():
                    raise ReadError(f"{file.path}: no such run file; it is the first stage of {system.name!r}")
            if system.on is not None:
                self.experiment.other(system.on.data, self.base, system.on.download)
        for analysis, options in self.plan.analyses.items():
            names = filter(None, (getattr(options, "run", ""), getattr(options, "qrels", "")))
            for path in (self.experiment.folder / name for name in names):
                if not path.is_file():
                    raise ReadError(f"{path}: no such file; the analysis {analysis} needs it")

    # ------------------------------------------------------------------------ the analysed system

    @property
    def subject(self) -> PlannedSystem:
        """The system that is analysed."""
        return self.plan.system(self.plan.subject or "")

    def target(self, text: str = "") -> Measure:
        """The measure of an analysis: its own, or the study's."""
        return parse_measure(text) if text else self.plan.target

    @cached_property
    def relevant(self) -> tuple[tuple[str, str], ...]:
        """All pairs of a query and a document that is relevant to it."""
        qrels = self.experiment.qrels
        return tuple((query, id) for query in sorted(qrels) for id, grade in qrels[query].items() if grade > 0)

    @property
    def compared(self) -> tuple[str, ...]:
        """The systems of an analysis that names none: the baselines and the analysed system, or else all."""
        names = [*self.plan.significance.against, *([self.plan.subject] if self.plan.subject else [])]
        return tuple(dict.fromkeys(names)) or tuple(system.name for system in self.plan.systems)

    # ------------------------------------------------------------------------ judged documents

    @cached_property
    def judged_measures(self) -> tuple[Measure, ...]:
        """Judged@k for the cut-offs of the study's measures."""
        return judged_beside((*self.plan.measures, self.plan.target))

    @cached_property
    def all_judgements(self) -> dict[str, dict[str, int]]:
        """By query, the collection's judgements and those that the analysis of unjudged documents names."""
        options = self.plan.analyses.get("unjudged")
        more = read_qrels(self.experiment.folder / options.qrels) if options and options.qrels else {}
        return {
            query: {**more.get(query, {}), **grades}
            for query, grades in self.experiment.qrels.items()
            if any(grade > 0 for grade in grades.values())
        }

    # ------------------------------------------------------------------------ indexes, candidates, pools

    def main_index(self, system: PlannedSystem) -> Step:
        """The index of the whole collection, for the first stage of a system and for avgdl."""
        encoder = self.plan.encoder if system.pool_only else system.encoder
        return self.experiment.index(Kind(system.splitter, system.analyzer, encoder))

    def encodes(self, system: PlannedSystem) -> bool:
        """Whether a system uses vectors in either stage."""
        if system.rerank is not None or system.tune == "rprs":
            return True
        return system.after is None and uses_vectors(self.experiment.ranker(system.first))

    def index(self, system: PlannedSystem, depth: int | None = None) -> Step:
        """The index that holds a system's vectors."""
        self.used.setdefault(system.encoder, system)
        if not system.pool_only:
            return self.main_index(system)
        kind = Kind(system.splitter, system.analyzer, system.encoder)
        return self.experiment.pool_index(kind, self.candidates(system, depth))

    def candidates(self, system: PlannedSystem, depth: int | None = None) -> frozenset[str]:
        """All documents that are among the candidates of any query."""
        run = self.read(self.first(system, depth))
        return frozenset(id for ranking in run.values() for id in ranking.ids[: depth or system.depth])

    def first(self, system: PlannedSystem, depth: int | None = None) -> Step:
        """The run of a system's first stage, which may be another system."""
        if system.after is not None:
            return self.run(self.plan.system(system.after))
        if self.encodes(system) and not system.pool_only:
            self.used.setdefault(system.encoder, system)
        return self.experiment.first(system.first, depth or system.depth, self.main_index(system), system.analyzer)

    def mean_sentences(self, system: PlannedSystem) -> float:
        """avgdl: of the whole collection, also where only candidates are encoded."""
        return self.experiment.open(self.main_index(system)).mean_sentences

    def pools(
        self, system: PlannedSystem, depths: tuple[int, ...], n: int = NEAREST, ties: Ties | None = None
    ) -> dict[int, Sequence[Pool]]:
        """The neighbours of a system's candidates, by depth; at least as many as its re-ranker uses.

        `ties` decides between equally similar sentences instead of the re-ranker's own choice.
        """
        first, mean = self.first(system, max(depths)), self.mean_sentences(system)
        reranker = rprs_of(system) if ties is None else dataclasses.replace(rprs_of(system), ties=ties)
        n = max(n, reranker.n)
        return self.experiment.pools(self.index(system, max(depths)), first, depths, n, mean, reranker.ties)

    # ------------------------------------------------------------------------ rankings

    def run(self, system: PlannedSystem) -> Step:
        """A folder with the ranking of a system as run.trec."""
        if system.tune is not None:
            from rprs.studies.tuned import tuned_run

            return tuned_run(self, system)
        if system.rerank is None:
            return self.first(system)
        mean = self.mean_sentences(system)
        return self.experiment.ranking(self.index(system), self.first(system), system.depth, system.rerank, mean)

    def read(self, step: Step) -> Mapping[str, Ranking]:
        """The rankings of a step that wrote a run."""
        return read_run(step.path / "run.trec")

    def rankings(self, name: str) -> Mapping[str, Ranking]:
        """The ranking of a system by query, cut to its depth unless the depth was tuned."""
        system = self.plan.system(name)
        rankings = self.read(self.run(system))
        if "depth" in system.grid:
            return rankings
        return {query: ranking.top(system.depth) for query, ranking in rankings.items()}

    # ------------------------------------------------------------------------ scores

    def evaluation(self, name: str, *more: Measure) -> Evaluation:
        """The scores of a system by the study's measures and further ones."""
        return self.score(self.rankings(name), name, *more)

    def score_with_judged(self, run: Mapping[str, Ranking], name: str) -> Evaluation:
        """The scores of a run by the study's measures, and the share of judged documents among the best."""
        scored = self.score(run, name, self.plan.target)
        shares = evaluate(run, self.all_judgements, self.judged_measures, name=name)
        return dataclasses.replace(scored, parts={**scored.parts, **shares.parts})

    def score(self, run: Mapping[str, Ranking], name: str, *more: Measure) -> Evaluation:
        """The scores of a run by the study's measures and further ones."""
        return evaluate(run, self.experiment.qrels, tuple(dict.fromkeys((*self.plan.measures, *more))), name=name)
