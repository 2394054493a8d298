"""What the two small languages of rprs share, those of components and of filters: taking token after token."""

from __future__ import annotations

import re
from typing import ClassVar

from rprs.errors import UsageError

__all__ = ["Tokens"]


class Tokens:
    """The tokens of a text, for a recursive descent over them. A subclass says what a token is, and its complaint."""

    pattern: ClassVar[re.Pattern[str]]  # its named group is the kind of a token
    complaint: ClassVar[str]  # with places for the source and the problem
    unreadable: ClassVar[str]  # what is wrong where no token begins

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens: list[tuple[str, str]] = []
        self.at = position = 0
        while source[position:].strip():
            match = self.pattern.match(source, position)
            if match is None:
                raise self.error(f"{self.unreadable} {source[position:].strip()!r}")
            self.tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
            position = match.end()

    def error(self, problem: str) -> UsageError:
        """One line about this text."""
        return UsageError(self.complaint.format(source=self.source, problem=problem))

    def peek(self, ahead: int = 0) -> str:
        """A token to come in lower case, or nothing at the end."""
        return self.tokens[self.at + ahead][1].lower() if self.at + ahead < len(self.tokens) else ""

    def take(self, expected: str = "", what: str = "a value") -> tuple[str, str]:
        """The next token with its kind; an error if it is not the expected one, or if there is none."""
        if self.at == len(self.tokens):
            raise self.error(f"{what} is missing at the end")
        token = self.tokens[self.at]
        if expected and token[1].lower() != expected:
            raise self.error(f"expected {expected!r} before {token[1]!r}")
        self.at += 1
        return token

    def end(self) -> None:
        """An error if there is anything left."""
        if self.at != len(self.tokens):
            raise self.error(f"unexpected {self.tokens[self.at][1]!r}")
