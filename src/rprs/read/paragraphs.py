"""Markup → text in which a blank line ends a paragraph: what HTML and Word documents have in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

__all__ = ["Paragraphs", "walk"]

Node = TypeVar("Node")


def walk(root: Node, children: Callable[[Node], Iterable[Node]]) -> Iterator[tuple[Node, bool]]:
    """Each node of a tree twice, entering (True) and leaving (False) it: without recursion, however deep."""
    stack = [(root, True)]
    while stack:
        node, entering = stack.pop()
        yield node, entering
        if entering:
            stack.append((node, False))
            stack.extend((child, True) for child in reversed(list(children(node))))


class Paragraphs:
    """A text in the making: inline pieces are written, ends are marked, white space takes care of itself."""

    def __init__(self) -> None:
        self._done: list[str] = []
        self._pieces: list[str] = []

    def write(self, text: str) -> None:
        """A piece of running text, in which any white space is one space."""
        self._pieces.append(re.sub(r"\s+", " ", text))

    def verbatim(self, text: str) -> None:
        """A piece of text that keeps its lines."""
        self._pieces.append(text)

    def line(self) -> None:
        """A line ends here. Two of them end the paragraph."""
        self._pieces.append("\n")

    def cell(self) -> None:
        """A cell of a table row ends here."""
        self._pieces.append("\t")

    def end(self) -> None:
        """The paragraph ends here, if it has begun."""
        text = re.sub(r" *(\n|\t) *", r"\1", re.sub("  +", " ", "".join(self._pieces)))
        self._pieces.clear()
        self._done += [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]

    def __str__(self) -> str:
        self.end()
        return "\n\n".join(self._done)
