"""Pieces of text with their places on a page → lines in reading order, without line numbers.

- Numbers one below the other that count by one or by five are the line numbers of a pleading or a patent.
- If a page has two columns with a gap between them, the left one is read before the right one, between the lines that
  cross the gap.
- A blank line stands where the distance to the line before is larger than usual, and before an indented line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from statistics import median

__all__ = ["Piece", "heading", "reading_order", "without_line_numbers"]

_NUMBERS = 5  # the least of line numbers on a page
_COLUMN_LINES = 5  # the least of lines in each of two columns
_CROSSING = 0.25  # of the pieces of a page may cross the gap between two columns
_FAR, _INDENT = 1.5, 1.0  # of the usual distance of lines; of the size of the font


@dataclass(frozen=True, slots=True)
class Piece:
    """Text on one line, without wide gaps. Places are in points, from the lower left corner of the page."""

    text: str
    left: float
    right: float
    base: float
    size: float

    @property
    def width(self) -> float:
        """From the first to the last character."""
        return self.right - self.left


def without_line_numbers(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces without numbers in the margin that count lines."""
    numbers = [piece for piece in pieces if piece.text.isdecimal() and len(piece.text) <= 3]
    if len(numbers) < _NUMBERS or len(numbers) == len(pieces):
        return list(pieces)
    removed: set[int] = set()
    for edge in ("left", "right"):
        column: list[Piece] = []
        for piece in [*sorted(numbers, key=lambda piece: float(getattr(piece, edge))), None]:
            if piece is not None and column and getattr(piece, edge) - getattr(column[-1], edge) <= piece.size / 2:
                column.append(piece)
                continue
            if _counts_lines(column):
                removed |= {id(one) for one in column}
            column = [] if piece is None else [piece]
    return [piece for piece in pieces if id(piece) not in removed]


def _counts_lines(column: Sequence[Piece]) -> bool:
    if len(column) < _NUMBERS:
        return False
    values = [int(piece.text) for piece in sorted(column, key=lambda piece: -piece.base)]
    steps = [after - before for before, after in pairwise(values)]
    return any(steps.count(step) >= 0.8 * len(steps) for step in (1, 5))


def reading_order(pieces: Sequence[Piece], width: float) -> list[str]:
    """The lines of a page, with blank lines between paragraphs where the places show them."""
    blocks = _columns(pieces, width) or [list(pieces)]
    rows: list[str] = []
    for block in blocks:
        rows += _with_blank_lines(_rows(block))
    return rows


def _columns(pieces: Sequence[Piece], width: float) -> list[list[Piece]]:
    """The pieces of a page in two columns, in blocks to be read one after the other; nothing if it has one."""
    texts = [piece for piece in pieces if len(piece.text) > 10]
    gap = _gap(texts, width) if len(texts) >= 2 * _COLUMN_LINES else None
    if gap is None:
        return []
    blocks: list[list[Piece]] = []
    left: list[Piece] = []
    right: list[Piece] = []
    for piece in sorted(pieces, key=lambda piece: (-piece.base, piece.left)):
        if piece.left < gap < piece.right:
            blocks += [left, right, [piece]]
            left, right = [], []
        else:
            (left if piece.right <= gap else right).append(piece)
    return [block for block in (*blocks, left, right) if block]


def _gap(texts: Sequence[Piece], width: float) -> float | None:
    """Where a page is divided into two columns of running text."""
    places = range(int(0.35 * width), int(0.65 * width), 2)
    crossing = {place: sum(piece.left < place < piece.right for piece in texts) for place in places}
    least = min(crossing.values(), default=len(texts))
    if least > _CROSSING * len(texts):
        return None
    best = [place for place in places if crossing[place] == least]
    gap = float(best[len(best) // 2])
    sides = [piece for piece in texts if piece.right <= gap], [piece for piece in texts if piece.left >= gap]
    for side in sides:
        # Narrow pieces are the cells of a table, which is read row by row.
        if len(side) < _COLUMN_LINES or median(piece.width for piece in side) < 0.25 * width:
            return None
    top = min(max(piece.base for piece in side) for side in sides)
    bottom = max(min(piece.base for piece in side) for side in sides)
    least_height = min(max(piece.base for piece in side) - min(piece.base for piece in side) for side in sides)
    return gap if top - bottom > least_height / 2 else None


def _rows(pieces: Sequence[Piece]) -> list[Piece]:
    """Pieces next to each other on one line as one piece."""
    rows: list[Piece] = []
    for piece in pieces:
        last = rows[-1] if rows else None
        if last and abs(last.base - piece.base) < 0.3 * max(last.size, piece.size) and piece.left >= last.right - 1:
            rows[-1] = replace(last, text=f"{last.text} {piece.text}", right=piece.right)
        else:
            rows.append(piece)
    return rows


def _with_blank_lines(rows: Sequence[Piece]) -> list[str]:
    distances = [before.base - after.base for before, after in pairwise(rows) if before.base > after.base]
    usual = median(distances) if distances else 0.0
    margin = _margin(rows)
    lines = [row.text for row in rows[:1]]
    for before, row in pairwise(rows):
        is_far = before.base - row.base > _FAR * usual
        is_indented = 0 < row.left - margin - _INDENT * row.size < 4 * row.size and before.left - margin < row.size / 2
        if is_far or (is_indented and len(rows) > 3):
            lines.append("")
        lines.append(row.text)
    return lines


def _margin(rows: Sequence[Piece]) -> float:
    """The left edge of most lines."""
    edges = sorted(round(row.left) for row in rows)
    return float(max(((len(list(group)), -edge) for edge, group in groupby(edges)), default=(0, 0))[1] * -1)


def heading(pieces: Sequence[Piece]) -> str:
    """The heading at the top of a first page: its first lines that are clearly larger than most of the text."""
    sizes = [piece.size for piece in pieces for _ in piece.text]
    if not sizes:
        return ""
    usual = median(sizes)
    rows = _rows(pieces)
    for number, row in enumerate(rows[: max(10, len(rows) // 2)]):
        if row.size >= 1.2 * usual and sum(map(str.isalpha, row.text)) >= 3:
            same = [row.text]
            for other in rows[number + 1 : number + 4]:
                if abs(other.size - row.size) > 0.1 or row.base - other.base > 3 * row.size * len(same):
                    break
                same.append(other.text)
            title = " ".join(" ".join(same).split())
            return title if len(title) <= 200 else ""
    return ""
