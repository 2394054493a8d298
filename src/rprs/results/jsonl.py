"""Hits as JSON lines, as `rprs search --format jsonl` prints them, after one line with their provenance."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rprs.results.hits import Hit
from rprs.results.serialize import About, hit_object

__all__ = ["write"]


def write(hits: Sequence[Hit], about: About) -> str:
    """`{"about": …}`, then one object per hit."""
    objects = [{"about": about.object()}, *(hit_object(hit, about.query) for hit in hits)]
    return "".join(json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n" for value in objects)
