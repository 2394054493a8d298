"""What a search leaves out and how it is steered: the arguments that searching in an index and over HTTP share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Unpack

from rprs.document import Document
from rprs.index import Index
from rprs.rank.batch import Allowed, allowed_documents
from rprs.rank.date_limit import DateLimit, Undated, as_date_limit
from rprs.rank.steering import MarkOptions, Marks, as_marks, left_out

__all__ = ["Restrictions", "SearchOptions", "as_restrictions"]


class SearchOptions(MarkOptions, total=False):
    """Keyword arguments that restrict and steer a search; all of them may be left out.

    The marks `like`, `unlike`, `key` and `ignore` are described at `Searcher.search`.
    """

    where: str | None  # a metadata filter
    keep_self: bool  # whether the query itself, by its id or its text, may be a hit; False by default
    exclude: Iterable[str]  # ids of documents that must not be hits
    before: str | date | None  # leave out what is newer than this day, or than the query by this metadata field
    undated: Undated  # "drop" leaves out documents without a date, too; "keep" by default


@dataclass(frozen=True, slots=True)
class Restrictions:
    """The options of a search, checked."""

    where: str | None
    keep_self: bool
    exclude: Iterable[str]
    limit: DateLimit | None
    marks: Marks

    def allowed(self, index: Index, documents: Sequence[Document]) -> Allowed:
        """The documents of an index that may be hits for a query."""
        allowed = allowed_documents(
            index, documents, where=self.where, keep_self=self.keep_self, exclude=self.exclude, limit=self.limit
        )
        allowed.mask[left_out(self.marks, index, self.keep_self)] = False
        return allowed


def as_restrictions(
    where: str | None = None,
    keep_self: bool = False,
    exclude: Iterable[str] = (),
    before: str | date | None = None,
    undated: Undated = "keep",
    **marks: Unpack[MarkOptions],
) -> Restrictions:
    """The options of a search from its keyword arguments; a wrong value is an error."""
    return Restrictions(where, keep_self, exclude, as_date_limit(before, undated), as_marks(**marks))
