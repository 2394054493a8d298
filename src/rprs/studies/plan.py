"""What a study is, as its TOML says it: a collection, systems in the order of the table, and analyses.

    title = "Python enhancement proposals"
    data = "beir(peps)"
    measures = ["P@1", "R@10", "AP@100"]
    depth = 50

    [systems]
    "BM25" = { rerank = "none" }
    "RPRS" = { rerank = "rprs(n=4,k1=0)" }
    "RPRS w/freq, tuned" = { tune = "rprs", folds = 5 }
    "Birch, tuned" = { rerank = "birch", tune = "rerank", folds = 5 }

    [significance]
    baselines = ["BM25"]

    [analyses]
    ablation = true

Everything is checked when the file is read, before anything is computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from rprs import spec
from rprs.encode import Fittable
from rprs.errors import UsageError
from rprs.evaluation.measures import Measure, parse_measure, parse_measures
from rprs.files.toml import fill, read_toml, require_name
from rprs.rank import BM25, RPRS, System
from rprs.rank.system import NO_RERANKER
from rprs.studies.folder import file_name
from rprs.studies.options import ANALYSES, positive_integers
from rprs.tuning.grids import integers, parse_grid
from rprs.tuning.settings import read_settings
from rprs.tuning.tasks import check_grid

__all__ = ["Elsewhere", "Plan", "PlannedSystem", "Significance", "read_plan"]

# ---------------------------------------------------------------------------- systems


@dataclass(frozen=True)
class Elsewhere:
    """Another collection, on which the parameters of a system are tuned: the paper's RQ3."""

    data: str
    first: str = spec.DEFAULT["ranker"]
    encoder: str = ""  # none: the system's
    depth: int = 0  # none: the system's
    measure: str = ""  # none: the system's
    download: str = ""


@dataclass(frozen=True)
class PlannedSystem:
    """A row of the table: a first stage and a re-ranker, or how their parameters are tuned."""

    name: str
    first: str  # a ranker
    after: str | None  # or a system before this one, whose ranking is the first stage
    rerank: str | None
    depth: int
    splitter: str
    analyzer: str
    encoder: str
    pool_only: bool = False  # encode the candidates alone, not the whole collection
    tune: str | None = None  # rprs, bm25, or rerank: any other re-ranker
    folds: int | None = None
    measure: str = ""  # what is tuned for
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict, hash=False)
    on: Elsewhere | None = None


@dataclass(frozen=True)
class _SystemTable:
    first: str | None = None
    rerank: str | None = None
    depth: int | None = None
    splitter: str | None = None
    analyzer: str | None = None
    encoder: str | None = None
    pool_only: bool = False
    tune: str | None = None
    folds: int | None = None
    measure: str | None = None
    grid: dict = field(default_factory=dict)  # type: ignore[type-arg]
    on: str | dict | None = None  # type: ignore[type-arg]
    settings: str | None = None


@dataclass(frozen=True)
class Significance:
    """How the systems are compared."""

    baselines: tuple[str, ...] = ()
    alpha: float = 0.05
    correction: str = "bonferroni"
    test: str = "t"

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise UsageError(f"'alpha' must be a number in (0, 1). Got {self.alpha!r} instead.")
        for name, allowed in (("correction", ("bonferroni", "holm", "none")), ("test", ("t", "fisher"))):
            if getattr(self, name) not in allowed:
                raise UsageError(f"{name!r} must be {' or '.join(allowed)}. Got {getattr(self, name)!r} instead.")


# ---------------------------------------------------------------------------- the whole


@dataclass(frozen=True)
class Plan:
    """A study: everything that its TOML says, checked."""

    name: str
    folder: Path  # of the TOML
    title: str
    data: str
    download: str
    notes: tuple[str, ...]
    measures: tuple[Measure, ...]
    target: Measure  # what is tuned for and analysed, if nothing else is said
    encoder: str  # of the index that first stages use where a system encodes its candidates alone
    systems: tuple[PlannedSystem, ...]
    significance: Significance
    subject: str | None  # the system that is analysed
    analyses: Mapping[str, Any]

    def system(self, name: str) -> PlannedSystem:
        """The system of a name."""
        return next(system for system in self.systems if system.name == name)


@dataclass(frozen=True)
class _PlanTable:
    data: str
    measures: tuple[str, ...]
    systems: dict  # type: ignore[type-arg]
    title: str = ""
    download: str = ""
    notes: tuple[str, ...] = ()
    paper: str = ""  # the table of the paper that it stands beside, for who compares; nothing depends on it
    target: str = ""
    first: str = spec.DEFAULT["ranker"]
    rerank: str = spec.DEFAULT["reranker"]
    depth: int = spec.DEPTH
    splitter: str = spec.DEFAULT["splitter"]
    analyzer: str = spec.DEFAULT["analyzer"]
    encoder: str = spec.DEFAULT["encoder"]
    significance: dict = field(default_factory=dict)  # type: ignore[type-arg]
    analyses: dict = field(default_factory=dict)  # type: ignore[type-arg]


