"""What metadata an index has: for each field how many documents, which values, from where to where."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from rprs.document import Value

__all__ = ["Field", "fields_of"]

SHOWN = 30  # values of a field, the most frequent
MANY = 200  # a field with more values is one to search in, not to choose from

_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?(T.*)?")
# An integer of hundreds of digits is infinite to SQLite, and nothing to choose from.
_LIVE = """
FROM documents, json_each(documents.metadata) AS pair
WHERE removed = 0 AND pair.value IS NOT NULL AND pair.value NOT IN (9e999, -9e999)
"""
_FIELDS = f"""
SELECT pair.key, count(*), count(DISTINCT pair.value), min(pair.value), max(pair.value),
       sum(typeof(pair.value) = 'text'), sum(pair.type IN ('true', 'false')) {_LIVE} GROUP BY pair.key ORDER BY pair.key
"""
_VALUES = f"""
SELECT pair.value, pair.type, count(*) AS many {_LIVE} AND pair.key = ?
GROUP BY pair.value, pair.type ORDER BY many DESC, pair.value LIMIT {SHOWN}
"""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the metadata. `least` and `greatest` are in the order of a filter: numbers, or texts as dates are."""

    name: str
    kind: Literal["date", "number", "text"]
    documents: int
    distinct: int
    least: Value
    greatest: Value
    values: tuple[tuple[Value, int], ...]  # none where there are too many to choose from


def fields_of(rows: Callable[..., list[Any]]) -> tuple[Field, ...]:
    """The fields of all live documents; `rows` asks the catalog."""
    return tuple(_field(rows, *row) for row in rows(_FIELDS))


def _field(
    rows: Callable[..., list[Any]],
    name: str,
    documents: int,
    distinct: int,
    least: Any,
    greatest: Any,
    texts: int,
    truths: int,
) -> Field:
    kind: Literal["date", "number", "text"] = "text"
    if not texts and not truths:
        kind = "number"
    elif texts == documents and _DATE.fullmatch(least) and _DATE.fullmatch(greatest):
        kind = "date"
    values = rows(_VALUES, name) if distinct <= MANY else []
    shown = tuple((value if type not in ("true", "false") else type == "true", many) for value, type, many in values)
    return Field(name, kind, documents, distinct, least, greatest, shown)
