"""Groups of options that several verbs share: one parameter of a function, several options on the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

from rprs.cli.options import (
    FIRST,
    RERANK,
    AlsoIndexes,
    Before,
    Depth,
    ExcludeForQuery,
    First,
    KeepSelf,
    QueryFiles,
    QueryIds,
    QueryText,
    Rerank,
    SettingsFile,
    SystemName,
    Undated,
    UndatedDocuments,
    Where,
)
from rprs.cli.steering import Ignore, Key, Like, Unlike
from rprs.spec import DEPTH

__all__ = ["QueryGroup", "RestrictionGroup", "SystemGroup", "with_groups"]


@dataclass(frozen=True, slots=True)
class QueryGroup:
    """What a query consists of besides its first file, and further indexes to search."""

    more: QueryFiles = None
    text: QueryText = None
    ids: QueryIds = None
    also: AlsoIndexes = None


@dataclass(frozen=True, slots=True)
class SystemGroup:
    """The system that ranks."""

    system: SystemName = None
    first: First = FIRST
    rerank: Rerank = RERANK
    depth: Depth = DEPTH
    settings: SettingsFile = None


@dataclass(frozen=True, slots=True)
class RestrictionGroup:
    """What may be a hit, and marks that steer the ranking."""

    where: Where = None
    before: Before = None
    undated: UndatedDocuments = Undated.keep
    keep_self: KeepSelf = False
    exclude: ExcludeForQuery = None
    like: Like = None
    unlike: Unlike = None
    key: Key = None
    ignore: Ignore = None


def with_groups(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb with the options of each group in place of the group, in the same order."""
    hints = get_type_hints(verb, include_extras=True)
    groups: dict[str, type[Any]] = {}
    parameters: list[Parameter] = []
    for name, parameter in signature(verb).parameters.items():
        if is_dataclass(hints[name]):
            groups[name] = hints[name]
            parameters += _options(hints[name])
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[name]))

    @wraps(verb)
    def expanded(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{each.name: values.pop(each.name) for each in fields(group)})
        verb(**values)

    expanded.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # typer reads the options from both
    expanded.__annotations__ = {each.name: each.annotation for each in parameters}
    return expanded


def _options(group: type[Any]) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=hints[each.name])
        for each in fields(group)
    ]
