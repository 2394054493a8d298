"""Running heads and feet of a PDF: repeated ones are removed, and the first one stays, so that no words are lost.

A line is a running head or foot if

- it is the first or the last line of its page, or the second one of two that a blank line divides from the rest;
- it is short;
- more than half of the pages, or of the odd or even ones, and at least three, have it at the same edge; and
- nothing in it changes but numbers, each of which stays the same or counts the pages.

Lines that are page numbers and nothing else are removed from all pages.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

__all__ = ["PageLines", "without_running_lines"]

_DEPTH = 2  # lines of a head or a foot
_LONGEST = 100  # characters: one line, as long as the stamp of a court's electronic files
_LEAST = 3  # pages that have it
_STEADY = 0.8  # of the numbers, from one page to the next, stay the same or count the pages

_NUMBER = re.compile(r"\d+|\b[ivxlc]{1,8}\b")
_PAGE_NUMBER = re.compile(
    r"\W*(?:page|pages?|p|pg|seite|s|página|pág|pagina|pag|blad|side|sida|strona|str)?\W*#"
    r"(?:\W*(?:of|von|de|sur|di|van|av|af|z)?\W*#)?\W*",
    re.IGNORECASE,
)
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}

Places = Mapping[int, str]  # a line at one edge, by the number of its page


@dataclass
class PageLines:
    """The lines of a page, and what is kept of its running head and foot."""

    lines: list[str]
    heads: list[str] = field(default_factory=list)
    feet: list[str] = field(default_factory=list)


def without_running_lines(pages: Sequence[Sequence[str]]) -> list[PageLines]:
    """The pages without repeated heads and feet, and without blank lines at their ends."""
    cleaned = [PageLines(_trimmed(page)) for page in pages]
    for edge in (0, -1):
        seen: set[str] = set()
        numbers = [number for number, page in enumerate(cleaned) if page.lines]
        for depth in range(_DEPTH):
            running = _running({number: cleaned[number].lines[edge] for number in numbers}, len(cleaned))
            numbers = [number for number in running if not depth and _has_second(cleaned[number].lines, edge)]
            for number, line in running.items():
                page, shape = cleaned[number], _shape(line)
                page.lines.pop(edge)
                page.lines = _trimmed(page.lines)
                if shape not in seen and not _PAGE_NUMBER.fullmatch(shape):
                    (page.feet.insert(0, line) if edge else page.heads.append(line))
                seen.add(shape)
    return cleaned


def _has_second(lines: Sequence[str], edge: int) -> bool:
    """Whether two lines at an edge are divided from the rest by a blank line."""
    first, second, third, *_ = (*(lines[:3] if edge == 0 else lines[:-4:-1]), "", "", "")
    return len(lines) > 3 and bool(first and second) and not third


def _running(places: Places, pages: int) -> dict[int, str]:
    """Those of the lines at one edge that are repeated, by the number of the page."""
    found: dict[int, str] = {}
    for parity in (None, 0, 1):  # the heads of left and right pages often differ
        share = len(range(parity or 0, pages, 1 if parity is None else 2))
        by_shape: dict[str, dict[int, str]] = defaultdict(dict)
        for number, line in places.items():
            if len(line) <= _LONGEST and parity in (None, number % 2):
                by_shape[_shape(line)][number] = line
        for same in by_shape.values():
            if len(same) >= _LEAST and len(same) > share / 2 and _is_steady(same):
                found |= same
    return dict(sorted(found.items()))


def _is_steady(same: Places) -> bool:
    """Whether each number of lines with the same words stays the same or counts the pages."""
    numbers = [[_value(match[0]) for match in _NUMBER.finditer(line)] for line in same.values()]
    steps = [after - before for before, after in pairwise(same)]
    for values in zip(*numbers, strict=True):
        changes = [after - before for before, after in pairwise(values)]
        steady = sum(change in (0, step) for change, step in zip(changes, steps, strict=True))
        if steady < _STEADY * len(steps):
            return False
    return True


def _value(number: str) -> int:
    """A number in digits or Roman numerals."""
    if number[0].isdigit():
        return int(number[-18:])
    values = [_ROMAN[letter] for letter in number]
    return sum(-value if value < after else value for value, after in pairwise([*values, 0]))


def _shape(line: str) -> str:
    return _NUMBER.sub("#", line)


def _trimmed(page: Sequence[str]) -> list[str]:
    """A page without blank lines at its ends, since a paragraph may continue on the next page."""
    full = [number for number, line in enumerate(page) if line]
    return list(page[full[0] : full[-1] + 1]) if full else []
