"""The settings of an index are fixed when it is created: asking for other ones raises `IndexMismatch`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rprs import spec
from rprs.errors import IndexMismatch
from rprs.index.catalog import Catalog
from rprs.scoring.vectors import VectorType

__all__ = ["check_settings"]


def check_settings(
    path: Path,
    catalog: Catalog,
    components: dict[spec.Kind, Any],
    phrases: bool | None,
    vectors: VectorType | None,
) -> None:
    """Compare what a caller asks for with what the index was made with; None, or no component, asks for nothing."""
    for kind, component in components.items():
        stored, text = str(catalog.setting(kind)), spec.text(component, full=True)
        if text != spec.text(spec.parse(kind, stored), full=True):  # which may lack a parameter that was added later
            raise IndexMismatch(
                f"{path} was made with the {kind} {stored}, not {text}: leave the option out, or make a new index"
            )
    if phrases is not None and phrases != catalog.phrases:
        advice = f"run `rprs upgrade {path}`" if phrases else "leave the option out"
        state = "without" if phrases else "with"
        raise IndexMismatch(f"{path} was made {state} phrases: {advice}, or make a new index")
    if vectors is not None and vectors != catalog.vectors:
        raise IndexMismatch(
            f"{path} stores its vectors as {catalog.vectors}, not {vectors}: leave the option out, or make a new index"
        )
