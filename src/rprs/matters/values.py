"""What a matter consists of. All of it is plain values, so that a file holds exactly this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rprs.document import Document
from rprs.rank.steering import NO_MARKS, Marks

__all__ = ["Collection", "Matter", "Search", "Settings"]


@dataclass(frozen=True, slots=True)
class Collection:
    """The index that a search was saved with."""

    name: str  # of its folder
    fingerprint: str
    documents: int
    path: str = ""  # where it was; empty if it was saved in the web interface


@dataclass(frozen=True, slots=True)
class Settings:
    """The arguments of a search."""

    k: int = 10
    where: str | None = None
    before: str | None = None
    undated: Literal["keep", "drop"] = "keep"
    keep_self: bool = False
    exclude: tuple[str, ...] = ()
    group: bool = True
    boilerplate: bool = True


@dataclass(frozen=True, slots=True)
class Search:
    """A query with what the user marked, wrote and hid.

    The query consists of documents with their texts, and then of documents of the collection by their ids. Marks on
    sentences are ranges of the combined text, and hold for a text with the hash `query_hash`.
    """

    name: str
    collection: Collection
    documents: tuple[Document, ...] = ()
    ids: tuple[str, ...] = ()
    query_hash: str = ""
    marks: Marks = NO_MARKS
    hidden: tuple[str, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)  # by the id of a result
    tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by the id of a result
    settings: Settings = Settings()
    view: Mapping[str, Any] = field(default_factory=dict)  # how the web interface shows it


@dataclass(frozen=True, slots=True)
class Matter:
    """Searches that belong together. `revision` counts how often the file was saved."""

    id: str
    name: str
    created: str  # ISO 8601, in UTC
    saved: str = ""
    revision: int = 0
    notes: str = ""
    tags: tuple[str, ...] = ()
    searches: tuple[Search, ...] = ()
