"""TOML tables to frozen dataclasses, with one-line errors for unknown keys and wrong types; and values to TOML."""

from __future__ import annotations

import dataclasses
import re
import tomllib
import types
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path, PurePath
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from rprs.errors import ReadError, UsageError

__all__ = ["fill", "read_toml", "require_name", "toml_table", "toml_value"]

T = TypeVar("T")
_TYPES = {str: "a text", int: "an integer", float: "a number", bool: "true or false", dict: "a table"}


def read_toml(path: str | PurePath, what: str = "TOML file") -> dict[str, Any]:
    """The tables of a file."""
    if not isinstance(path, str | PurePath):
        raise UsageError(f"Expected the path of a {what}. Got {path!r:.80}")
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ReadError(f"{path}: no such {what}") from error
    except (OSError, ValueError) as error:
        raise ReadError(f"{path}: cannot be read as TOML: {' '.join(str(error).split())}") from error


def require_name(name: str, names: Sequence[str], where: str, what: str = "key") -> None:
    """Raise an error that suggests the nearest name, unless this one is among them."""
    if name not in names:
        close = get_close_matches(name, names, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"it may have {', '.join(names) or 'none'}"
        raise UsageError(f"{where} has no {what} {name!r}: {hint}")


def fill(cls: type[T], table: Any, where: str) -> T:
    """A dataclass from a table whose keys are its fields."""
    if not isinstance(table, Mapping):
        raise UsageError(f"{where} must be a table. Got {table!r} instead.")
    fields = [field for field in dataclasses.fields(cls) if field.init]  # type: ignore[arg-type]  # T is a dataclass
    hints = get_type_hints(cls)
    for key in table:
        require_name(key, [field.name for field in fields], where)
    for field in fields:
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if required and field.name not in table:
            raise UsageError(f"{where} needs the key {field.name!r}")
    values = {key: _convert(value, hints[key], f"{where}: {key!r}") for key, value in table.items()}
    try:
        return cls(**values)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error


def _convert(value: Any, hint: Any, where: str) -> Any:
    """Convert a TOML value to the type of its field."""
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    for option in options:
        if option is Any or type(value) is option:
            return value
        if option is float and type(value) is int:
            return float(value)
        if get_origin(option) is tuple and isinstance(value, list):
            return tuple(_convert(each, get_args(option)[0], where) for each in value)
        if option is dict and isinstance(value, dict):
            return value
    expected = " or ".join(_describe(option) for option in options if option is not type(None))
    raise UsageError(f"{where} must be {expected}. Got {value!r} instead.")


def _describe(option: Any) -> str:
    if get_origin(option) is tuple:
        return f"a list, each {_describe(get_args(option)[0])}"
    return _TYPES.get(option, str(option))


# ---------------------------------------------------------------------------- writing


def toml_table(name: str, values: Mapping[str, Any]) -> list[str]:
    """The lines of a table: plain values first, then the tables within it, as TOML requires; None is left out."""
    plain = [
        f"{_key(key)} = {toml_value(value)}"
        for key, value in values.items()
        if not isinstance(value, Mapping) and value is not None
    ]
    inner = [(f"{name}.{_key(key)}", value) for key, value in values.items() if isinstance(value, Mapping)]
    return [f"[{name}]", *plain, *(line for each in inner for line in ("", *toml_table(*each)))]


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else toml_value(key)


def toml_value(value: Any) -> str:
    """A text, number, boolean or list in TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return '"' + re.sub(r'["\\\x00-\x1f\x7f]', _escape, value) + '"'
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    raise TypeError(f"{value!r} cannot be written to these files")


def _escape(match: re.Match[str]) -> str:
    return f"\\{match[0]}" if match[0] in '"\\' else f"\\u{ord(match[0]):04x}"
