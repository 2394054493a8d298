"""Dates in metadata: what is a date, and how much of it is given."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs.read.dates import parse_period


@pytest.mark.parametrize(
    ("value", "first", "last"),
    [
        ("2015", date(2015, 1, 1), date(2015, 12, 31)),
        (2015, date(2015, 1, 1), date(2015, 12, 31)),
        (2015.0, date(2015, 1, 1), date(2015, 12, 31)),
        ("2015-00-00", date(2015, 1, 1), date(2015, 12, 31)),
        ("2016-02", date(2016, 2, 1), date(2016, 2, 29)),
        ("2016-02-00", date(2016, 2, 1), date(2016, 2, 29)),
        ("2015-06-01", date(2015, 6, 1), date(2015, 6, 1)),
        (" 2015/6/1 ", date(2015, 6, 1), date(2015, 6, 1)),
        ("20150601", date(2015, 6, 1), date(2015, 6, 1)),
        (20150601, date(2015, 6, 1), date(2015, 6, 1)),
        ("D:20150601120000Z", date(2015, 6, 1), date(2015, 6, 1)),
        ("Mon, 01 Jun 2015 12:00:00 +0000", date(2015, 6, 1), date(2015, 6, 1)),
        ("2015-06-01T23:30:00-05:00", date(2015, 6, 1), date(2015, 6, 1)),
        ("2015-06-01T25:00", date(2015, 6, 1), date(2015, 6, 1)),
    ],
)
def test_a_date_covers_the_days_that_it_leaves_open(value: Any, first: date, last: date) -> None:
    period = parse_period(value)
    assert period is not None
    assert (date.fromordinal(period.first), date.fromordinal(period.last)) == (first, last)


@pytest.mark.parametrize(
    "value",
    [
        *(None, "", "unknown", "June 2015", "2015-02-30", "2015-13", "2015-00-03", "0000", "201506", "12345"),
        *(True, 7, 1_433_116_800, 10**30, 2015.5, float("inf"), float("nan"), ["2015"], b"2015"),
    ],
)
def test_anything_else_is_not_a_date(value: Any) -> None:
    assert parse_period(value) is None


def test_a_time_is_an_instant_and_without_a_zone_in_utc() -> None:
    noon = datetime(2015, 6, 1, 12, tzinfo=UTC).timestamp() * 1e6
    for text in ("2015-06-01T12:00", "2015-06-01 12:00:00", "2015-06-01T14:00:00+02:00", "2015-06-01 07:00:00.0 -0500"):
        period = parse_period(text)
        assert period is not None
        assert period.instant == noon, text


@given(st.text() | st.integers() | st.floats() | st.dates().map(str) | st.datetimes(timezones=st.just(UTC)).map(str))
def test_the_text_of_a_date_is_the_same_date(value: Any) -> None:
    period = parse_period(value)
    assert period is None or parse_period(period.text) == period
