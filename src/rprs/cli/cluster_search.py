"""The verbs that search a cluster: those of one index, with the same options and the same output."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from rprs.cli import covering, passages, running, searching

__all__ = ["Address", "Url", "on_cluster", "searching_verbs"]

PANEL = "Cluster"
Url = Annotated[
    str,
    typer.Argument(metavar="URL", help="The cluster: a folder, or s3://BUCKET/PATH.", show_default=False),
]
Address = Annotated[
    str | None,
    typer.Option(
        help="The head of the Ray cluster, as HOST:PORT; this machine must be one of its nodes. "
        "Without it, all work is done in this process.",
        metavar="HOST:PORT",
        envvar="RAY_ADDRESS",
        rich_help_panel=PANEL,
        show_default="this process",
    ),
]
Generation = Annotated[
    int | None,
    typer.Option(help="An earlier generation of the cluster.", min=1, rich_help_panel=PANEL, show_default="the newest"),
]
Deadline = Annotated[
    float,
    typer.Option(
        help="Seconds that a replica may take to answer before another one is asked.", min=0.1, rich_help_panel=PANEL
    ),
]
OWN = {"address": (Address, None), "generation": (Generation, None), "deadline": (Deadline, 5.0)}


def on_cluster(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb of one index as a verb of a cluster."""

    @wraps(verb)
    def clustered(context: typer.Context, url: str, **options: Any) -> None:
        for name in OWN:  # `open_collection` reads them from the context
            del options[name]
        verb(context, Path(url), **options)

    hints = get_type_hints(verb, include_extras=True)
    inherited = [
        parameter.replace(annotation=hints[parameter.name])
        for parameter in inspect.signature(verb).parameters.values()
        if parameter.name not in ("context", "path", "also")
    ]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [
        inspect.Parameter("context", kind, annotation=typer.Context),
        inspect.Parameter("url", kind, annotation=Url),
        *inherited,
        *(inspect.Parameter(name, kind, annotation=each, default=default) for name, (each, default) in OWN.items()),
    ]
    clustered.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # Typer reads it
    clustered.__annotations__ = {each.name: each.annotation for each in parameters}
    clustered.__doc__ = _docstring(verb)
    del clustered.__wrapped__  # its annotations are those of one index
    return clustered


def _docstring(verb: Callable[..., None]) -> str:
    """The help of a verb with the address of a cluster in its examples."""
    paragraphs = inspect.cleandoc(verb.__doc__ or "").split("\n\n")
    kept = [paragraph for paragraph in paragraphs if "--also" not in paragraph]
    name = verb.__name__
    examples = (re.sub(rf"rprs {name} (\w+)\.rprs", rf"rprs cluster {name} /srv/\1", each) for each in kept)
    return "\n\n".join(each.replace("document of the index", "document of the cluster") for each in examples)


VERBS: tuple[Callable[..., None], ...] = (
    searching.search,
    searching.explain,
    covering.coverage,
    passages.passages,
    running.run,
)
searching_verbs = tuple(on_cluster(verb) for verb in VERBS)
