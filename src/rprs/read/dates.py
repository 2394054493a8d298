"""Dates in documents → ISO dates such as `2016-03-31`, which sort and compare as text."""

from __future__ import annotations

import re
from datetime import date
from email.utils import parsedate

__all__ = ["iso_date"]

_DATE = re.compile(r"(?:D:)?(\d{4})(?:([-/.]?)(\d\d)\2(\d\d))(?!\d{1,3}$)")


def iso_date(text: str) -> str:
    """The day of an ISO, PDF or e-mail date as an ISO date; an empty text if it is none of these."""
    match = _DATE.match(text.strip())
    email_date = None if match else parsedate(text)
    parts = (match[1], match[3], match[4]) if match else email_date[:3] if email_date else ()
    try:
        return date(*map(int, parts)).isoformat() if parts else ""
    except ValueError:
        return ""
