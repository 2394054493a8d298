"""The reference of the Python API, made from its docstrings: `python scripts/python_api.py > docs/python-api.md`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import Any, is_typeddict

import rprs
from rprs import matters

HEAD = """# Python API

<!-- Made by `python scripts/python_api.py > docs/python-api.md`; a test compares. -->

Every name on this page is an attribute of the package: `import rprs`, then `rprs.Searcher`; those of
[matters](#matters) are attributes of `rprs.matters`. For examples, see [use it from Python](how-to/python.md); for the
words, the [glossary](glossary.md). Everything raised on purpose is a [`RprsError`](#rprserror).
"""
WIDTH = 100  # of a signature; a longer one has one parameter per line
LONG = 60  # characters of a default value; a longer one is left out


def reference() -> str:
    """All public names in Markdown."""
    sections = {"Functions": _functions(), "Classes": _classes(), "Errors": _errors()}
    contents = [f"**{title}:** {_links(names)}\n" for title, names in sections.items()]
    within = _matters()
    parts = [HEAD, *contents, f"**Matters:** {_links(within)}\n"]
    for title, names in sections.items():
        parts.append(f"## {title}\n")
        for name in names:
            parts += _entry(name, getattr(rprs, name))
    parts += ["## Matters\n", f"{_text(matters)}\n"]
    for name, value in within.items():
        parts += _entry(name, value)
    return "\n".join(parts)


def _links(names: Iterable[str]) -> str:
    return ", ".join(f"[{name}](#{name.lower().replace('.', '')})" for name in names)


def _entry(name: str, value: Any) -> Iterator[str]:
    return _class(name, value) if inspect.isclass(value) else _function(name, value)


def undocumented() -> list[str]:
    """The public names, and the public methods of classes, without a docstring."""
    names = []
    for name, value in [*((name, getattr(rprs, name)) for name in rprs.__all__), *_matters().items()]:
        names += [] if _text(value) else [name]
        if inspect.isclass(value):
            names += [f"{name}.{member}" for member, each in _members(value) if not _text(each)]
    return names


# ---------------------------------------------------------------------------- sorting


def _functions() -> list[str]:
    return sorted(name for name in rprs.__all__ if not inspect.isclass(getattr(rprs, name)))


def _classes() -> list[str]:
    return sorted({*rprs.__all__} - {*_functions(), *_errors()}, key=str.lower)


def _errors() -> list[str]:
    values = {name: getattr(rprs, name) for name in rprs.__all__}
    return sorted(name for name, value in values.items() if inspect.isclass(value) and issubclass(value, Exception))


def _matters() -> dict[str, Any]:
    """The functions and classes of `rprs.matters`; its constants are described with them."""
    values = {f"matters.{name}": getattr(matters, name) for name in matters.__all__}
    return {name: value for name, value in values.items() if callable(value)}


# ---------------------------------------------------------------------------- writing


def _function(name: str, function: Any) -> Iterator[str]:
    yield f"### {name}\n"
    yield _code(_signature(f"rprs.{name}", function))
    yield f"{_text(function)}\n"


def _class(name: str, cls: type[Any]) -> Iterator[str]:
    yield f"### {name}\n"
    if issubclass(cls, Exception):
        parent = cls.__mro__[1].__name__
        link = f"[`{parent}`](#{parent.lower()})" if parent in rprs.__all__ else f"`{parent}`"
        yield f"{_text(cls)} A kind of {link}.\n"
        return
    if not getattr(cls, "_is_protocol", False) and not is_typeddict(cls):
        yield _code(_signature(f"rprs.{name}", cls))
    yield f"{_text(cls)}\n"
    yield from _fields(cls)
    for member, value in _members(cls):
        yield f"#### {name}.{member}\n"
        if not isinstance(value, property | cached_property):
            owner = name if isinstance(value, classmethod | staticmethod) else name.rpartition(".")[2].lower()
            yield _code(_signature(f"{owner}.{member}", value))
        else:
            yield f"A property{_type(value)}.\n"
        yield f"{_text(value)}\n"


def _fields(cls: type[Any]) -> Iterator[str]:
    """The fields of a dataclass or of keyword arguments as a table, if comments in the source say what they mean."""
    names = [field.name for field in fields(cls) if not field.name.startswith("_")] if is_dataclass(cls) else []
    source = inspect.getsource(cls)
    if is_typeddict(cls):  # before Python 3.12, it does not know what it inherits from
        names = [name for name in cls.__annotations__ if f"    {name}: " in source]
    lines = {name: re.search(rf"^    {name}: (.*?)(?: = .*?)?(?:  # (.*))?$", source, re.MULTILINE) for name in names}
    if not any(line and line[2] for line in lines.values()):
        return
    yield "| field | type | |\n|---|---|---|"
    for name, line in lines.items():
        kind, comment = (cell.replace("|", r"\|") for cell in (line.groups("") if line else ("", "")))
        yield f"| `{name}` | `{kind}` | {comment} |".replace("|  |", "| |")
    yield ""


def _members(cls: type[Any]) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that a class defines itself, in its order."""
    for name, value in vars(cls).items():
        plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if not name.startswith("_") and (inspect.isfunction(plain) or isinstance(plain, property | cached_property)):
            yield name, value


def _code(signature: str) -> str:
    return f"```text\n{signature}\n```\n"


def _text(value: Any) -> str:
    plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    return inspect.cleandoc(plain.__doc__ or "")


def _type(value: property | cached_property[Any]) -> str:
    function = value.fget if isinstance(value, property) else value.func
    returned = inspect.signature(function).return_annotation if function else inspect.Signature.empty
    return "" if returned is inspect.Signature.empty else f" of type `{_annotation(returned)}`"


# ---------------------------------------------------------------------------- signatures


def _signature(name: str, value: Any) -> str:
    """How a function, a method or a class is called: `rprs.build(path: str | Path, ...) -> Added`."""
    function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    signature = inspect.signature(function)
    words = list(_parameters(each for each in signature.parameters.values() if each.name not in ("self", "cls")))
    returned = "" if inspect.isclass(value) else f" -> {_annotation(signature.return_annotation)}"
    line = f"{name}({', '.join(words)}){returned}"
    return line if len(line) <= WIDTH else "\n".join([f"{name}(", *(f"    {word}," for word in words), f"){returned}"])


def _parameters(parameters: Iterable[inspect.Parameter]) -> Iterator[str]:
    starred = False
    for each in parameters:
        if each.kind is each.VAR_POSITIONAL:
            starred = True
        if each.kind is each.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        yield _parameter(each)


def _parameter(parameter: inspect.Parameter) -> str:
    stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**" * (parameter.kind is parameter.VAR_KEYWORD)
    kind = "" if parameter.annotation is parameter.empty else f": {_annotation(parameter.annotation)}"
    if parameter.default is parameter.empty:
        return f"{stars}{parameter.name}{kind}"
    return f"{parameter.name}{kind}{' = ' if kind else '='}{_default(parameter.default)}"


def _annotation(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    return str(annotation.__name__) if inspect.isclass(annotation) else str(annotation)


def _default(value: Any) -> str:
    """The default as Python; a long one, and one without a literal such as a function, is `...`."""
    text = repr(value)
    return "..." if text.startswith("<") or len(text) > LONG else text


if __name__ == "__main__":
    print(reference(), end="")
