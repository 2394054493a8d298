"""Test collections: documents, queries, judgements, and documents excluded from the ranking of a query.

    collection = open_collection("coliee(data/coliee, year=2021)")
    for query in collection.queries(): ...

Each format is a component, whose text form is used in commands and study files. Third parties add formats through
entry points in the group `rprs.collection` and check them with `rprs.testing.collections`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any, cast

from rprs.collection.convert import Written, write_beir
from rprs.collection.source import Collection
from rprs.errors import UsageError
from rprs.spec import parse

__all__ = ["Collection", "Written", "open_collection", "write_beir"]


def open_collection(text: str | PurePath, base: Path | None = None) -> Collection:
    """The collection that a text describes; the path of a folder means a BEIR folder.

    Relative paths in the text are relative to `base`, by default the current folder.
    """
    if not isinstance(text, str | PurePath):
        raise UsageError(f"A collection is a folder or a text such as 'beir(folder)'. Got {text!r:.80}")
    base, text = base or Path(), str(text)
    if (base / text).is_dir():
        from rprs.collection.beir import Beir

        return Beir(str(base / text))
    collection: Any = parse("collection", text)
    paths: tuple[str, ...] = getattr(collection, "paths", ("folder",))
    values = {name: getattr(collection, name, None) for name in paths}
    return cast("Collection", replace(collection, **{name: str(base / path) for name, path in values.items() if path}))
