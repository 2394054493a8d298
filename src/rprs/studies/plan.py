"""The plan of a study, read from TOML: a collection, systems in the order of the table, and analyses.

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
from rprs.rank.date_limit import DateLimit, as_date_limit
from rprs.rank.named import named_system
from rprs.rank.system import NO_RERANKER
from rprs.studies.folder import file_name
from rprs.studies.options import ANALYSES, positive_integers
from rprs.studies.significance import Significance
from rprs.tuning.grids import integers, parse_grid
from rprs.tuning.settings import read_settings
from rprs.tuning.tasks import check_grid

__all__ = ["Elsewhere", "Plan", "PlannedSystem", "read_plan"]

FIRST, RERANK = "bm25", "rprs"  # of a study's systems that do not name their own: the paper's pipeline

# ---------------------------------------------------------------------------- systems


@dataclass(frozen=True)
class Elsewhere:
    """Another collection, on which the parameters of a system are tuned: the paper's RQ3."""

    data: str
    first: str = FIRST
    encoder: str = ""  # empty: the system's
    depth: int = 0  # 0: the system's
    measure: str = ""  # empty: the system's
    download: str = ""


@dataclass(frozen=True)
class PlannedSystem:
    """A row of the systems table: a first stage and a re-ranker, or how their parameters are tuned."""

    name: str
    first: str  # a ranker
    after: str | None  # or an earlier system, whose ranking is the first stage
    rerank: str | None
    depth: int
    splitter: str
    analyzer: str
    encoder: str
    pool_only: bool = False  # encode the candidates alone, not the whole collection
    tune: str | None = None  # rprs, bm25, or rerank: any other re-ranker
    folds: int | None = None
    measure: str = ""  # the measure to tune for
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
    system: str | None = None


# ---------------------------------------------------------------------------- the plan


@dataclass(frozen=True)
class Plan:
    """A study as its TOML describes it, checked."""

    name: str
    folder: Path  # of the TOML
    title: str
    data: str
    download: str
    notes: tuple[str, ...]
    measures: tuple[Measure, ...]
    target: Measure  # the measure for tuning and analyses, unless they name another
    encoder: str  # of the index for first stages, where a system encodes its candidates only
    systems: tuple[PlannedSystem, ...]
    significance: Significance
    reference: str  # the system whose candidates are also put into random order and into the best order
    subject: str | None  # the system that is analysed
    analyses: Mapping[str, Any]
    limit: DateLimit | None = None
    paper: str = ""  # the corresponding table of the paper, if any

    def system(self, name: str) -> PlannedSystem:
        """The system with this name."""
        return next(system for system in self.systems if system.name == name)


@dataclass(frozen=True)
class _PlanTable:
    data: str
    measures: tuple[str, ...]
    systems: dict  # type: ignore[type-arg]
    title: str = ""
    download: str = ""
    notes: tuple[str, ...] = ()
    paper: str = ""  # the corresponding table of the paper; no result depends on it
    target: str = ""
    first: str = FIRST
    rerank: str = RERANK
    depth: int = spec.DEPTH
    splitter: str = spec.DEFAULT["splitter"]
    analyzer: str = spec.DEFAULT["analyzer"]
    encoder: str = spec.DEFAULT["encoder"]
    reference: str = ""
    before: str | None = None
    undated: str = "keep"
    significance: dict = field(default_factory=dict)  # type: ignore[type-arg]
    analyses: dict = field(default_factory=dict)  # type: ignore[type-arg]


def read_plan(path: str | Path) -> Plan:
    """The study that a TOML file describes."""
    tables, path = read_toml(path, "study"), Path(path)
    table = fill(_PlanTable, tables, str(path))
    if not table.measures:
        raise UsageError(f"{path}: 'measures' must name at least one measure")
    if not table.systems:
        raise UsageError(f"{path}: [systems] must name at least one system")
    measures = parse_measures(table.measures)
    systems: list[PlannedSystem] = []
    for name, options in table.systems.items():
        systems.append(_system(path, name, options, table, [system.name for system in systems]))
    names = [system.name for system in systems]
    _check_names(path, names)
    significance = fill(Significance, table.significance, f"{path}, [significance]")
    for name in significance.names:
        require_name(name, names, f"{path}, [significance]", "system")
    if table.reference:
        require_name(table.reference, names, f"{path}: 'reference'", "system")
    subject, analyses = _analyses(path, table.analyses, systems)
    reranking = [system.name for system in systems if system.rerank is not None]
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
        reference=table.reference or subject or [*reranking, *names][0],
        subject=subject,
        analyses=analyses,
        limit=_limit(path, table),
        paper=table.paper,
    )


