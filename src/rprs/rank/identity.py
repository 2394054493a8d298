"""What the ranking of a component depends on besides its parameters, as a key for caches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from rprs import spec
from rprs.encode.models import model_files
from rprs.files.cache import Cache
from rprs.rank.fuse import run_files

__all__ = ["identity"]


def identity(component: Any, cache: Cache) -> dict[str, Any] | None:
    """The full text of a component with the hashes of the weights and run files that it reads.

    Weights count whether they are named by folder or by name. A component without a text form has no identity: nothing
    that depends on it can be cached.
    """
    if component is None:
        return {"component": None}
    if not is_dataclass(component) or not hasattr(component, "name"):
        return None
    weights = {model: cache.contents(model_files(model)) for model in _models(component)}
    runs = {file.path: cache.contents([Path(file.path)]) for file in run_files(component) if Path(file.path).is_file()}
    key: dict[str, Any] = {"component": spec.text(component, full=True)}
    return key | ({"weights": weights} if weights else {}) | ({"runs": runs} if runs else {})


def _models(component: Any) -> Iterator[str]:
    """The models that a component and its parts name."""
    for each in fields(component):
        value = getattr(component, each.name)
        if is_dataclass(value):
            yield from _models(value)
        elif each.name == "model" and value:
            yield value
