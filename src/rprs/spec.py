"""A component is a frozen dataclass whose text form parses back.

`rprs(n=4, k1=2.8)` is the command-line argument, the TOML value, the run tag and the table header. Names
become classes only when they are used, so that naming an encoder does not import one; third parties add
theirs through entry points in the groups `rprs.splitter`, `rprs.analyzer`, `rprs.encoder`, `rprs.ranker`,
`rprs.reranker` and `rprs.collection`. `rprs.syntax` has the grammar.
"""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints, overload

from rprs.errors import UsageError
from rprs.syntax import Bare, Call, ComponentParser, Tokens, literal

if TYPE_CHECKING:
    from rprs.collection import Collection
    from rprs.encode import Fittable, Loadable
    from rprs.rank import Ranker, Reranker
    from rprs.text import Analyzer, Splitter

__all__ = ["DEFAULT", "DEPTH", "Component", "Kind", "Tokens", "changed", "find", "names", "parse", "require", "text"]

Kind = Literal["splitter", "analyzer", "encoder", "ranker", "reranker", "collection"]

BUILT_IN: dict[Kind, dict[str, str]] = {
    "splitter": {"sentences": "rprs.text.split:SentenceSplitter", "tokens": "rprs.text.split:TokenSplitter"},
    "analyzer": {"words": "rprs.text.analyze:Words"},
    "encoder": {
        "fitted": "rprs.encode.fitted:Fitted",
        "hashed": "rprs.encode.hashed:Hashed",
        "onnx": "rprs.encode.onnx:Onnx",
        "sbert": "rprs.encode.sbert:SBert",
        "table": "rprs.encode.fitted:Saved",
    },
    "ranker": {
        "blend": "rprs.rank.blend:Blend",
        "bm25": "rprs.rank.bm25:BM25",
        "cosine": "rprs.rank.cosine:Cosine",
        "fuse": "rprs.rank.fuse:Fuse",
        "maxsim": "rprs.rank.maxsim:MaxSim",
        "meanpool": "rprs.rank.maxsim:MeanPool",
        "rprs": "rprs.rank.rprs:RPRS",
        "runfile": "rprs.rank.runfile:RunFile",
        "sdr": "rprs.rank.sdr:SDR",
    },
    "reranker": {
        "birch": "rprs.rank.birch:Birch",
        "cross": "rprs.rank.cross:Cross",
        "first": "rprs.rank.fuse:First",
        "fuse": "rprs.rank.fuse:Fuse",
        "maxsim": "rprs.rank.maxsim:MaxSim",
        "meanpool": "rprs.rank.maxsim:MeanPool",
        "rprs": "rprs.rank.rprs:RPRS",
        "sdr": "rprs.rank.sdr:SDR",
        "soft": "rprs.rank.soft:SoftRPRS",
    },
    "collection": {
        "beir": "rprs.collection.beir:Beir",
        "caselaw": "rprs.collection.caselaw:Caselaw",
        "clefip": "rprs.collection.clefip:ClefIP",
        "coliee": "rprs.collection.coliee:Coliee",
        "irds": "rprs.collection.irds:IrDatasets",
        "wikipedia": "rprs.collection.wikipedia:Wikipedia",
    },
}


# Components used by default. `rprs.rank.named` has the names of other systems.
DEFAULT: dict[Kind, str] = {
    "splitter": "sentences",
    "analyzer": "words",
    "encoder": "fitted",
    "ranker": "blend",
    "reranker": "fuse(first,rprs(k1=0.0,form=no_qp),method=zscore,weight=none)",
}
DEPTH = 100  # candidates that the first stage hands on


class Component:
    """Base class of components: a name, parameters as dataclass fields, and a text form."""

    name: ClassVar[str]
    kinds: ClassVar[tuple[Kind, ...]]  # what it can be used as; the first is the default

    def __init_subclass__(cls, **options: Any) -> None:
        """Check the types of the parameters before a component's own checks compare their values."""
        super().__init_subclass__(**options)
        own_checks: Any = cls.__dict__.get("__post_init__")

        def check(self: Component) -> None:
            _check_types(self)
            if own_checks is not None:
                own_checks(self)

        cls.__post_init__ = check  # type: ignore[attr-defined]

    def __str__(self) -> str:
        return text(self)


