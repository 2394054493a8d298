"""The result of an analysis: a section of the report, and the same numbers for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rprs.evaluation.evaluate import Evaluation, totals
from rprs.evaluation.measures import Measure
from rprs.evaluation.table import Table
from rprs.studies.figures import Picture
from rprs.studies.report import Section

__all__ = ["DIGITS", "Finding", "score_table", "scores", "trend"]

DIGITS = 3  # decimals of a measure in tables, as in most tables of the paper


@dataclass(frozen=True)
class Finding:
    """The result of one analysis. The names of tables and pictures are those of their files."""

    title: str
    text: tuple[str, ...]
    data: Mapping[str, Any]  # for results.json
    tables: Mapping[str, Table] = field(default_factory=dict)
    pictures: tuple[Picture, ...] = ()

    @property
    def section(self) -> Section:
        """The section of the report."""
        return Section(self.title, self.text, tuple(self.tables.values()), self.pictures)


def scores(evaluation: Evaluation, measures: Iterable[Measure] | None = None) -> dict[str, float]:
    """The values over all queries, by the name of the measure."""
    return {str(measure): evaluation.total(measure) for measure in measures or evaluation.parts}


def score_table(
    title: str, label: str, rows: Mapping[str, Evaluation], measures: Sequence[Measure] | None = None
) -> Table:
    """One row per evaluation; the best of each column is bold."""
    named = [replace(evaluation, name=name) for name, evaluation in rows.items()]
    table = totals(named, measures or list(named[0].parts), title, DIGITS)
    return replace(table, header=(label, *table.header[1:]))


def trend(
    name: str, title: str, text: tuple[str, ...], label: str, rows: Mapping[str, Evaluation], picture: Picture
) -> Finding:
    """An analysis of one setting: one row per value, and a line chart."""
    return Finding(
        title=title,
        text=text,
        data={row: scores(evaluation) for row, evaluation in rows.items()},
        tables={name: score_table(title, label, rows)},
        pictures=(picture,),
    )
