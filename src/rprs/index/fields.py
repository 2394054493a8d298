"""The metadata fields of an index: for each, how many documents have it, its values and its range."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from rprs.document import Value
from rprs.index.catalog import Catalog

__all__ = ["Field", "metadata_fields"]

MOST_FREQUENT = 30  # values of a field that are listed
MANY = 200  # a field with more distinct values is one to search in, not to choose from

_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?(T.*)?")
_TRUTH = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Field:
    """A metadata field. `least` and `greatest` follow the order of filters: numbers, or texts, as dates are."""

    name: str
    kind: Literal["date", "number", "text"]
    documents: int
    distinct: int
    least: Value
    greatest: Value
    values: tuple[tuple[Value, int], ...]  # with their numbers of documents; empty if there are too many to choose from


def metadata_fields(catalog: Catalog) -> tuple[Field, ...]:
    """The metadata fields of all documents, by name."""
    return tuple(_field(catalog, *row) for row in catalog.metadata_fields())


def _field(
    catalog: Catalog, name: str, documents: int, distinct: int, least: Any, greatest: Any, texts: int, truths: int
) -> Field:
    kind: Literal["date", "number", "text"] = "text"
    if not texts and not truths:
        kind = "number"
    elif texts == documents and _DATE.fullmatch(least) and _DATE.fullmatch(greatest):
        kind = "date"
    rows = catalog.metadata_values(name, MOST_FREQUENT) if distinct <= MANY else []
    values = tuple((_TRUTH.get(type, value), count) for value, type, count in rows)
    return Field(name, kind, documents, distinct, least, greatest, values)
