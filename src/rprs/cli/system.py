"""The system that a command uses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rprs.rank import System

__all__ = ["selected_system"]


def selected_system(context: typer.Context, settings: Path | None) -> System:
    """The system from a command's options, then from its settings file, then from the defaults."""
    from rprs.rank import System
    from rprs.tuning.settings import read_settings

    system = read_settings(settings) if settings is not None else System()
    names = [name for name in ("first", "rerank", "depth") if name in context.params and _is_explicit(context, name)]
    return system.changed(**{name: context.params[name] for name in names})


def _is_explicit(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"
