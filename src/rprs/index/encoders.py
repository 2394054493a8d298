"""The encoder of an index: recorded with its fingerprint, and kept in the index where it was fitted to it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from rprs import spec
from rprs.encode import Encoder, Fittable, FittedEncoder
from rprs.errors import IndexCorrupt, IndexMismatch
from rprs.files.atomic import sync_folder
from rprs.index.catalog import Catalog
from rprs.index.files import File, register

__all__ = ["Stored", "folder", "open_encoder", "reuse", "store"]


@dataclass(frozen=True, slots=True)
class Stored:
    """An encoder whose files are on disk and synced; it is in force once the catalog has its row."""

    encoder: Encoder
    generation: int
    row: tuple[int, str, str, int, str]
    files: tuple[File, ...]


def folder(generation: int) -> str:
    """Where a fitted encoder lives in the index."""
    return f"encoders/{generation:06d}"


def store(catalog: Catalog, root: Path, encoder: Encoder, component: Any, report: dict[str, Any]) -> Stored:
    """Write the next generation of encoder: its files, if the component is one that is fitted."""
    generation = (catalog.generation or 0) + 1
    files: tuple[File, ...] = ()
    if isinstance(component, Fittable):
        place = root / folder(generation)
        place.mkdir(parents=True)
        cast("FittedEncoder", encoder).save(place)
        files = tuple(register(root, f"{folder(generation)}/{file.name}") for file in sorted(place.iterdir()))
        sync_folder(place)
        sync_folder(place.parent)
    written = spec.text(component, full=True)
    row = (generation, written, encoder.fingerprint, encoder.dimension, json.dumps(report))
    return Stored(encoder, generation, row, files)


def open_encoder(catalog: Catalog, root: Path) -> Encoder:
    """The encoder in force, checked against the fingerprint that its vectors were made with."""
    generation = catalog.generation or 0
    query = "SELECT spec, fingerprint FROM encoders WHERE generation = ?"
    for written, fingerprint in catalog.rows(query, generation):
        component = spec.parse("encoder", written)
        place = root / folder(generation)
        if not isinstance(component, Fittable):
            encoder: Encoder = component.load()
        elif place.is_dir():
            encoder = component.open(place)
        else:
            raise IndexCorrupt(f"{place} is missing: open the index again if it was refitted meanwhile, or verify it")
        if encoder.fingerprint != fingerprint:
            raise IndexMismatch(
                f"{root} was encoded with {written} of the weights {fingerprint}, but those at hand are "
                f"{encoder.fingerprint}: use the same weights, or index anew"
            )
        return encoder
    raise IndexCorrupt(f"{catalog.path} does not say which encoder it uses: run `rprs verify {root}`")


def reuse(catalog: Catalog, root: Path) -> str:
    """The text of an encoder that gives the same vectors to other documents, without being fitted to them."""
    generation = catalog.generation or 0
    written = str(catalog.one("SELECT spec FROM encoders WHERE generation = ?", generation))
    if not isinstance(spec.parse("encoder", written), Fittable):
        return written
    return spec.text(spec.find("encoder", "table")(str((root / folder(generation)).resolve())), full=True)
