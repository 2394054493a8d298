"""Metadata filters: `date < 2016-01-01 and (court = ca9 or court in (ca2, ca5))` as SQL over the catalog.

    filter    := all { "or" all }            all := single { "and" single }
    single    := "not" single | "(" filter ")" | field operator value | field "in" "(" value { "," value } ")"
               | field "missing" | field "present"
    operator  := = | != | < | <= | > | >= | ~        (~: contains, ignoring case)

A field is `id`, `title` or any metadata field; quote names and values with spaces. A number is compared as a number
(with the number at the beginning of a text, so that `date >= 2016` works on dates), anything else as text, which suits
ISO dates; `true` and `false` are texts too. A document without the field matches no comparison.
"""

from __future__ import annotations

import re
from typing import Any

from rprs.spec import Tokens

__all__ = ["to_sql"]

_TOKEN = re.compile(
    r"""\s*(?:(?P<quoted>"[^"]*"|'[^']*')|(?P<mark>[(),])|(?P<operator><=|>=|!=|<>|==|=|<|>|~)|(?P<word>[^\s(),<>=!~"']+))"""
)
_SQL = {"==": "=", "<>": "!="}
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
_FIELD = (
    "CASE json_type(metadata, ?) WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE json_extract(metadata, ?) END"
)
_TEXT = "CAST({0} AS TEXT)"
_REAL = "CASE WHEN CAST({0} AS TEXT) GLOB '[-+.0-9]*' THEN CAST({0} AS REAL) END"
_DEEPEST = 50  # nested brackets


def to_sql(source: str) -> tuple[str, list[Any]]:
    """A filter as an SQL condition on the table `documents`, with its values."""
    return _Filter(source).parse()


Sql = tuple[str, list[Any]]


class _Filter(Tokens):
    pattern = _TOKEN
    complaint = 'The filter {source!r} is wrong: {problem} (example: "date < 2016-01-01 and court = ca9")'
    unreadable = "cannot read"

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.depth = 0
        try:
            source.encode()
        except UnicodeEncodeError as error:
            raise self.error(f"it is not valid Unicode: {error.reason}") from error

    def parse(self) -> Sql:
        condition = self.joined("or")
        self.end()
        return condition

    def joined(self, word: str) -> Sql:
        part = self.single if word == "and" else lambda: self.joined("and")
        sql, values = part()
        while self.peek() == word:
            self.take()
            right, more = part()
            sql, values = f"({sql} {word.upper()} {right})", values + more
        return sql, values

    def single(self) -> Sql:
        if self.peek() not in ("not", "("):
            return self.condition()
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.error(f"more than {_DEEPEST} brackets or nots within each other")
        _, word = self.take()
        if word == "(":
            sql, values = self.joined("or")
            self.take(")")
        else:
            sql, values = self.single()
            sql = f"NOT coalesce({sql}, 0)"
        self.depth -= 1
        return sql, values

    def condition(self) -> Sql:
        column, path = self.field()
        group, operator = self.take(what="a comparison")
        if operator.lower() in ("missing", "present"):
            return f"{column} IS {'NOT ' if operator.lower() == 'present' else ''}NULL", path
        if operator.lower() == "in":
            return self.among(column, path)
        if group != "operator":
            raise self.error(f"expected a comparison after the field, found {operator!r}")
        return self.compare(column, path, _SQL.get(operator, operator), self.value())

    def among(self, column: str, path: list[Any]) -> Sql:
        self.take("(")
        values = [self.value()]
        while self.peek() == ",":
            self.take()
            values.append(self.value())
        self.take(")")
        numbers = [float(word) for group, word in values if _is_number(group, word)]
        texts = [word for group, word in values if not _is_number(group, word)]
        marks = ", ".join("?" * len(texts)), ", ".join("?" * len(numbers))
        sql = f"({_TEXT.format(column)} IN ({marks[0]}) OR {_REAL.format(column)} IN ({marks[1]}))"
        return sql, [*path, *texts, *path, *path, *numbers]

    def field(self) -> tuple[str, list[Any]]:
        group, name = self.take()
        if group not in ("word", "quoted"):
            raise self.error(f"expected the name of a field, found {name!r}")
        if name in ("id", "title"):
            return name, []
        name = name[1:-1] if group == "quoted" else name
        if '"' in name:
            raise self.error(f"the name of a field cannot hold a double quote, as {name!r} does")
        return _FIELD, [f'$."{name}"'] * 2

    def value(self) -> tuple[str, str]:
        group, value = self.take()
        if group not in ("word", "quoted"):
            raise self.error(f"expected a value, found {value!r}")
        return group, value[1:-1] if group == "quoted" else value

    def compare(self, column: str, path: list[Any], operator: str, value: tuple[str, str]) -> Sql:
        group, word = value
        if operator == "~":
            return f"instr(casefold({column}), ?) > 0", [*path, word.casefold()]
        if not _is_number(group, word):
            return f"{_TEXT.format(column)} {operator} ?", [*path, word]
        return f"{_REAL.format(column)} {operator} ?", [*path, *path, float(word)]


def _is_number(group: str, word: str) -> bool:
    return group == "word" and _NUMBER.fullmatch(word) is not None
