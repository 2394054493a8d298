"""Rows of the result table, their goals, and the formats of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.markup import escape
from rich.table import Table

__all__ = ["Goal", "Row", "as_json", "as_markdown", "as_table", "seconds", "size"]

HEADINGS = ("part", "what", "ours", "peer", "theirs", "ratio", "goal", "")


@dataclass(frozen=True, slots=True)
class Goal:
    """An upper or a lower bound of a ratio."""

    bound: float
    at_least: bool = False

    def met(self, ratio: float) -> bool:
        """Whether a measured ratio is within the bound."""
        return ratio >= self.bound if self.at_least else ratio <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.bound:g}×"


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement. `ratio` is ours divided by the peer's, of times or of rates as `what` says."""

    part: str
    what: str
    ours: str
    peer: str = ""
    theirs: str = ""
    ratio: float | None = None
    typical: float | None = None  # the median of the rounds' ratios, where `ratio` is that of the best rounds
    goal: Goal | None = None
    missing: str = ""  # the command that installs a peer which could not be imported

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None where there is no goal or no ratio."""
        return None if self.goal is None or self.ratio is None else self.goal.met(self.ratio)

    def cells(self) -> tuple[str, ...]:
        """The text of each column."""
        theirs = f"missing: {self.missing}" if self.missing else self.theirs
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}×"
        goal = "" if self.goal is None else str(self.goal)
        mark = {True: "✓", False: "✗", None: ""}[self.met]
        return (self.part, self.what, self.ours, self.peer, theirs, ratio, goal, mark)


def as_table(rows: Sequence[Row]) -> Table:
    """All rows for a terminal."""
    table = Table(title="rprs compared with other libraries: ratio = ours / theirs", title_justify="left")
    for heading in HEADINGS[:5]:
        table.add_column(heading, overflow="fold")
    for heading in HEADINGS[5:]:
        table.add_column(heading, justify="right", no_wrap=True)
    for place, row in enumerate(rows):
        if place and rows[place - 1].part != row.part:
            table.add_section()
        style = "red" if row.met is False else "yellow" if row.missing else None
        table.add_row(*map(escape, row.cells()), style=style)
    return table


def as_markdown(rows: Sequence[Row]) -> str:
    """All rows as a Markdown table."""
    lines = [HEADINGS, ("---",) * len(HEADINGS), *(row.cells() for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def as_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """All rows as plain values."""
    return [{**asdict(row), "met": row.met} for row in rows]


def seconds(value: float) -> str:
    """A time in a suitable unit."""
    return f"{value * 1e3:.3g} ms" if value < 0.9995 else f"{value:.3g} s"


def size(value: float) -> str:
    """A number of bytes in a suitable unit."""
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} GB"
