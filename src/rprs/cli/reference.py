"""The reference of the command line, made from the help texts: `python -m rprs.cli.reference > docs/cli.md`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from rprs.cli import app

HEAD = """# Command line

<!-- Made by `python -m rprs.cli.reference > docs/cli.md`; a test compares. -->

Data goes to standard output; remarks and progress go to standard error. The exit code is 0 when all went well, 1 when
`rprs verify` finds an index that is not whole or when nobody reads the output any more, 2 for a user's error, which is
one line on standard error, and 130 for an interruption.

Encoders, splitters, analyzers, first stages and re-rankers are written as text, `name(parameter=value, ...)`; what is
left out has its default. A filter of `--where` compares metadata fields, `id` and `title` by `=`, `!=`, `<`, `<=`, `>`,
`>=` and `~` (contains), or asks `in (a, b)`, `missing` and `present`, joined by `and`, `or`, `not` and brackets.
"""


def reference() -> str:
    """All verbs in Markdown."""
    group: Any = get_command(app)
    shown = [parameter for parameter in group.params if "completion" not in parameter.name]
    parts = [HEAD, "## General options\n", *_table(shown)]
    for name, command in verbs(group):
        parts += [f"## rprs {name}\n", *_prose(command.help), f"    {_usage(name, command.params)}\n"]
        parts += _table(command.params)
    return "\n".join(parts)


def verbs(group: Any) -> Iterator[tuple[str, Any]]:
    """All verbs with their names; those of a group have its name before theirs."""
    for name, command in group.commands.items():
        inner = verbs(command) if hasattr(command, "commands") else [("", command)]
        yield from ((f"{name} {own}".rstrip(), verb) for own, verb in inner)


def _prose(help: str) -> Iterator[str]:
    """The paragraphs, with the examples as one block of code."""
    paragraphs = help.split("\n\n")
    examples = [paragraph.removeprefix("Example: ") for paragraph in paragraphs if paragraph.startswith("Example: ")]
    yield from (f"{paragraph}\n" for paragraph in paragraphs if not paragraph.startswith("Example: "))
    yield "\n".join(["```sh", *examples, "```", ""])


def _usage(name: str, parameters: list[Any]) -> str:
    words = [_argument(parameter) for parameter in parameters if parameter.param_type_name == "argument"]
    needed = [f"{p.opts[0]} {p.metavar}" for p in parameters if p.param_type_name == "option" and p.required]
    return " ".join(["rprs", name, *words, *needed, "[OPTIONS]"])


def _argument(parameter: Any) -> str:
    name = f"{parameter.metavar}..." if parameter.nargs == -1 else parameter.metavar
    return name if parameter.required else f"[{name}]"


def _table(parameters: list[Any]) -> Iterator[str]:
    rows = [
        f"| `{_name(parameter)}` | {parameter.help} | {_default(parameter)} |".replace("|  |", "| |")
        for parameter in parameters
    ]
    yield "\n".join(["| argument or option | what it does | default |", "|---|---|---|", *rows, ""])


def _name(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return str(parameter.metavar)
    names = ", ".join(parameter.opts)
    return names if getattr(parameter, "is_flag", False) else f"{names} {parameter.metavar or parameter.name.upper()}"


def _default(parameter: Any) -> str:
    if isinstance(parameter.show_default, str):
        return f"`{parameter.show_default}`"
    if parameter.default is None or isinstance(parameter.default, bool) or parameter.required:
        return "required" if parameter.required else ""
    return f"`{parameter.default}`"


if __name__ == "__main__":
    print(reference(), end="")
