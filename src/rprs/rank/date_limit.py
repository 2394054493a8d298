"""Date limits: nothing newer than the query document, or than a given date.

    date                  nothing newer than the query, by the metadata field `date` of both
    2015-06-01            nothing newer than this date, by the metadata field `date`
    decided=2015-06-01    the same by the field `decided`

Only documents that are certainly newer are left out. Dates are compared as far as both are given, so a document of 2015
is not newer than a query of 2015-06-01, nor is one of the same day.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal, get_args

from rprs.document import Document, Value
from rprs.errors import UsageError
from rprs.index import Index
from rprs.index.dates import Dates
from rprs.read.dates import Period, parse_period

__all__ = ["DateLimit", "Undated", "as_date_limit"]

Undated = Literal["keep", "drop"]
FIELD = "date"  # where readers store the date of a document
_YEAR = re.compile(r"\d{4}")
_DATE_LIKE = re.compile(r"\d{4}[-/.]\d")


@dataclass(frozen=True, slots=True)
class DateLimit:
    """Nothing newer than a date in a metadata field: the query's own, or a given one."""

    field: str
    given: Period | None = None  # None: the query's own
    undated: Undated = "keep"  # what happens to documents without a date

    def __str__(self) -> str:
        return self.field if self.given is None else f"{self.field}={self.given.text}"

    def period(self, query: Sequence[Document]) -> Period:
        """The limit for a query: the given date, or the earliest of its documents' dates."""
        if self.given is not None:
            return self.given
        values = [document.metadata.get(self.field) for document in query]
        periods = [period for period in map(parse_period, values) if period is not None]
        if not periods:
            raise UsageError(f"The date limit needs a date of the query: {self._problem(query, values)}")
        return min(periods, key=lambda period: period.end)

    def _problem(self, query: Sequence[Document], values: Sequence[Value]) -> str:
        advice = f"; give a date instead, as in {self.field}=2015-06-01"
        for document, value in zip(query, values, strict=True):
            if value not in (None, ""):
                return f"{self.field!r} of {document.id!r:.80} is {value!r:.40}, which is not a date{advice}"
        return f"{query[0].id!r:.80} has no {self.field!r}{advice}"

    def resolved(self, query: Sequence[Document]) -> str:
        """The text of the same limit without the query's metadata: `date=2015-06-01`."""
        return f"{self.field}={self.period(query).text}"

    def dates(self, index: Index) -> Dates:
        """The dates of the documents; it is an error if none has a date in the field."""
        dates = index.dates(self.field)
        if len(index) and dates.undated.all():
            raise self.no_effect(index)
        return dates

    def no_effect(self, index: Index) -> UsageError:
        """The error where no document has a date in the field."""
        others = [field.name for field in index.fields if field.kind == "date"]
        hint = f"; fields with dates: {', '.join(others)}" if others else ""
        return UsageError(f"The date limit has no effect: no document has a date in {self.field!r:.80}{hint}")


def as_date_limit(before: str | date | None, undated: Undated = "keep") -> DateLimit | None:
    """The limit that `before` and `undated` describe; None if there is none."""
    if undated not in get_args(Undated):
        raise UsageError(f"'undated' must be {' or '.join(get_args(Undated))}. Got {undated!r:.80} instead.")
    if before is None:
        if undated != "keep":
            raise UsageError(
                f"'undated' is for documents without a date under a date limit: {undated!r} needs 'before'"
            )
        return None
    text: object = before.isoformat() if isinstance(before, date) else before
    if not isinstance(text, str) or not text.strip():
        raise UsageError(f"The date limit must be a metadata field or a date, as in 2015-06-01. Got {before!r:.80}")
    field, separator, day = text.strip().rpartition("=")
    given = parse_period(day) if _YEAR.match(day) else None
    if given is None and not separator and not _DATE_LIKE.match(day):
        return DateLimit(day, None, undated)
    if given is None or (separator and not field.strip()):
        raise UsageError(
            f"The date limit {text!r:.80} is wrong: expected a field, a date, or both, as in decided=2015-06-01"
        )
    return DateLimit(field.strip() or FIELD, given, undated)
