"""The file of a matter: JSON, with a version and a revision. docs/how-to/matters.md describes the format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePath
from secrets import token_hex
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from filelock import FileLock, Timeout

from rprs.errors import InvalidMatter, MatterConflict, UsageError
from rprs.files.atomic import check_target, write_atomically
from rprs.matters.values import Matter
from rprs.rank.steering import as_marks

__all__ = ["SUFFIX", "matter_from", "matter_object", "new_matter", "read_matter", "save_matter"]

FORMAT = "rprs-matter"
VERSION = 1
SUFFIX = ".rprs-matter"
PATIENCE = 10  # seconds to wait for another program that saves the same file

Value = TypeVar("Value")
_NAMES = {str: "a text", int: "a whole number", bool: "true or false", tuple: "a list"}


def new_matter(name: str) -> Matter:
    """A matter without searches, which is not saved yet."""
    if not name.strip():
        raise UsageError("A matter needs a name")
    return Matter(id=token_hex(8), name=" ".join(name.split()), created=_now())


def read_matter(path: str | PurePath) -> Matter:
    """The matter in a file."""
    path = Path(path)
    if path.is_dir():
        raise InvalidMatter(f"{path} is a folder, not a matter")
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise InvalidMatter(f"There is no matter {path}: create one with `rprs matter new {path}`") from error
    return matter_from(data, str(path))


def save_matter(path: str | PurePath, matter: Matter) -> Matter:
    """Write a matter and return it with its new revision.

    The file must be as it was when the matter was read from it: if it was saved elsewhere since, or if another matter
    is there, nothing is written and `MatterConflict` is raised.
    """
    path = Path(path)
    check_target(path)
    try:
        with FileLock(path.with_name(f".{path.name}.lock"), timeout=PATIENCE):
            _check_revision(path, matter)
            saved = replace(matter, revision=matter.revision + 1, saved=_now())
            write_atomically(path, json.dumps(matter_object(saved), ensure_ascii=False, indent=1) + "\n")
    except Timeout as error:
        raise MatterConflict(f"{path} is being saved by another program: try again") from error
    return saved


def _check_revision(path: Path, matter: Matter) -> None:
    """Raise an error unless the file has the revision that the matter was read from."""
    if not path.exists():
        return
    stored = read_matter(path)
    if stored.id != matter.id:
        raise MatterConflict(f"{path} is another matter, {stored.name!r:.80}: save under another name")
    if stored.revision != matter.revision:
        raise MatterConflict(
            f"{path} was saved elsewhere since you opened it (revision {stored.revision}, yours is "
            f"{matter.revision}): open it again, or save under another name"
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


# ---------------------------------------------------------------------------- JSON


def matter_object(matter: Matter) -> dict[str, Any]:
    """A matter as it is written."""
    return {"format": FORMAT, "version": VERSION, **asdict(matter)}


def matter_from(data: bytes | str, source: str = "The matter") -> Matter:
    """The matter in the content of a file; `source` names it in errors."""
    try:
        values = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InvalidMatter(f"{source} is damaged or not a matter: it is not valid JSON") from error
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise InvalidMatter(f"{source} is not a matter: it has no format {FORMAT!r}")
    version = values.get("version")
    if type(version) is not int or version < 1:
        raise InvalidMatter(f"{source} is damaged: its version is {version!r:.80}")
    if version > VERSION:
        raise InvalidMatter(f"{source} was saved by a newer rprs (version {version}): upgrade rprs to open it")
    try:
        matter = _record(Matter, {name: values[name] for name in values if name not in ("format", "version")}, "")
        for search in matter.searches:
            as_marks(**asdict(search.marks))
    except (InvalidMatter, UsageError) as error:
        raise InvalidMatter(f"{source} is damaged: {' '.join(str(error).split())}") from error  # it may quote a name
    return matter


def _value(kind: Any, value: Any, place: str) -> Any:
    """A value of a type from its JSON form; unknown fields and wrong types are errors that name their place."""
    origin, arguments = get_origin(kind), get_args(kind)
    if isinstance(kind, type) and is_dataclass(kind):
        return _record(kind, value, place)
    if origin in (Union, UnionType):  # of plain values, such as those of metadata
        return value if type(value) in arguments else _wrong(place, "a text, a number, true, false or null", value)
    if origin is Literal:
        return value if value in arguments else _wrong(place, f"one of {', '.join(map(repr, arguments))}", value)
    if origin is tuple and isinstance(value, list):
        if arguments[-1] is not Ellipsis and len(value) != len(arguments):
            _wrong(place, f"a list of {len(arguments)}", value)
        return tuple(_value(arguments[0], item, f"{place}[{at}]") for at, item in enumerate(value))
    if origin is not None and issubclass(origin, Mapping) and isinstance(value, dict):
        return {name: _value(arguments[1], item, f"{place}.{name}") for name, item in value.items()}
    if kind is Any or (isinstance(kind, type) and type(value) is kind):
        return value
    return _wrong(place, _NAMES.get(origin or kind, "an object"), value)


def _record(kind: type[Value], value: Any, place: str) -> Value:
    if not isinstance(value, dict):
        _wrong(place, "an object", value)
    hints, known = get_type_hints(kind), {each.name: each for each in fields(kind)}  # type: ignore[arg-type]  # a dataclass
    unknown = [name for name in value if name not in known]
    if unknown:
        raise InvalidMatter(f"{_place(place, unknown[0])} is unknown")
    missing = [
        each.name
        for each in known.values()
        if each.name not in value and each.default is MISSING and each.default_factory is MISSING
    ]
    if missing:
        raise InvalidMatter(f"{_place(place, missing[0])} is missing")
    return kind(**{name: _value(hints[name], item, _place(place, name)) for name, item in value.items()})


def _place(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _wrong(place: str, expected: str, value: Any) -> Any:
    raise InvalidMatter(f"{place or 'the matter'} must be {expected}. Got {value!r:.80}")
