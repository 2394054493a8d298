"""A row of the table, the goal it is held against, and how rows are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

__all__ = ["Goal", "Row", "as_json", "as_table", "seconds", "size"]


@dataclass(frozen=True, slots=True)
class Goal:
    """What a ratio should be: at most, or at least, so much."""

    bound: float
    at_least: bool = False

    def met(self, ratio: float) -> bool:
        """Whether a measured ratio is good enough."""
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


def as_table(rows: Sequence[Row]) -> Table:
    """All rows for a terminal."""
    table = Table(title="rprs and its peers: ratio = ours / theirs", title_justify="left")
    for heading in ("part", "what", "ours", "peer", "theirs"):
        table.add_column(heading, overflow="fold")
    for heading in ("ratio", "goal", ""):
        table.add_column(heading, justify="right", no_wrap=True)
    marks = {True: "[green]✓[/]", False: "[red]✗[/]", None: ""}
    for place, row in enumerate(rows):
        if place and rows[place - 1].part != row.part:
            table.add_section()
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}×"
        theirs = f"[yellow]missing: {row.missing}[/]" if row.missing else row.theirs
        goal = "" if row.goal is None else str(row.goal)
        table.add_row(row.part, row.what, row.ours, row.peer, theirs, ratio, goal, marks[row.met])
    return table


def as_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """All rows as plain values."""
    return [{**asdict(row), "met": row.met} for row in rows]


def seconds(value: float) -> str:
    """A time in the unit that suits it."""
    return f"{value * 1e3:.3g} ms" if value < 0.9995 else f"{value:.3g} s"


def size(value: float) -> str:
    """A number of bytes in the unit that suits it."""
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} GB"
