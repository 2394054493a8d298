"""Dates in documents → ISO dates such as `2016-03-31`, which sort and compare as text; and dates to be compared."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate

__all__ = ["Period", "iso_date", "parse_period"]

_DATE = re.compile(r"(?:D:)?(\d{4})(?:([-/.]?)(\d\d)\2(\d\d))(?!\d{1,3}$)")
_PERIOD = re.compile(r"(\d{4})(?:([-/.])(\d{1,2})(?:\2(\d{1,2}))?)?")
_DAY = re.compile(r"(\d{4})(\d\d)(\d\d)")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)? ?(Z|[-+]\d\d(:?\d\d)?)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso_date(text: str) -> str:
    """The day of an ISO, PDF or e-mail date as an ISO date; an empty text if it is none of these."""
    match = _DATE.match(text.strip())
    email_date = None if match else parsedate(text)
    parts = (match[1], match[3], match[4]) if match else email_date[:3] if email_date else ()
    try:
        return date(*map(int, parts)).isoformat() if parts else ""
    except ValueError:
        return ""


@dataclass(frozen=True, slots=True)
class Period:
    """A date as far as it is given: a year, a month, a day, or a day with a time."""

    first: int  # day, counted as `date.toordinal` does
    last: int
    instant: int | None  # microseconds since 1970 in UTC, if there is a time; without a time zone it counts as UTC
    text: str  # in ISO format

    @property
    def end(self) -> tuple[int, float]:
        """Orders periods by their last moment."""
        return self.last, float("inf") if self.instant is None else self.instant


def parse_period(value: object) -> Period | None:
    """The date in a metadata value, such as `2015`, `2015-06`, `2015-06-01` or `2015-06-01T12:00Z`; None without one.

    `20150601` is a date, also as a number. A month or day 00 is unknown. Of PDF and e-mail dates, the day counts.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # of a column with gaps
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    if isinstance(value, int) and not 1000 <= value <= 99_991_231:
        return None
    text = str(value).strip()
    match = _DAY.fullmatch(text) or _PERIOD.fullmatch(text)
    try:
        if _TIME.fullmatch(text):
            return _moment(datetime.fromisoformat(text.replace(" ", "T", 1).replace(" ", "")))
        if match:
            return _period(*(int(part) for part in match.groups() if part and part.isdecimal()))
    except (ValueError, OverflowError):
        pass
    day = iso_date(text) if isinstance(value, str) and re.search(r"\d{4}", text) else ""
    return _period(*map(int, day.split("-"))) if day else None


def _period(year: int, month: int = 0, day: int = 0) -> Period:
    if not month and day:
        raise ValueError("a day without a month")
    first = date(year, month or 1, day or 1)
    last = date(year, month or 12, day or monthrange(year, month or 12)[1])
    return Period(first.toordinal(), last.toordinal(), None, first.isoformat()[: 10 if day else 7 if month else 4])


def _moment(moment: datetime) -> Period:
    instant = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    day = moment.date().toordinal()
    return Period(day, day, (instant - _EPOCH) // timedelta(microseconds=1), moment.isoformat())