def _limit(path: Path, table: _PlanTable) -> DateLimit | None:
    try:
        return as_date_limit(table.before, table.undated)  # type: ignore[arg-type]  # it checks them
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def _check_names(path: Path, names: list[str]) -> None:
    """Check that every system has its own run file."""
    names_by_file: dict[str, str] = {}
    for name in names:
        other = names_by_file.setdefault(file_name(name), name)
        if other != name:
            raise UsageError(f"{path}, [systems]: {other!r} and {name!r} would have the same run file: rename one")


def _check_depths(path: Path, systems: list[PlannedSystem], subject: str | None, analyses: Mapping[str, Any]) -> None:
    """Check that a system needs no more candidates than the system before it lists."""
    listed = {system.name: _depths(system)[-1] for system in systems}
    for system in systems:
        needed = list(_depths(system))
        if system.name == subject and "depth" in analyses:
            needed += positive_integers("depths", analyses["depth"].depths)
        if system.after is not None and max(needed) > listed[system.after]:
            raise UsageError(
                f"{path}, [systems] {system.name!r}: {max(needed)} candidates are needed, but {system.after!r} lists "
                f"{listed[system.after]}: change a depth"
            )


def _depths(system: PlannedSystem) -> tuple[int, ...]:
    return integers("depth", system.grid.get("depth", (system.depth,)))


def _system(path: Path, name: str, options: Any, defaults: _PlanTable, earlier: list[str]) -> PlannedSystem:
    where = f"{path}, [systems] {name!r}"
    table = fill(_SystemTable, options, where)
    if table.settings is not None:
        table = _with_settings(table, path.parent / table.settings)
    if table.system is not None:
        table = _with_named(table, where)
    own = {f.name: getattr(table, f.name) for f in fields(_SystemTable) if getattr(table, f.name) is not None}
    tune = _tuned(where, table, defaults.rerank)
    rerank = "none" if tune == "bm25" else own.get("rerank", defaults.rerank)
    first = own.get("first", defaults.first if tune != "bm25" else FIRST)
    depth = own.get("depth", defaults.depth)
    if depth < 1:
        raise UsageError(f"{where}: 'depth' must be an integer in [1, inf). Got {depth} instead.")
    encoder = _text(where, "encoder", own.get("encoder", defaults.encoder))
    if table.pool_only and isinstance(spec.parse("encoder", encoder), Fittable):
        raise UsageError(f"{where}: pool_only needs an encoder that is not fitted to the collection: {encoder} is")
    if tune == "bm25" and (first in earlier or spec.find("ranker", first.partition("(")[0].strip()) is not BM25):
        raise UsageError(f"{where}: only bm25(...) can be tuned as a first stage. Got {first!r} instead.")
    return PlannedSystem(
        name=name,
        first=first if first in earlier else _text(where, "ranker", first),
        after=first if first in earlier else None,
        rerank=None if rerank.strip().lower() == "none" else _text(where, "reranker", rerank),
        depth=depth,
        splitter=_text(where, "splitter", own.get("splitter", defaults.splitter)),
        analyzer=_text(where, "analyzer", own.get("analyzer", defaults.analyzer)),
        encoder=encoder,
        pool_only=table.pool_only,
        tune=tune,
        folds=table.folds,
        measure=str(parse_measure(own.get("measure") or defaults.target or defaults.measures[0])),
        grid=parse_grid(table.grid),
        on=_elsewhere(where, table.on),
    )


def _with_settings(table: _SystemTable, path: Path) -> _SystemTable:
    """A system from a settings file; the values in the study take precedence."""
    system = read_settings(path)
    return replace(
        table,
        first=table.first or str(system.first),
        rerank=table.rerank or str(system.rerank or NO_RERANKER),
        depth=table.depth or system.depth,
    )


def _with_named(table: _SystemTable, where: str) -> _SystemTable:
    """A system by its name, with the splitter that it is meant for; the values in the study take precedence."""
    if table.settings is not None:
        raise UsageError(f"{where}: name a 'system' or a file of 'settings', not both")
    named = named_system(table.system or "")
    return replace(
        table,
        first=table.first or named.first,
        rerank=table.rerank or named.rerank,
        depth=table.depth or named.depth,
        splitter=table.splitter or named.splitter,
    )


