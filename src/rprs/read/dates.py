"""Dates as documents write them → `2016-03-31`, which sorts and compares as text."""

from __future__ import annotations

import re
from datetime import date
from email.utils import parsedate

__all__ = ["iso_date"]

_DATE = re.compile(r"(?:D:)?(\d{4})(?:([-/.]?)(\d\d)\2(\d\d))(?!\d{1,3}$)")


def iso_date(text: str) -> str:
    """The day of an ISO, PDF or e-mail date, or nothing if it is none of these."""
    match = _DATE.match(text.strip())
    mailed = None if match else parsedate(text)
    parts = (match[1], match[3], match[4]) if match else mailed[:3] if mailed else ()
    try:
        return date(*map(int, parts)).isoformat() if parts else ""
    except ValueError:
        return ""
