"""The system that a command uses, and the list of those that have a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rprs.cli.options import DocumentFormat
from rprs.errors import UsageError

if TYPE_CHECKING:
    from rprs.rank import System

__all__ = ["selected_system", "systems"]


def selected_system(context: typer.Context) -> System:
    """The system from a command's options, then from its settings file or the name of a system, then the default."""
    from rprs.rank import System
    from rprs.tuning.settings import read_settings

    name, settings = context.params.get("system"), context.params.get("settings")
    if name and settings is not None:
        raise UsageError("Choose the system by --system or by --settings, not by both")
    system = read_settings(settings) if settings is not None else System.named(name or "default")
    names = [name for name in ("first", "rerank", "depth") if name in context.params and _is_explicit(context, name)]
    return system.changed(**{name: context.params[name] for name in names})


def systems(
    format: Annotated[DocumentFormat, typer.Option("--format", help="The format of the list.")] = DocumentFormat.table,
) -> None:
    """List the systems that have a name, with their first stage and re-ranker.

    Use one with --system, or as `system = "paper"` in a study.

    Example: rprs systems --format json
    """
    from dataclasses import asdict

    from rprs.cli.output import print_objects, print_rows
    from rprs.rank.named import NAMED
    from rprs.rank.system import NO_RERANKER

    if format is not DocumentFormat.table:
        return print_objects([asdict(each) for each in NAMED.values()], lines=format is DocumentFormat.jsonl)
    stages = {
        each.name: each.first if each.rerank == NO_RERANKER else f"{each.first} → {each.rerank}"
        for each in NAMED.values()
    }
    return print_rows((each.name, f"{each.about}\n{stages[each.name]}") for each in NAMED.values())


def _is_explicit(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"
