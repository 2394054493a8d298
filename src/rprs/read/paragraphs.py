"""Markup → text in which a blank line ends a paragraph, for HTML and Word documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from rprs.progress import Advance, no_op

__all__ = ["Paragraphs", "walk"]

Node = TypeVar("Node")
STEP = 1_000  # paragraphs between two signs of progress


def walk(root: Node, children: Callable[[Node], Iterable[Node]]) -> Iterator[tuple[Node, bool]]:
    """Visit each node of a tree twice, on entering (True) and on leaving (False), without recursion."""
    stack = [(root, True)]
    while stack:
        node, entering = stack.pop()
        yield node, entering
        if entering:
            stack.append((node, False))
            stack.extend((child, True) for child in reversed(list(children(node))))


class Paragraphs:
    """Builds a text from inline pieces and ends of lines, cells and paragraphs, and normalises white space.

    `advance` is called with the number of paragraphs, from time to time.
    """

    def __init__(self, advance: Advance = no_op) -> None:
        self._done: list[str] = []
        self._pieces: list[str] = []
        self._advance, self._reported = advance, 0

    def write(self, text: str) -> None:
        """Add running text, in which any white space is one space."""
        self._pieces.append(re.sub(r"\s+", " ", text))

    def verbatim(self, text: str) -> None:
        """Add text that keeps its lines."""
        self._pieces.append(text)

    def line(self) -> None:
        """End the line; two line ends in a row end the paragraph."""
        self._pieces.append("\n")

    def cell(self) -> None:
        """End a cell of a table row."""
        self._pieces.append("\t")

    def end(self) -> None:
        """End the paragraph, if it has begun."""
        text = re.sub(r" *(\n|\t) *", r"\1", re.sub("  +", " ", "".join(self._pieces)))
        self._pieces.clear()
        self._done += [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]
        if len(self._done) >= self._reported + STEP:
            self._advance(len(self._done) - self._reported)
            self._reported = len(self._done)

    def __str__(self) -> str:
        self.end()
        return "\n\n".join(self._done)
