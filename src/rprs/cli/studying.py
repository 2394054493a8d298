"""The verb that runs a study: a TOML file in, a results folder out."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rprs.cli.messages import Messages, counted
from rprs.cli.options import Before, Exclude, Undated, UndatedDocuments
from rprs.errors import UsageError

if TYPE_CHECKING:
    from rprs.studies.plan import Plan


StudyFiles = Annotated[
    list[Path], typer.Argument(metavar="STUDY.toml", help="The studies, one TOML file each.", show_default=False)
]
ResultsFolder = Annotated[
    Path, typer.Option("--to", help="The folder for the results; each study gets a subfolder.", metavar="FOLDER")
]
DataFolder = Annotated[
    Path | None,
    typer.Option(
        "--data",
        help="The folder of the collections.",
        show_default="$RPRS_DATA, or the folder of the study",
        metavar="FOLDER",
    ),
]
CacheFolder = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        help="The folder for intermediate results; several studies may share it.",
        show_default=".cache in --to",
        metavar="FOLDER",
    ),
]
Parts = Annotated[
    str, typer.Option("--only", help='Only these parts, separated by commas: "systems,ablation".', metavar="PARTS")
]
PublishedFolder = Annotated[
    Path | None,
    typer.Option(
        "--publish",
        help="Also write the runs, compressed and with ir_metadata headers, and the scores of each query there.",
        show_default=False,
        metavar="FOLDER",
    ),
]
ListOnly = Annotated[bool, typer.Option("--list", help="Print the systems and analyses of the studies, and exit.")]
VerboseSteps = Annotated[
    bool, typer.Option("--verbose", help="Print every step, and whether it was computed now or before.")
]


def study(
    context: typer.Context,
    files: StudyFiles,
    to: ResultsFolder = Path("results"),
    data: DataFolder = None,
    cache: CacheFolder = None,
    only: Parts = "",
    exclude: Exclude = None,
    before: Before = None,
    undated: UndatedDocuments = Undated.keep,
    publish: PublishedFolder = None,
    list_only: ListOnly = False,
    verbose: VerboseSteps = False,
) -> None:
    """Evaluate systems on a collection, analyse them, and write a report.

    A TOML file names the collection, the systems and the analyses. The results are runs, scores per query, tables
    (Markdown, LaTeX, CSV), figures (PNG, SVG), a report in HTML, and all numbers in results.json. Steps that were
    computed before are not computed again, and an interrupted study resumes.

    Example: rprs study experiments/peps.toml --to results --data collections
    """
    from rprs.studies.plan import read_plan
    from rprs.studies.study import data_folder
    from rprs.studies.study import study as run_study

    messages: Messages = context.obj
    plans = [read_plan(path) for path in files]
    names = [plan.name for plan in plans]
    if len(set(names)) < len(names):
        raise UsageError("Two studies have the same name and so the same results folder: rename one")
    if list_only:
        for plan in plans:
            _print_plan(plan, data_folder(plan, data))
        return
    parts = [part.strip() for part in only.split(",") if part.strip()]
    for plan in plans:
        started, counts = perf_counter(), Counter[bool]()
        report = partial(_count_step, counts, messages if verbose else None)
        options: dict[str, Any] = {"data": data, "cache": cache, "only": parts, "exclude": exclude, "report": report}
        limit: dict[str, Any] = {"before": before, "undated": undated.value}
        folder = run_study(plan, to, publish=publish, progress=messages.progress, **limit, **options)
        typer.echo(folder / "report.html")
        seconds = perf_counter() - started
        messages.print(
            f"{plan.title}: {counted(counts[True], 'step')} computed, {counts[False]:,} reused, in {seconds:.1f} s"
        )


def _count_step(counts: Counter[bool], messages: Messages | None, step: str, computed: bool, about: str) -> None:
    """Count a step and, with --verbose, print it."""
    counts[computed] += 1
    if messages is not None:
        messages.print(f"{'computed' if computed else 'reused'} {step}: {about}")


def _print_plan(plan: Plan, base: Path) -> None:
    """The name, the systems and the analyses of a study."""
    typer.echo(f"{plan.name}: {plan.title}, {plan.data} in {base}")
    for system in plan.systems:
        tuned = {"bm25": "bm25, tuned", "rerank": f"{system.rerank}, tuned", "rprs": "rprs, tuned"}
        how = tuned[system.tune] if system.tune else system.rerank or "no re-ranker"
        typer.echo(f"  {system.name}: {system.first} → {how}, depth {system.depth}")
    if plan.analyses:
        typer.echo(f"  analyses: {', '.join(plan.analyses)}")