def read_plan(path: str | Path) -> Plan:
    """The study that a TOML file describes."""
    path = Path(path)
    table = fill(_PlanTable, read_toml(path, "study"), str(path))
    if not table.measures:
        raise UsageError(f"{path}: 'measures' must name one measure at least")
    if not table.systems:
        raise UsageError(f"{path}: [systems] must name one system at least")
    measures = parse_measures(table.measures)
    systems: list[PlannedSystem] = []
    for name, said in table.systems.items():
        systems.append(_system(path, name, said, table, [system.name for system in systems]))
    names = [system.name for system in systems]
    _check_names(path, names)
    significance = fill(Significance, table.significance, f"{path}, [significance]")
    for name in significance.baselines:
        require_name(name, names, f"{path}, [significance]", "system")
    subject, analyses = _analyses(path, table.analyses, systems)
    _check_depths(path, systems, subject, analyses)
    return Plan(
        name=path.stem,
        folder=path.parent,
        title=table.title or path.stem,
        data=table.data,
        download=table.download,
        notes=table.notes,
        measures=measures,
        target=parse_measure(table.target) if table.target else measures[0],
        encoder=_text(str(path), "encoder", table.encoder),
        systems=tuple(systems),
        significance=significance,
        subject=subject,
        analyses=analyses,
    )


