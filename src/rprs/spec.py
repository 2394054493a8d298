"""A component is a frozen dataclass whose text form parses back.

`rprs(n=4, k1=2.8)` is the command-line argument, the TOML value, the run tag and the table header. Names
become classes only when they are used, so that naming an encoder does not import one; third parties add
theirs through entry points in the groups `rprs.splitter`, `rprs.analyzer`, `rprs.encoder`, `rprs.ranker`
and `rprs.reranker`.

    component := name [ "(" [ argument { "," argument } ] ")" ]
    argument  := [ field "=" ] value
    value     := number | "quoted" | 'quoted' | true | false | none | component with brackets | bare-word
"""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from rprs.errors import UsageError

__all__ = ["Component", "Kind", "find", "names", "parse", "require", "text"]

Kind = Literal["splitter", "analyzer", "encoder", "ranker", "reranker"]

BUILT_IN: dict[Kind, dict[str, str]] = {
    "splitter": {"sentences": "rprs.split:SentenceSplitter", "tokens": "rprs.split:TokenSplitter"},
    "analyzer": {"words": "rprs.analyze:Words"},
    "encoder": {
        "fitted": "rprs.encode.fitted:Fitted",
        "onnx": "rprs.encode.onnx:Onnx",
        "sbert": "rprs.encode.sbert:SBert",
    },
    "ranker": {"bm25": "rprs.rank:BM25", "runfile": "rprs.rank:RunFile"},
    "reranker": {"rprs": "rprs.rerank:RPRS"},
}


class Component:
    """What every component has: a name, parameters as dataclass fields, and a text form."""

    name: ClassVar[str]
    kind: ClassVar[Kind]

    def __str__(self) -> str:
        return text(self)


# ---------------------------------------------------------------------------- names


@cache
def _targets(kind: Kind) -> dict[str, str]:
    plugged = {point.name: point.value for point in entry_points(group=f"rprs.{kind}")}
    return {**plugged, **BUILT_IN[kind]}


def names(kind: Kind) -> list[str]:
    """The names that `parse` knows for a kind of component."""
    return sorted(_targets(kind))


def find(kind: Kind, name: str) -> type[Any]:
    """The class behind a name."""
    target = _targets(kind).get(name)
    if target is None:
        close = get_close_matches(name, names(kind), n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(names(kind))}"
        raise UsageError(f"There is no {kind} named {name!r}: {hint}")
    module, _, attribute = target.partition(":")
    found: type[Any] = getattr(import_module(module), attribute)
    return found


# ---------------------------------------------------------------------------- text → component

_TOKEN = re.compile(
    r"""\s*(?: (?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*') | (?P<mark>[(),=]) | (?P<word>[^\s(),='"]+) )""",
    re.VERBOSE,
)


@dataclasses.dataclass(frozen=True)
class _Call:
    name: str
    args: tuple[tuple[str | None, Any], ...]


class _Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens: list[tuple[str, str]] = []
        position = 0
        while source[position:].strip():
            match = _TOKEN.match(source, position)
            if match is None:
                raise self.error(f"an unclosed quote at {source[position:].strip()!r}")
            self.tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
            position = match.end()
        self.at = 0

    def error(self, problem: str) -> UsageError:
        return UsageError(f"Cannot read {self.source!r}: {problem}")

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self, expected: str = "") -> tuple[str, str]:
        if self.at == len(self.tokens):
            raise self.error(f"{expected or 'a value'} is missing at the end")
        token = self.tokens[self.at]
        if expected and token[1] != expected:
            raise self.error(f"expected {expected!r} before {token[1]!r}")
        self.at += 1
        return token

    def call(self) -> _Call:
        group, name = self.take()
        if group != "word":
            raise self.error(f"expected a name, found {name!r}")
        args: list[tuple[str | None, Any]] = []
        if self.peek() == "(":
            self.take("(")
            while self.peek() != ")":
                args.append(self.argument())
                if self.peek() != ")":
                    self.take(",")
            self.take(")")
        return _Call(name, tuple(args))

    def argument(self) -> tuple[str | None, Any]:
        if self.at + 1 < len(self.tokens) and self.tokens[self.at + 1][1] == "=":
            _, field = self.take()
            self.take("=")
            return field, self.value()
        return None, self.value()

    def value(self) -> Any:
        group, token = self.take()
        if group == "quoted":
            return re.sub(r"\\(.)", r"\1", token[1:-1])
        if group == "mark":
            raise self.error(f"expected a value before {token!r}")
        if self.peek() == "(":
            self.at -= 1
            return self.call()
        return _literal(token)

    def whole(self) -> _Call:
        found = self.call()
        if self.at != len(self.tokens):
            raise self.error(f"unexpected {self.peek()!r}")
        return found


