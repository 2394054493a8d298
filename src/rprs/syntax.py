"""The syntax of components: tokens, and the recursive descent over them.

component := name [ "(" [ argument { "," argument } ] ")" ]
argument  := [ field "=" ] value
value     := number | "quoted" | 'quoted' | true | false | none | component with brackets | bare-word
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from rprs.errors import UsageError

__all__ = ["Bare", "Call", "ComponentParser", "Tokens", "literal"]


class Tokens:
    """The tokens of a text, for a recursive-descent parser: of components here, of filters in `rprs.index.where`."""

    pattern: ClassVar[re.Pattern[str]]  # its named group is the kind of a token
    complaint: ClassVar[str]  # with places for the source and the problem
    unreadable: ClassVar[str]  # what is wrong where no token begins

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens: list[tuple[str, str]] = []
        self.at = position = 0
        end = len(source.rstrip())
        while position < end:
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


DEEPEST = 30  # components within components

_TOKEN = re.compile(
    r"""\s*(?: (?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*') | (?P<mark>[(),=]) | (?P<word>[^\s(),='"]+) )""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Bare:
    """A word without quotes: a number, true, false, none or a text, as its field wants it."""

    word: str


@dataclass(frozen=True)
class Call:
    """A component as it is written: its name, and arguments with or without the names of their fields."""

    name: str
    args: tuple[tuple[str | None, Any], ...]


class ComponentParser(Tokens):
    """Recursive descent over the tokens of one text."""

    pattern = _TOKEN
    complaint = "Cannot read {source!r:.200}: {problem}"
    unreadable = "an unclosed quote at"
    depth = 0

    def call(self) -> Call:
        """A name, and arguments in brackets if there are any."""
        group, name = self.take(what="a name")
        if group != "word":
            raise self.error(f"expected a name, found {name!r}")
        args: list[tuple[str | None, Any]] = []
        if self.peek() == "(":
            self.take("(")
            while self.peek() != ")":
                args.append(self.argument())
                if self.peek() != ")":
                    self.take(",", what="')'")
            self.take(")")
        return Call(name, tuple(args))

    def argument(self) -> tuple[str | None, Any]:
        """The name of a field, if there is one, and a value."""
        if self.peek(1) == "=":
            _, field = self.take()
            self.take("=")
            return field, self.value()
        return None, self.value()

    def value(self) -> Any:
        """A text in quotes, a component with brackets, or a bare word."""
        group, token = self.take()
        if group == "quoted":
            return re.sub(r"\\(.)", r"\1", token[1:-1])
        if group == "mark":
            raise self.error(f"expected a value before {token!r}")
        if self.peek() == "(":
            self.at -= 1
            self.depth += 1
            if self.depth > DEEPEST:
                raise self.error(f"components are nested more than {DEEPEST} deep")
            call = self.call()
            self.depth -= 1
            return call
        return Bare(token)

    def component(self) -> Call:
        """The whole text."""
        call = self.call()
        self.end()
        return call


_WORDS: dict[str, bool | None] = {"true": True, "false": False, "none": None}


def literal(token: str) -> Any:
    """The value of a bare word: a number, true, false, none, or the word itself."""
    if token.lower() in _WORDS:
        return _WORDS[token.lower()]
    for number in (int, float):
        try:
            return number(token)
        except ValueError:
            continue
    return token
