"""The lines of a PDF → paragraphs.

- A word hyphenated at the end of a line and continued in lower case is joined, unless the document has it with a
  hyphen elsewhere.
- A paragraph ends at a blank line, before a bullet, after a line that ends like a sentence and is clearly shorter
  than most lines of the page, and after a much shorter line if the next one does not begin in lower case.
- What is kept of running heads and feet is a paragraph of its own, which never interrupts another one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from rprs.progress import Advance, no_op
from rprs.read.pdf_running import without_running_lines

__all__ = ["paragraphs"]

_SENTENCE_END = re.compile(r"[.!?:;。！？][\"'”’)\]]*$")
_BULLET = re.compile(r"[•▪●◦‣]\s")
_HYPHENATED = re.compile(r"([^\W\d_]+)-$")
_COMPOUND = re.compile(r"(?<![^\W\d_])[^\W\d_]+-[^\W\d_]+")  # from the start of a word, for linear time
_SHORT, _VERY_SHORT = 0.8, 0.6  # of the 90th percentile of the line lengths of a page


def paragraphs(pages: Sequence[Sequence[str]], advance: Advance = no_op) -> str:
    """The text of the pages, with a blank line between paragraphs; `advance` is called with each page."""
    cleaned = without_running_lines([[line.strip() for line in page] for page in pages])
    hyphenated = (line for page in cleaned for line in page.lines if "-" in line)
    compounds = {match[0].lower() for line in hyphenated for match in _COMPOUND.finditer(line)}
    text = _Text(compounds)
    for page in cleaned:
        text.set_aside(page.heads)
        lengths = sorted(len(line) for line in page.lines if line)
        usual = lengths[len(lengths) * 9 // 10] if lengths else 0
        for line, following in pairwise([*page.lines, ""]):
            if line:
                text.append(line)
            if _ends(line, following, usual):
                text.end()
        text.set_aside(page.feet)
        advance(1)
    text.end()
    return "\n\n".join(text.done)


class _Text:
    """Paragraphs that are complete, the one that is being joined, and lines that follow when it ends."""

    def __init__(self, compounds: set[str]) -> None:
        self.compounds = compounds
        self.done: list[str] = []
        self._current: list[str] = []
        self._aside: list[str] = []

    def append(self, line: str) -> None:
        """Add a line to the paragraph, and join a word that is divided between two lines."""
        current = self._current
        before = current[-1] if current else ""
        match = _HYPHENATED.search(before[-80:]) if before.endswith("-") else None
        if match and line[0].islower():
            rest = re.match(r"[^\W\d_]+", line)
            if f"{match[1]}-{rest[0] if rest else ''}".lower() not in self.compounds:
                current[-1] = before[:-1]
            current.append(line)
        else:
            current += [" ", line] if current else [line]

    def set_aside(self, lines: Sequence[str]) -> None:
        """Lines that belong to no paragraph: they come now, or after the one that continues on the next page."""
        self._aside += lines
        if not self._current:
            self.end()

    def end(self) -> None:
        """End the paragraph."""
        if self._current:
            self.done.append("".join(self._current))
        self.done += self._aside
        self._current, self._aside = [], []


def _ends(line: str, following: str, usual: int) -> bool:
    if not line or _BULLET.match(following):
        return True
    if len(line) < _SHORT * usual and _SENTENCE_END.search(line):
        return True
    return len(line) < _VERY_SHORT * usual and bool(following) and not following[0].islower()