_WORDS: dict[str, bool | None] = {"true": True, "false": False, "none": None}


def _literal(token: str) -> Any:
    if token.lower() in _WORDS:
        return _WORDS[token.lower()]
    for number in (int, float):
        try:
            return number(token)
        except ValueError:
            continue
    return token


def parse(kind: Kind, source: str) -> Any:
    """The component that a text describes: `parse("reranker", "rprs(n=4, k1=2.8, b=1)")`."""
    return _build(kind, _Parser(source).whole())


def _build(kind: Kind, call: _Call) -> Any:
    cls = find(kind, call.name)
    fields = [field.name for field in dataclasses.fields(cls) if field.init]
    given: dict[str, Any] = {}
    for position, (field, value) in enumerate(call.args):
        if field is None:
            if position >= len(fields):
                raise UsageError(f"{call.name} takes at most {len(fields)} parameters: {', '.join(fields)}")
            field = fields[position]
        if field not in fields:
            raise UsageError(f"{call.name} has no parameter {field!r}: it has {', '.join(fields) or 'none'}")
        if field in given:
            raise UsageError(f"{call.name} is given the parameter {field!r} twice")
        given[field] = value
    hints = get_type_hints(cls)
    missing = [f.name for f in dataclasses.fields(cls) if f.init and f.name not in given and _required(f)]
    if missing:
        raise UsageError(f"{call.name} needs the parameter {missing[0]!r}: {call.name}({missing[0]}=...)")
    return cls(**{field: _fit(call.name, field, value, hints[field]) for field, value in given.items()})


def _required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _fit(owner: str, field: str, value: Any, hint: Any) -> Any:
    """Bring a parsed value to the type of its field, or say why it does not go."""
    union = get_origin(hint) in (Union, types.UnionType)
    options: Sequence[Any] = get_args(hint) if union else (hint,)
    for option in options:
        if isinstance(value, _Call):
            kind = getattr(option, "kind", None)
            if kind is not None:
                return _build(kind, value)
        elif get_origin(option) is Literal:
            if value in get_args(option):
                return value
        elif option is float and isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        elif option is type(value) or (option is type(None) and value is None):
            return value
    if str in options and isinstance(value, (int, float)):
        return str(value)  # a folder may be called 2024
    kinds = [option.kind for option in options if getattr(option, "kind", None)]
    if kinds and isinstance(value, str):
        return _build(kinds[0], _Call(value, ()))
    shown = value.name + "(...)" if isinstance(value, _Call) else repr(value)
    raise UsageError(f"The {field!r} parameter of {owner} must be {_describe(options)}. Got {shown} instead.")


def _describe(options: Sequence[Any]) -> str:
    words = {int: "an integer", float: "a number", str: "a text", bool: "true or false", type(None): "none"}
    said = [
        " or ".join(repr(choice) for choice in get_args(option))
        if get_origin(option) is Literal
        else words.get(option, f"a {getattr(option, 'kind', option)}")
        for option in options
    ]
    return " or ".join(said)


# ---------------------------------------------------------------------------- component → text


def text(component: Any, *, full: bool = False) -> str:
    """The text that parses back to an equal component, without the parameters left at their defaults.

    `full` writes them all, for what must keep its meaning if a default ever changes.
    """
    shown = [
        f"{field.name}={_write(getattr(component, field.name), full)}"
        for field in dataclasses.fields(component)
        if field.init and field.repr and (full or getattr(component, field.name) != _default(field))
    ]
    return f"{component.name}({','.join(shown)})" if shown else str(component.name)


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def _write(value: Any, full: bool) -> str:
    if dataclasses.is_dataclass(value):
        inner = text(value, full=full)
        return inner if inner.endswith(")") else inner + "()"
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    plain = re.fullmatch(r"[^\s(),='\"\\]+", value) and isinstance(_literal(value), str)
    return value if plain else '"' + re.sub(r'(["\\])', r"\\\1", value) + '"'


# ---------------------------------------------------------------------------- checks of parameters


def require(component: Any, field: str, good: bool, what: str) -> None:
    """Raise the one sentence that all wrong parameters get: used in `__post_init__`."""
    if not good:
        value = getattr(component, field)
        raise UsageError(f"The {field!r} parameter of {component.name} must be {what}. Got {value!r} instead.")
