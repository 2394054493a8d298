"""Checks of the arguments of `Index` and `Writer`: a wrong one raises a `UsageError` of one line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from rprs import spec
from rprs.document import Document
from rprs.errors import UsageError
from rprs.scoring.vectors import VECTOR_TYPES, VectorType

__all__ = [
    "index_path",
    "parse_components",
    "require_choice",
    "require_count",
    "require_document",
    "require_vector_type",
    "settings_of",
]

COMPONENTS: tuple[spec.Kind, ...] = ("splitter", "analyzer", "encoder")


def index_path(path: Any) -> Path:
    """The path of an index."""
    if not isinstance(path, str | os.PathLike) or not str(path):
        raise UsageError(f"The path of an index must be a string or a Path. Got {path!r:.80} instead.")
    return Path(path)


def require_count(name: str, value: Any, least: int) -> int:
    """An integer that is at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise UsageError(f"{name} must be an integer in [{least}, inf). Got {value!r:.80} instead.")
    return int(value)


def require_document(value: Any) -> Document:
    """A document, not the text or path of one."""
    if not isinstance(value, Document):
        raise UsageError(f"Expected a rprs.Document; read a file with rprs.read_one(path). Got {value!r:.80}")
    return value


def parse_components(splitter: Any, analyzer: Any, encoder: Any) -> dict[spec.Kind, Any]:
    """The components by kind, from components or texts such as "onnx(precision=fp32)"; None leaves one out."""
    values = dict(zip(COMPONENTS, (splitter, analyzer, encoder), strict=True))
    return {kind: _component(kind, value) for kind, value in values.items() if value is not None}


def _component(kind: spec.Kind, value: Any) -> Any:
    if isinstance(value, str):
        return spec.parse(kind, value)
    if isinstance(value, type) or kind not in getattr(value, "kinds", ()):
        example = spec.DEFAULT[kind]
        raise UsageError(f"The {kind} must be a text such as {example!r} or a component. Got {value!r:.80} instead.")
    return value


def settings_of(components: dict[spec.Kind, Any], phrases: bool, vectors: VectorType) -> dict[str, str]:
    """The settings of a new index: the full texts of all components, with defaults for those left out.

    The type of the vectors is a setting only if it is not float16, the type of all indexes without that setting.
    """
    complete = {kind: components.get(kind) or spec.parse(kind, spec.DEFAULT[kind]) for kind in COMPONENTS}
    texts = {str(kind): spec.text(component, full=True) for kind, component in complete.items()}
    own_type = {} if vectors == "float16" else {"vectors": vectors}
    return {**texts, "phrases": "yes" if phrases else "no", **own_type}


def require_vector_type(value: Any) -> VectorType:
    """The name of a type that vectors can be stored as."""
    for name in VECTOR_TYPES:
        if isinstance(value, str) and value == name:
            return name
    raise UsageError(f"vectors must be {' or '.join(VECTOR_TYPES)}. Got {value!r:.80} instead.")


def require_choice(name: str, value: Any) -> bool:
    """True or False, and nothing else."""
    if not isinstance(value, bool | np.bool_):
        raise UsageError(f"{name} must be True or False. Got {value!r:.80} instead.")
    return bool(value)