def _check_names(path: Path, names: list[str]) -> None:
    """Every system has a run file of its own."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(file_name(name), name)
        if other != name:
            raise UsageError(f"{path}, [systems]: {other!r} and {name!r} would have the same run file: rename one")


def _check_depths(path: Path, systems: list[PlannedSystem], subject: str | None, analyses: Mapping[str, Any]) -> None:
    """A system after another has no more candidates than that one lists."""
    listed = {system.name: _depths(system)[-1] for system in systems}
    for system in systems:
        asked = list(_depths(system))
        if system.name == subject and "depth" in analyses:
            asked += positive_integers("depths", analyses["depth"].depths)
        if system.after is not None and max(asked) > listed[system.after]:
            raise UsageError(
                f"{path}, [systems] {system.name!r}: {max(asked)} candidates are asked for, but {system.after!r} lists "
                f"{listed[system.after]}: change a depth"
            )


def _depths(system: PlannedSystem) -> tuple[int, ...]:
    return integers("depth", system.grid.get("depth", (system.depth,)))


def _system(path: Path, name: str, said: Any, defaults: _PlanTable, earlier: list[str]) -> PlannedSystem:
    where = f"{path}, [systems] {name!r}"
    table = fill(_SystemTable, said, where)
    if table.settings is not None:
        table = _with_settings(table, path.parent / table.settings)
    given = {f.name: getattr(table, f.name) for f in fields(_SystemTable) if getattr(table, f.name) is not None}
    tune = _tuned(where, table, defaults.rerank)
    rerank = "none" if tune == "bm25" else given.get("rerank", defaults.rerank)
    first = given.get("first", defaults.first if tune != "bm25" else spec.DEFAULT["ranker"])
    depth = given.get("depth", defaults.depth)
    if depth < 1:
        raise UsageError(f"{where}: 'depth' must be an integer in [1, inf). Got {depth} instead.")
    encoder = _text(where, "encoder", given.get("encoder", defaults.encoder))
    if table.pool_only and isinstance(spec.parse("encoder", encoder), Fittable):
        raise UsageError(f"{where}: pool_only needs an encoder that is not fitted to the collection: {encoder} is")
    if tune == "bm25" and (first in earlier or spec.find("ranker", first.partition("(")[0].strip()) is not BM25):
        raise UsageError(f"{where}: what is tuned must be bm25(...). Got {first!r} instead.")
    return PlannedSystem(
        name=name,
        first=first if first in earlier else _text(where, "ranker", first),
        after=first if first in earlier else None,
        rerank=None if rerank.strip().lower() == "none" else _text(where, "reranker", rerank),
        depth=depth,
        splitter=_text(where, "splitter", given.get("splitter", defaults.splitter)),
        analyzer=_text(where, "analyzer", given.get("analyzer", defaults.analyzer)),
        encoder=encoder,
        pool_only=table.pool_only,
        tune=tune,
        folds=table.folds,
        measure=str(parse_measure(given.get("measure") or defaults.target or defaults.measures[0])),
        grid=parse_grid(table.grid),
        on=_elsewhere(where, table.on),
    )


def _with_settings(table: _SystemTable, path: Path) -> _SystemTable:
    """A system as a file of tuned settings has it; what the study says itself wins."""
    system = read_settings(path)
    return replace(
        table,
        first=table.first or str(system.first),
        rerank=table.rerank or str(system.rerank or NO_RERANKER),
        depth=table.depth or system.depth,
    )


def _tuned(where: str, table: _SystemTable, rerank: str) -> str | None:
    """What is tuned, checked; `rerank` is the re-ranker where the system names none."""
    if table.tune is None:
        for key in ("folds", "on", "grid", "measure"):
            if getattr(table, key) not in (None, {}):
                raise UsageError(f"{where}: {key!r} says how to tune, so it needs 'tune' too: {_TUNED}")
        return None
    if table.tune not in ("rprs", "bm25", "rerank"):
        raise UsageError(f"{where}: 'tune' must be {_TUNED}. Got {table.tune!r} instead.")
    if (table.folds is None) == (table.on is None):
        raise UsageError(f"{where}: 'tune' needs either 'folds' (cross-validation) or 'on' (another collection)")
    if table.folds is not None and table.folds < 2:
        raise UsageError(f"{where}: 'folds' must be an integer in [2, inf). Got {table.folds} instead.")
    if table.tune == "bm25" and table.rerank not in (None, "none"):
        raise UsageError(f"{where}: a tuned BM25 has no 'rerank': name it as the 'first' of a system after it")
    tune = table.tune if table.tune == "bm25" else _second(where, table.tune, table.rerank or rerank)
    for name in table.grid if tune in _TUNABLE else ():
        require_name(name, _TUNABLE[tune], f"{where}: 'grid'", "parameter")
    try:
        grid = parse_grid(table.grid)
        if tune == "bm25":
            check_grid("first", System(), grid)
        else:
            check_grid("rerank", System(rerank="rprs" if tune == "rprs" else table.rerank or rerank), grid)
    except UsageError as error:
        raise UsageError(f"{where}: 'grid': {error}") from error
    return tune


_TUNED = '"rprs", "bm25" or "rerank"'
_TUNABLE = {"rprs": ["n", "k1", "b", "depth"], "bm25": ["k1", "b", "kli"]}


def _second(where: str, tune: str, rerank: str) -> str:
    """How a re-ranker is tuned: RPRS from neighbours found once, whatever it was called; any other by itself."""
    if rerank.strip().lower() == "none":
        if tune == "rprs":
            return tune
        raise UsageError(f'{where}: there is no re-ranker to tune: name one, as rerank = "birch"')
    component = spec.parse("reranker", _text(where, "reranker", rerank))
    from_neighbours = isinstance(component, RPRS) and component.form == "full"
    if tune == "rprs" and not from_neighbours:
        raise UsageError(f'{where}: tune = "rprs" is for rprs(...), and {component} is tuned with tune = "rerank"')
    return "rprs" if from_neighbours else "rerank"


def _elsewhere(where: str, said: Any) -> Elsewhere | None:
    if said is None:
        return None
    where = f"{where}: 'on'"
    found = fill(Elsewhere, {"data": said} if isinstance(said, str) else said, where)
    if found.measure:
        parse_measure(found.measure)
    if found.depth < 0:
        raise UsageError(f"{where}: 'depth' must be an integer in [1, inf). Got {found.depth} instead.")
    encoder = _text(where, "encoder", found.encoder) if found.encoder else ""
    return replace(found, first=_text(where, "ranker", found.first), encoder=encoder)


def _text(where: str, kind: spec.Kind, said: str) -> str:
    """A component as it is written canonically, so that white space and defaults make no difference."""
    try:
        return spec.text(spec.parse(kind, said))
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error


def _analyses(path: Path, table: dict[str, Any], systems: list[PlannedSystem]) -> tuple[str | None, dict[str, Any]]:
    """The system that is analysed, and the analyses with their options."""
    where = f"{path}, [analyses]"
    options = dict(table)
    names = [system.name for system in systems]
    fixed = [system.name for system in systems if (system.rerank or "").startswith("rprs") and system.tune is None]
    subject = options.pop("system", fixed[0] if fixed else None)
    if subject is not None:
        if not isinstance(subject, str):
            raise UsageError(f"{where}: 'system' must be a text. Got {subject!r} instead.")
        require_name(subject, names, where, "system")
        if subject not in fixed:
            raise UsageError(f"{where}: the system {subject!r} must re-rank with rprs(...) and given parameters")
    found = {}
    for name, said in options.items():
        require_name(name, ["system", *ANALYSES], where, "analysis")
        if said is not False:
            found[name] = fill(ANALYSES[name], {} if said is True else said, f"{where} {name}")
        for system in getattr(found.get(name), "systems", ()):
            require_name(system, names, f"{where} {name}", "system")
    if "length_bias" in found and "relevant" in names:
        raise UsageError(f"{where} length_bias: a system cannot be called 'relevant' beside what is: rename it")
    needing = {"ablation", "sensitivity", "units", "truncation", "depth"} & set(found)
    if needing and subject is None:
        raise UsageError(f"{where}: {sorted(needing)[0]} needs a system that re-ranks with rprs(...)")
    return subject, found
