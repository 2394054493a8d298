"""The file formats of a coverage chart."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from rprs.charts import csv_chart, word
from rprs.charts.serialize import chart_object
from rprs.charts.values import Chart
from rprs.errors import UsageError
from rprs.results.serialize import About
from rprs.results.word import MEDIA_TYPE

__all__ = ["CHART_FORMATS", "ChartFormat", "format_of"]


@dataclass(frozen=True, slots=True)
class ChartFormat:
    """A file format; `write` returns the bytes of the file."""

    name: str
    suffix: str
    media_type: str
    write: Callable[[Chart, About | None], bytes]


def _csv(chart: Chart, about: About | None) -> bytes:
    return csv_chart.write(chart, about).encode("utf-8-sig", "replace")  # spreadsheets need the mark to see UTF-8


def _json(chart: Chart, about: About | None) -> bytes:
    head = {"about": about.object()} if about else {}
    return json.dumps({**head, **chart_object(chart)}, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")


CHART_FORMATS: Mapping[str, ChartFormat] = {
    format.name: format
    for format in (
        ChartFormat("docx", ".docx", MEDIA_TYPE, word.write),
        ChartFormat("csv", ".csv", "text/csv", _csv),
        ChartFormat("json", ".json", "application/json", _json),
    )
}


def format_of(path: str | PurePath) -> ChartFormat:
    """The format that the suffix of a file names."""
    if not isinstance(path, str | PurePath):
        raise UsageError(f"The name of a file must be a text or a path. Got {path!r:.80} instead.")
    suffix = PurePath(path).suffix.lower()
    format = CHART_FORMATS.get(suffix.removeprefix("."))
    if format is None:
        listed = ", ".join(each.suffix for each in CHART_FORMATS.values())
        raise UsageError(f"The suffix of a chart must be one of {listed}. Got {suffix!r} in {str(path)!r:.200}")
    return format
