"""Charts in words, the same on the command line and in the Word file."""

from __future__ import annotations

from rprs.charts.values import Chart, Cover, Row
from rprs.results.passages import SIGNS, describe_pair

__all__ = ["describe_cover", "gap_sentence"]


def describe_cover(row: Row, cover: Cover) -> str:
    """How a source covers a row: `± reworded, 92% of words`, `= identical, 12 of 40 words, boilerplate`."""
    part = "" if cover.words >= row.words else f", {cover.words:,} of {row.words:,} words"
    return f"{SIGNS[cover.kind]} {describe_pair(cover)}{part}{', boilerplate' if cover.boilerplate else ''}"


def gap_sentence(chart: Chart) -> str:
    """How many rows no source covers, without a full stop."""
    gaps, rows = len(chart.gaps), len(chart.rows)
    what = "sentence" if all(group.claim is None for group in chart.groups) else "row"
    if not gaps:
        return f"Every {what} has a source, but for boilerplate"
    return f"{gaps:,} of {rows:,} {what}s {'has' if gaps == 1 else 'have'} no source"