# ---------------------------------------------------------------------------- names


@cache
def _targets(kind: Kind) -> dict[str, EntryPoint]:
    group = f"rprs.{kind}"
    plugged = {point.name: point for point in entry_points(group=group)}
    return {**plugged, **{name: EntryPoint(name, target, group) for name, target in BUILT_IN[kind].items()}}


def names(kind: Kind) -> list[str]:
    """The names that `parse` knows for a kind of component."""
    return sorted(_targets(kind))


def find(kind: Kind, name: str) -> type[Any]:
    """The class behind a name."""
    built_in = BUILT_IN[kind].get(name)  # without a look at all packages that are installed
    target = EntryPoint(name, built_in, f"rprs.{kind}") if built_in else _targets(kind).get(name)
    if target is None:
        close = get_close_matches(name, names(kind), n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"choose from {', '.join(names(kind))}"
        raise UsageError(f"There is no {kind} named {name!r}: {hint}")
    try:
        component: type[Any] = target.load()
    except (ImportError, AttributeError) as error:
        raise UsageError(f"The {kind} {name!r} cannot be loaded from {target.value!r}: {error}") from error
    if not dataclasses.is_dataclass(component):
        raise UsageError(f"The {kind} {name!r} must be a dataclass: {target.value!r} is not")
    return component


# ---------------------------------------------------------------------------- text → component


@overload
def parse(kind: Literal["splitter"], source: str) -> Splitter: ...
@overload
def parse(kind: Literal["analyzer"], source: str) -> Analyzer: ...
@overload
def parse(kind: Literal["encoder"], source: str) -> Loadable | Fittable: ...
@overload
def parse(kind: Literal["ranker"], source: str) -> Ranker: ...
@overload
def parse(kind: Literal["reranker"], source: str) -> Reranker: ...
@overload
def parse(kind: Literal["collection"], source: str) -> Collection: ...
@overload
def parse(kind: Kind, source: str) -> Any: ...
def parse(kind: Kind, source: str) -> Any:
    """The component that a text describes: `parse("reranker", "rprs(n=4, k1=2.8, b=1)")`."""
    return _build(kind, ComponentParser(source).component())


def _build(kind: Kind, call: Call) -> Any:
    cls: Any = find(kind, call.name)
    fields = [field.name for field in dataclasses.fields(cls) if field.init]
    values: dict[str, Any] = {}
    for position, (field, value) in enumerate(call.args):
        if field is None:
            if position >= len(fields):
                raise UsageError(f"{call.name} takes at most {len(fields)} parameters: {', '.join(fields)}")
            field = fields[position]
        if field not in fields:
            raise UsageError(f"{call.name} has no parameter {field!r}: it has {', '.join(fields) or 'none'}")
        if field in values:
            raise UsageError(f"{call.name} has the parameter {field!r} twice")
        values[field] = value
    hints = _hints(cls)
    missing = [f.name for f in dataclasses.fields(cls) if f.init and f.name not in values and _required(f)]
    if missing:
        raise UsageError(f"{call.name} needs the parameter {missing[0]!r}: {call.name}({missing[0]}=...)")
    return cls(**{field: _fit(call.name, field, value, hints[field], kind) for field, value in values.items()})


@cache
def _hints(cls: Any) -> dict[str, Any]:
    return get_type_hints(cls)


def changed(component: Any, values: Mapping[str, Any], kind: Kind | None = None) -> Any:
    """The component with other values of some parameters, each read as in a text, and checked."""
    hints = _hints(component.__class__)
    parsed = {name: value if isinstance(value, str) else Bare(_write(value, False)) for name, value in values.items()}
    used_as = kind or component.kinds[0]
    fitted = {name: _fit(component.name, name, value, hints[name], used_as) for name, value in parsed.items()}
    return dataclasses.replace(component, **fitted)


def _required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _fit(owner: str, field: str, value: Any, hint: Any, kind: Kind) -> Any:
    """Convert a parsed value to the type of its field, or raise the reason why not; `kind` is that of the owner."""
    union = get_origin(hint) in (Union, types.UnionType)
    options: Sequence[Any] = get_args(hint) if union else (hint,)
    inner: Kind | None = next((each for option in options if (each := _inner_kind(option, kind))), None)
    if isinstance(value, Call):
        if inner:
            return _build(inner, value)
        text_form = f"{value.name}(...)"
    else:
        # A bare word is tried as what it looks like first, then as the text it is: a folder may be called 2024.
        for candidate in (literal(value.word), value.word) if isinstance(value, Bare) else (value,):
            for option in options:
                if _matches(candidate, option):
                    return float(candidate) if option is float else candidate
        word = value.word if isinstance(value, Bare) else value
        if inner:
            return _build(inner, _named(inner, word, options))
        text_form = repr(literal(word) if isinstance(value, Bare) else word)
    raise UsageError(f"The {field!r} parameter of {owner} must be {_describe(options, kind)}. Got {text_form} instead.")


def _named(kind: Kind, word: str, options: Sequence[Any]) -> Call:
    """A component by its name alone; a word that names none is the parameter `bare` of the option that has one."""
    taker = next((option for option in options if getattr(option, "bare", None)), None)
    if taker is None or word in BUILT_IN[kind] or word in names(kind):
        return Call(word, ())
    return Call(taker.name, ((taker.bare, word),))


def _matches(value: Any, option: Any) -> bool:
    if get_origin(option) is Literal:
        return any(value == choice and type(value) is type(choice) for choice in get_args(option))
    return type(value) is option or (option is float and type(value) is int)


def _describe(options: Sequence[Any], kind: Kind) -> str:
    words = {int: "an integer", float: "a number", str: "a text", bool: "true or false", type(None): "none"}
    descriptions = [
        " or ".join(repr(choice) for choice in get_args(option))
        if get_origin(option) is Literal
        else words.get(option) or _with_article(_inner_kind(option, kind) or str(option))
        for option in options
    ]
    return " or ".join(descriptions)


def _inner_kind(option: Any, kind: Kind) -> Kind | None:
    kinds: tuple[Kind, ...] = getattr(option, "kinds", ())
    return kind if kind in kinds else next(iter(kinds), None)


def _with_article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


# ---------------------------------------------------------------------------- component → text


def text(component: Any, *, full: bool = False) -> str:
    """The text that parses back to an equal component, without the parameters left at their defaults.

    `full` writes them all, for what must keep its meaning if a default ever changes.
    """
    arguments = [
        f"{field.name}={_write(getattr(component, field.name), full)}"
        for field in dataclasses.fields(component)
        if field.init and field.repr and (full or getattr(component, field.name) != _default(field))
    ]
    return f"{component.name}({','.join(arguments)})" if arguments else str(component.name)


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
    if isinstance(value, Real):  # NumPy's numbers too, whose own repr is np.float64(...)
        return repr(int(value) if isinstance(value, Integral) else float(value))
    plain = re.fullmatch(r"[^\s(),='\"\\]+", value) and isinstance(literal(value), str)
    return value if plain else '"' + re.sub(r'(["\\])', r"\\\1", value) + '"'


# ---------------------------------------------------------------------------- checks of parameters


def _check_types(component: Any) -> None:
    """Raise a `UsageError` for a parameter of the wrong type, as far as its type is a plain one."""
    hints = _hints(component.__class__)
    for field in dataclasses.fields(component):
        value, hint = getattr(component, field.name), hints.get(field.name)
        options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
        if all(_is_plain(option) for option in options) and not any(_accepts(option, value) for option in options):
            expected = _describe(options, component.kinds[0])
            raise UsageError(
                f"The {field.name!r} parameter of {component.name} must be {expected}. Got {value!r:.80} instead."
            )


def _is_plain(option: Any) -> bool:
    return option in (int, float, str, bool, type(None))


def _accepts(option: Any, value: Any) -> bool:
    """Whether a value from Python, such as a NumPy number, has this type."""
    if option in (int, float):
        return isinstance(value, Integral if option is int else Real) and not isinstance(value, bool)
    return isinstance(value, option)


def require(component: Any, field: str, good: bool, what: str) -> None:
    """Raise the one sentence that all wrong parameters get: used in `__post_init__`."""
    if not good:
        value = getattr(component, field)
        raise UsageError(f"The {field!r} parameter of {component.name} must be {what}. Got {value!r} instead.")
