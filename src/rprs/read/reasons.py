"""Files that were not read, grouped by reason."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rprs.read.source import Skipped

__all__ = ["group_by_reason"]

_DETAILS = re.compile(r"[:;(]| by a document")  # where the part of a reason begins that differs between files


def group_by_reason(items: Iterable[Skipped]) -> list[tuple[str, list[Skipped]]]:
    """The files of each reason, the most frequent first; a reason has its details if all its files share them."""
    groups: dict[str, list[Skipped]] = {}
    for item in items:
        groups.setdefault(_general(item), []).append(item)
    ordered = sorted(groups.values(), key=lambda group: -len(group))
    return [(_reason(group), group) for group in ordered]


def _general(item: Skipped) -> str:
    return _DETAILS.split(item.reason)[0].strip()


def _reason(group: list[Skipped]) -> str:
    full = {item.reason for item in group}
    return full.pop() if len(full) == 1 else _general(group[0])
