"""The system that a command uses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rprs.errors import UsageError

if TYPE_CHECKING:
    from rprs.rank import System

__all__ = ["selected_system"]


def selected_system(context: typer.Context, settings: Path | None) -> System:
    """The system from a command's options, then from its settings file or the name of a system, then the default."""
    from rprs.rank import System
    from rprs.tuning.settings import read_settings

    name = context.params.get("system")
    if name and settings is not None:
        raise UsageError("Choose the system by --system or by --settings, not by both")
    system = read_settings(settings) if settings is not None else System.named(name or "default")
    names = [name for name in ("first", "rerank", "depth") if name in context.params and _is_explicit(context, name)]
    return system.changed(**{name: context.params[name] for name in names})


def _is_explicit(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"
