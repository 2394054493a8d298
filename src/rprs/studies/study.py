"""The function behind `rprs study`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from rprs import __version__
from rprs.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from datetime import date

    from rprs.progress import Progress
    from rprs.rank.date_limit import Undated
    from rprs.studies.plan import Plan
    from rprs.studies.systems import Study

__all__ = ["data_folder", "parts", "study"]


def parts(plan: Plan) -> list[str]:
    """The parts of a study: the systems table and its analyses."""
    return ["systems", *plan.analyses]


def data_folder(plan: Plan, data: Path | None = None) -> Path:
    """The folder that holds the collections: `data`, else RPRS_DATA, else the folder of the study."""
    return data or Path(os.environ.get("RPRS_DATA") or plan.folder)


def study(
    plan: str | Path | Plan,
    to: str | Path,
    *,
    data: str | Path | None = None,
    cache: str | Path | None = None,
    only: Sequence[str] = (),
    exclude: str | PurePath | Mapping[str, Iterable[str]] | None = None,
    before: str | date | None = None,
    undated: Undated = "keep",
    publish: str | Path | None = None,
    progress: Progress | bool | None = None,
    report: Callable[[str, bool, str], None] = lambda _step, _computed, _about: None,
) -> Path:
    """Compute the results of a study, a TOML file or a plan read from one; returns the results folder, `to`/name.

    `only` names parts of it: "systems" and analyses. `exclude` maps queries to documents that must not be ranked for
    them, as a mapping or as a table; by default, the collection's own exclusions apply. A date limit (`before`, as in
    `Searcher.search`) replaces that of the TOML file. `publish` is another folder for the runs, compressed and with a
    header that describes how they were made, and for the scores of each query. `report` is called once for every step
    with its name, whether it had to be computed, and a description. A step that was computed before, by this study or
    by another with the same `cache`, is not computed again.
    """
    from rprs.files.cache import Cache
    from rprs.progress import as_progress
    from rprs.rank.date_limit import as_date_limit
    from rprs.read import read_exclusions
    from rprs.studies.experiment import Experiment, find_collection
    from rprs.studies.plan import Plan, read_plan
    from rprs.studies.systems import Study

    plan, limit = plan if isinstance(plan, Plan) else read_plan(plan), as_date_limit(before, undated)
    plan = replace(plan, limit=limit) if limit else plan
    chosen = _chosen_parts(plan, only)
    if publish is not None:
        _check_publishing(Path(publish), Path(to), chosen)
    if find_spec("matplotlib") is None:
        raise MissingExtra("A study", "matplotlib", "study")
    base = data_folder(plan, None if data is None else Path(data))
    collection = find_collection(plan.data, base, plan.download)
    excluded = None if exclude is None else read_exclusions(exclude)
    steps = Cache(Path(cache or Path(to) / ".cache"), report)
    with Experiment(plan.data, collection, steps, as_progress(progress), excluded, plan.limit) as experiment:
        running = Study(plan, experiment, base)
        running.check()
        _write(running, chosen, Path(to) / plan.name, None if publish is None else Path(publish) / plan.name)
    return Path(to) / plan.name


def _chosen_parts(plan: Plan, only: Sequence[str]) -> list[str]:
    names = parts(plan)
    for name in only:
        if name not in names:
            raise UsageError(f"The study {plan.name} has no part {name!r}: it has {', '.join(names)}")
    return [name for name in names if name in only] if only else names


def _check_publishing(publish: Path, to: Path, chosen: Sequence[str]) -> None:
    if publish.resolve() == to.resolve():
        raise UsageError(f"The runs cannot be published in the folder of the results, {to}: name another folder")
    if "systems" not in chosen:
        raise UsageError("Only the runs of systems can be published: choose the part 'systems', too")


def _write(study: Study, chosen: list[str], folder: Path, publish: Path | None) -> None:
    from rprs.results.run import Run
    from rprs.studies.facts import collection_facts, encoder_facts, report_facts
    from rprs.studies.findings import compute_findings
    from rprs.studies.folder import file_name, per_query_csv, per_query_json, write_results
    from rprs.studies.references import describe_references, references
    from rprs.studies.report import html

    plan = study.plan
    published: dict[str, str] = {}
    evaluations = {}
    if "systems" in chosen:
        for system in plan.systems:
            run = study.rankings(system.name)
            published[f"runs/{file_name(system.name)}.trec"] = Run(run, file_name(system.name)).text
            evaluations[system.name] = study.score_with_judged(run, system.name)
        published["scores.csv"] = per_query_csv(evaluations)
    files: dict[str, str | bytes] = dict(published)
    if evaluations:
        files["scores.json"] = per_query_json(evaluations)
    reference_rows = references(study) if evaluations else {}
    findings = compute_findings(study, chosen, evaluations, reference_rows)
    for finding in findings.values():
        for name, table in finding.tables.items():
            files[f"tables/{name}.md"] = table.markdown()
            files[f"tables/{name}.tex"] = table.latex()
            files[f"tables/{name}.csv"] = table.csv()
        for picture in finding.pictures:
            files[f"figures/{picture.name}.svg"] = picture.svg
            files[f"figures/{picture.name}.png"] = picture.png
    facts, encoders = collection_facts(study), encoder_facts(study)
    sections = [finding.section for finding in findings.values()]
    files["report.html"] = html(plan.title, sections, report_facts(study, facts, encoders))
    numbers = {
        "study": plan.name,
        "title": plan.title,
        "data": plan.data,
        "version": __version__,
        "measures": list(map(str, plan.measures)),
        "target": str(plan.target),
        "collection": facts,
        "encoders": encoders,
        "references": describe_references(study, reference_rows),
        "parts": {name: dict(finding.data) for name, finding in findings.items()},
    }
    write_results(folder, files, numbers)
    if publish is not None:
        from rprs.studies.publish import published_files

        write_results(publish, published_files(study, published), numbers)
