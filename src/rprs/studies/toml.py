"""Tables of TOML → frozen dataclasses: every key is known and every value fits, or one line says which does not."""

from __future__ import annotations

import dataclasses
import tomllib
import types
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from rprs.errors import ReadError, UsageError

__all__ = ["filled", "known", "read_toml"]

T = TypeVar("T")
_WORDS = {str: "a text", int: "an integer", float: "a number", bool: "true or false", dict: "a table"}


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ReadError(f"{path}: there is no such file") from error
    except (OSError, ValueError) as error:
        raise ReadError(f"{path}: cannot be read as TOML: {error}") from error


def known(name: str, names: Sequence[str], where: str, what: str = "key") -> None:
    """Raise the line that names the nearest name, unless this one is known."""
    if name not in names:
        close = get_close_matches(name, names, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"it may have {', '.join(names) or 'none'}"
        raise UsageError(f"{where} has no {what} {name!r}: {hint}")


def filled(cls: type[T], table: Any, where: str) -> T:
    """A dataclass from a table whose keys are its fields."""
    if not isinstance(table, Mapping):
        raise UsageError(f"{where} must be a table. Got {table!r} instead.")
    fields = [field for field in dataclasses.fields(cls) if field.init]  # type: ignore[arg-type]
    hints = get_type_hints(cls)
    for key in table:
        known(key, [field.name for field in fields], where)
    for field in fields:
        needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if needed and field.name not in table:
            raise UsageError(f"{where} needs the key {field.name!r}")
    values = {key: _fit(value, hints[key], f"{where}: {key!r}") for key, value in table.items()}
    try:
        return cls(**values)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error


def _fit(value: Any, hint: Any, where: str) -> Any:
    """Bring a value of TOML to the type of its field."""
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    for option in options:
        if option is Any or type(value) is option:
            return value
        if option is float and type(value) is int:
            return float(value)
        if get_origin(option) is tuple and isinstance(value, list):
            return tuple(_fit(each, get_args(option)[0], where) for each in value)
        if option is dict and isinstance(value, dict):
            return value
    wanted = " or ".join(_describe(option) for option in options if option is not type(None))
    raise UsageError(f"{where} must be {wanted}. Got {value!r} instead.")


def _describe(option: Any) -> str:
    if get_origin(option) is tuple:
        return f"a list, each {_describe(get_args(option)[0])}"
    return _WORDS.get(option, str(option))
