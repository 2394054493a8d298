"""A table that people and programs read: on a terminal, as Markdown, LaTeX, CSV and HTML."""

from __future__ import annotations

import csv
import html
import io
import math
import re
from dataclasses import dataclass
from typing import Any

from rprs.evaluation.frame import data_frame

__all__ = ["Cell", "Figure", "Table"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A number as papers print it, without the zero before the decimal point: `.321†`; the best of a column is bold."""

    value: float
    digits: int = 3
    mark: str = ""
    best: bool = False

    def __str__(self) -> str:
        return self.number + self.mark

    @property
    def number(self) -> str:
        """The number without its mark; a dash for NaN."""
        if not math.isfinite(self.value):
            return "–" if math.isnan(self.value) else str(self.value)
        text = f"{self.value:.{self.digits}f}"
        if not float(text):
            text = text.lstrip("-")
        return re.sub(r"^(-?)0\.", r"\1.", text)


_BLANK = "\ue000"  # stands for a missing mark, to align the columns: rich would trim a space

Cell = str | int | float | None | Figure


@dataclass(frozen=True)
class Table:
    """Rows under a header; the notes explain the marks.

    A bare `float` is printed with four significant digits, `None` as an empty cell. CSV and data frames contain every
    number in full, and neither title, marks nor notes. The rows of `references` stand apart below the others.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    references: tuple[tuple[Cell, ...], ...] = ()

    def __post_init__(self) -> None:
        uneven = [row for row in self._all_rows if len(row) != len(self.header)]
        if uneven:
            raise ValueError(f"a row of {len(uneven[0])} cells under a header of {len(self.header)}: {uneven[0]!r}")

    def markdown(self) -> str:
        """A GitHub table under its title; the first cells of reference rows are in italics."""
        rule = ["---:" if number else "---" for number in self._numeric()]
        lines = [map(_markdown_text, self.header), rule, *(map(_markdown, row) for row in self.rows)]
        lines += [(f"*{_markdown(row[0])}*", *map(_markdown, row[1:])) for row in self.references]
        body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        parts = [f"**{_markdown_text(self.title)}**"] if self.title else []
        notes = "  \n".join(map(_markdown_text, self.notes))  # two spaces end a line
        return "\n\n".join([*parts, body, *([notes] if notes else [])]) + "\n"

    def latex(self) -> str:
        """A `table` that needs no package; title and notes are its caption."""
        columns = "".join("r" if number else "l" for number in self._numeric())
        caption = " ".join(_latex_text(text if text.endswith(".") else f"{text}.") for text in self._caption())
        return "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                *([rf"\caption{{{caption}}}"] if caption else []),
                rf"\begin{{tabular}}{{{columns}}}",
                r"\hline",
                rf"{' & '.join(map(_latex_text, self.header))} \\",
                r"\hline",
                *(rf"{' & '.join(map(_latex, row))} \\" for row in self.rows),
                *([r"\hline"] if self.references else []),
                *(rf"{' & '.join(map(_latex, row))} \\" for row in self.references),
                r"\hline",
                r"\end{tabular}",
                r"\end{table}",
                "",
            ]
        )

    def csv(self) -> str:
        """The header and the rows, every number in full."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(self.header)
        writer.writerows([_raw(cell) for cell in row] for row in self._all_rows)
        return stream.getvalue()

    def html(self) -> str:
        """One `<table>`: cells with numbers have the class `number`, reference rows have a body of their own of the
        class `references`, and the notes are in the footer."""
        head = "".join(map(_html_header, self.header, self._numeric()))
        rows, references = (
            [f"<tr>{''.join(map(_html, row))}</tr>" for row in each] for each in (self.rows, self.references)
        )
        notes = "<br>".join(map(html.escape, self.notes))
        return "\n".join(
            [
                "<table>",
                *([f"<caption>{html.escape(self.title)}</caption>"] if self.title else []),
                f"<thead><tr>{head}</tr></thead>",
                "<tbody>",
                *rows,
                "</tbody>",
                *(['<tbody class="references">', *references, "</tbody>"] if references else []),
                *([f'<tfoot><tr><td colspan="{len(self.header)}">{notes}</td></tr></tfoot>'] if notes else []),
                "</table>",
                "",
            ]
        )

    def to_frame(self) -> Any:
        """A pandas DataFrame with the columns of the header; numbers are in full."""
        columns = self._columns()
        values = [[cell.value if isinstance(cell, Figure) else cell for cell in column] for column in columns]
        return data_frame("to_frame", dict(zip(self.header, values, strict=True)))

    def _repr_html_(self) -> str:
        return self.html()

    def plain(self, width: int | None = None, *, styled: bool = False) -> str:
        """Text for a terminal of that width, or as wide as the rows; `styled` prints the best in bold."""
        from rich.console import Console
        from rich.table import Table as Grid
        from rich.text import Text

        grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for name, number in zip(self.header, self._numeric(), strict=True):
            grid.add_column(Text(name), justify="right" if number else "left", overflow="fold")
        marks = [max(map(len, map(_mark, column)), default=0) for column in self._columns()]
        for place, row in enumerate(self._all_rows):
            if place == len(self.rows):
                grid.add_row()
            padded = [
                _printed(cell) + _BLANK * (room - len(_mark(cell))) for cell, room in zip(row, marks, strict=True)
            ]
            grid.add_row(
                *(Text(text, "bold" if _is_best(cell) else "") for text, cell in zip(padded, row, strict=True))
            )
        stream = io.StringIO()
        console = Console(file=stream, force_terminal=styled, color_system="standard" if styled else None, emoji=False)
        console.width = width or console.measure(grid, options=console.options.update(width=10_000)).maximum
        title = [Text(self.title, "bold")] if self.title else []
        for part in (*title, grid):
            console.print(part)
        for note in self.notes:
            console.print(Text(note, "dim"), soft_wrap=width is None)
        lines = stream.getvalue().replace(_BLANK, " ").splitlines()
        return "\n".join(line.rstrip() for line in lines) + "\n"

    def _numeric(self) -> list[bool]:
        """Which columns hold numbers, and nothing else but empty cells."""
        return [
            any(_is_number(cell) for cell in column) and not any(isinstance(cell, str) for cell in column)
            for column in self._columns()
        ]

    @property
    def _all_rows(self) -> tuple[tuple[Cell, ...], ...]:
        return (*self.rows, *self.references)

    def _columns(self) -> list[tuple[Cell, ...]]:
        return list(zip(*self._all_rows, strict=True)) if self._all_rows else [()] * len(self.header)

    def _caption(self) -> list[str]:
        return [text for text in (self.title, *self.notes) if text]


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, (int, float, Figure))


def _is_best(cell: Cell) -> bool:
    return isinstance(cell, Figure) and cell.best


def _mark(cell: Cell) -> str:
    return cell.mark if isinstance(cell, Figure) else ""


def _printed(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def _raw(cell: Cell) -> str:
    if isinstance(cell, Figure):
        return repr(float(cell.value))
    return "" if cell is None else repr(float(cell)) if isinstance(cell, float) else str(cell)


# ---------------------------------------------------------------------------- Markdown


def _markdown_text(text: str) -> str:
    one_line = " ".join(text.split())
    return re.sub(r"[\\|*<`\[]|(?<!\w)_|_(?!\w)", r"\\\g<0>", one_line)


def _markdown(cell: Cell) -> str:
    if isinstance(cell, Figure) and cell.best:
        return f"**{_markdown_text(cell.number)}**{_markdown_text(cell.mark)}"
    return _markdown_text(_printed(cell))


# ---------------------------------------------------------------------------- LaTeX

_LATEX = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "†": r"$\dagger$",
    "‡": r"$\ddagger$",
    "§": r"\S{}",
    "¶": r"\P{}",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "→": r"$\rightarrow$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "−": "$-$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def _latex_text(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in " ".join(text.split()))


def _latex(cell: Cell) -> str:
    if isinstance(cell, Figure):
        number = _latex_text(cell.number)
        if number.startswith("-") and number != "--":
            number = f"${number}$"  # a minus, not a hyphen
        return (rf"\textbf{{{number}}}" if cell.best else number) + _latex_text(cell.mark)
    return _latex_text(_printed(cell))


# ---------------------------------------------------------------------------- HTML


def _html_header(text: str, number: bool) -> str:
    return f'<th class="number">{html.escape(text)}</th>' if number else f"<th>{html.escape(text)}</th>"


def _html(cell: Cell) -> str:
    if isinstance(cell, Figure):
        number = f"<b>{html.escape(cell.number)}</b>" if cell.best else html.escape(cell.number)
        mark = f"<sup>{html.escape(cell.mark)}</sup>" if cell.mark else ""
        return f'<td class="number">{number}{mark}</td>'
    return (
        f'<td class="number">{_printed(cell)}</td>' if _is_number(cell) else f"<td>{html.escape(_printed(cell))}</td>"
    )