def _tuned(where: str, table: _SystemTable, rerank: str) -> str | None:
    """The kind of tuning, checked; `rerank` is the re-ranker of a system that names none."""
    if table.tune is None:
        for key in ("folds", "on", "grid", "measure"):
            if getattr(table, key) not in (None, {}):
                raise UsageError(f"{where}: {key!r} needs 'tune' too: {_TUNED}")
        return None
    if table.tune not in ("rprs", "bm25", "rerank"):
        raise UsageError(f"{where}: 'tune' must be {_TUNED}. Got {table.tune!r} instead.")
    if (table.folds is None) == (table.on is None):
        raise UsageError(f"{where}: 'tune' needs either 'folds' (cross-validation) or 'on' (another collection)")
    if table.folds is not None and table.folds < 2:
        raise UsageError(f"{where}: 'folds' must be an integer in [2, inf). Got {table.folds} instead.")
    if table.tune == "bm25" and table.rerank not in (None, "none"):
        raise UsageError(f"{where}: a tuned BM25 has no 'rerank': name it as the 'first' of a system after it")
    tune = table.tune if table.tune == "bm25" else _reranker_tuning(where, table.tune, table.rerank or rerank)
    for name in table.grid if tune in _TUNABLE else ():
        require_name(name, _TUNABLE[tune], f"{where}: 'grid'", "parameter")
    try:
        grid = parse_grid(table.grid)
        if tune == "bm25":
            check_grid("first", System(first=FIRST), grid)
        else:
            check_grid("rerank", System(rerank="rprs" if tune == "rprs" else table.rerank or rerank), grid)
    except UsageError as error:
        raise UsageError(f"{where}: 'grid': {error}") from error
    return tune


_TUNED = '"rprs", "bm25" or "rerank"'
_TUNABLE = {"rprs": ["n", "k1", "b", "depth"], "bm25": ["k1", "b", "kli"]}


def _reranker_tuning(where: str, tune: str, rerank: str) -> str:
    """How a re-ranker is tuned: RPRS from neighbours computed once, any other by ranking at every point."""
    if rerank.strip().lower() == "none":
        if tune == "rprs":
            return tune
        raise UsageError(f'{where}: there is no re-ranker to tune: name one, as rerank = "birch"')
    component = spec.parse("reranker", _text(where, "reranker", rerank))
    from_neighbours = isinstance(component, RPRS) and component.form == "full"
    if tune == "rprs" and not from_neighbours:
        raise UsageError(f'{where}: tune = "rprs" is for rprs(...), and {component} is tuned with tune = "rerank"')
    return "rprs" if from_neighbours else "rerank"


def _elsewhere(where: str, options: Any) -> Elsewhere | None:
    if options is None:
        return None
    where = f"{where}: 'on'"
    other = fill(Elsewhere, {"data": options} if isinstance(options, str) else options, where)
    if other.measure:
        parse_measure(other.measure)
    if other.depth < 0:
        raise UsageError(f"{where}: 'depth' must be an integer in [1, inf). Got {other.depth} instead.")
    encoder = _text(where, "encoder", other.encoder) if other.encoder else ""
    return replace(other, first=_text(where, "ranker", other.first), encoder=encoder)


def _text(where: str, kind: spec.Kind, source: str) -> str:
    """The canonical text of a component, independent of white space and defaults."""
    try:
        return spec.text(spec.parse(kind, source))
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error


def _analyses(path: Path, table: dict[str, Any], systems: list[PlannedSystem]) -> tuple[str | None, dict[str, Any]]:
    """The analysed system, and the analyses with their options."""
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
    analyses = {}
    for name, values in options.items():
        require_name(name, ["system", *ANALYSES], where, "analysis")
        if values is not False:
            analyses[name] = fill(ANALYSES[name], {} if values is True else values, f"{where} {name}")
        for system in getattr(analyses.get(name), "systems", ()):
            require_name(system, names, f"{where} {name}", "system")
    if "length_bias" in analyses and "relevant" in names:
        raise UsageError(f"{where} length_bias: a system cannot be called 'relevant', which names a curve: rename it")
    needing = {"ablation", "sensitivity", "ties", "units", "truncation", "depth"} & set(analyses)
    if needing and subject is None:
        raise UsageError(f"{where}: {sorted(needing)[0]} needs a system that re-ranks with rprs(...)")
    return subject, analyses
