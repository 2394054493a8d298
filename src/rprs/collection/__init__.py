"""Collections that systems are measured on: documents, queries, judgements, and what must not be ranked.

    collection = open_collection("coliee(data/coliee, year=2021)")
    for query in collection.queries(): ...

Each format is a component, so that its text form is the argument of a command and the value in a study. Third parties
add theirs through entry points in the group `rprs.collection`, and check them with `rprs.testing.collections`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from rprs.collection.convert import Written, write_beir
from rprs.collection.source import Collection
from rprs.spec import parse

__all__ = ["Collection", "Written", "open_collection", "write_beir"]


def open_collection(text: str, base: Path | None = None) -> Collection:
    """The collection that a text describes; the path of a folder is a BEIR folder.

    Relative paths in the text are relative to `base`, or else to the folder at hand.
    """
    base = base or Path()
    if (base / text).is_dir():
        from rprs.collection.beir import Beir

        return Beir(str(base / text))
    found: Any = parse("collection", text)
    paths: tuple[str, ...] = getattr(found, "paths", ("folder",))
    given = {name: getattr(found, name, None) for name in paths}
    return cast("Collection", replace(found, **{name: str(base / path) for name, path in given.items() if path}))
