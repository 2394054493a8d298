"""The verb that makes a whole study from one file."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from rprs.cli.talk import Talk, counted
from rprs.errors import UsageError

if TYPE_CHECKING:
    from rprs.studies.plan import Plan


def study(
    context: typer.Context,
    files: Annotated[
        list[Path], typer.Argument(metavar="STUDY.toml", help="What to study, a file each.", show_default=False)
    ],
    to: Annotated[
        Path, typer.Option("--to", help="Where the results go: a folder for each study.", metavar="FOLDER")
    ] = Path("results"),
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            help="Where the collections are. Without it, $RPRS_DATA, or else beside the study.",
            metavar="FOLDER",
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            "--cache",
            help="Where steps are kept; several studies may share it. Without it, .cache in --to.",
            metavar="FOLDER",
        ),
    ] = None,
    only: Annotated[
        str, typer.Option("--only", help='Some parts alone, with commas: "systems,ablation".', metavar="PARTS")
    ] = "",
    listed: Annotated[bool, typer.Option("--list", help="Say what the studies consist of, and stop.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Name every step: made now, or kept from before.")] = False,
) -> None:
    """Measure systems on a collection, analyse them, and report.

    A file of TOML names the collection, the systems and the analyses. The results are runs, scores of every query,
    tables (Markdown, LaTeX, CSV), figures (PNG, SVG), one report in HTML, and all numbers in results.json. What was
    computed before is not computed again, and an interrupted study goes on where it stopped.

    Example: rprs study experiments/peps.toml --to results --data collections
    """
    from rprs.studies.plan import read_plan
    from rprs.studies.study import data_folder
    from rprs.studies.study import study as run_study

    talk: Talk = context.obj
    plans = [read_plan(path) for path in files]
    names = [plan.name for plan in plans]
    if len(set(names)) < len(names):
        raise UsageError("Two studies have the same name, and would have the same folder of results: rename one")
    if listed:
        for plan in plans:
            _print(plan, data_folder(plan, data))
        return
    parts = [part.strip() for part in only.split(",") if part.strip()]
    for plan in plans:
        started, counts = perf_counter(), Counter[bool]()
        report = partial(_tell_step, talk if verbose else None, counts)
        folder = run_study(plan, to, data=data, cache=cache, only=parts, progress=talk.progress, report=report)
        typer.echo(folder / "report.html")
        seconds = perf_counter() - started
        talk.say(f"{plan.title}: {counted(counts[True], 'step')} made, {counts[False]:,} kept, in {seconds:.1f} s")


def _tell_step(talk: Talk | None, counts: Counter[bool], step: str, made: bool, about: str) -> None:
    """Count a step and, to who wants to know, name it."""
    counts[made] += 1
    if talk is not None:
        talk.say(f"{'made' if made else 'kept'} {step}: {about}")


def _print(plan: Plan, base: Path) -> None:
    """A study in a few lines."""
    typer.echo(f"{plan.name}: {plan.title}, {plan.data} in {base}")
    for system in plan.systems:
        tuned = {"bm25": "bm25, tuned", "rerank": f"{system.rerank}, tuned", "rprs": "rprs, tuned"}
        how = tuned[system.tune] if system.tune else system.rerank or "no re-ranker"
        typer.echo(f"  {system.name}: {system.first} → {how}, depth {system.depth}")
    if plan.analyses:
        typer.echo(f"  analyses: {', '.join(plan.analyses)}")
