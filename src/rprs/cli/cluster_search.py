"""The verbs that search a cluster: those of one index, with the same options and the same output."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, get_type_hints

import typer

from rprs.cli import covering, passages, running, searching
from rprs.cli.cluster_options import Address, Deadline, Generation, Url

__all__ = ["on_cluster", "searching_verbs"]

ALONE = "A cluster is searched by itself: there is no --also."
OWN = {"address": (Address, None), "generation": (Generation, None), "deadline": (Deadline, 5.0)}


def on_cluster(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb of one index as a verb of a cluster."""

    @wraps(verb)
    def clustered(context: typer.Context, url: str, **options: Any) -> None:
        for name in OWN:  # `open_collection` reads them from the context
            del options[name]
        verb(context=context, path=Path(url), **options, **absent)

    hints = get_type_hints(verb, include_extras=True)
    absent = {name: None for name in ("also",) if name in hints}  # a cluster is searched by itself
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
        *(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=each, default=default)
            for name, (each, default) in OWN.items()
        ),
    ]
    clustered.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # Typer reads it
    clustered.__annotations__ = {each.name: each.annotation for each in parameters}
    clustered.__doc__ = _docstring(verb, ALONE if absent else "")
    del clustered.__wrapped__  # its annotations are those of one index
    return clustered


def _docstring(verb: Callable[..., None], note: str) -> str:
    """The help of a verb with a note, and with the address of a cluster in its examples."""
    paragraphs = inspect.cleandoc(verb.__doc__ or "").split("\n\n")
    kept = [paragraph for paragraph in paragraphs if "--also" not in paragraph]
    first = next(place for place, paragraph in enumerate(kept) if paragraph.startswith("Example"))
    kept[first:first] = [note] if note else []
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
