"""The encoder of an index: fitted or loaded, listed with its fingerprint, and stored in the index if it was fitted."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from rprs import spec
from rprs.encode import Encoder, Fittable, FittedEncoder, models
from rprs.errors import IndexCorrupt, IndexMismatch, ModelError
from rprs.files.hashes import sha256
from rprs.index.catalog import Catalog
from rprs.index.files import File, file_mode, folder_mode, register, sync_place
from rprs.index.rows import EncoderRow
from rprs.index.sample import sample_sentences
from rprs.index.segment import Segment
from rprs.progress import Progress

__all__ = [
    "Load",
    "LoadedEncoder",
    "StoredEncoder",
    "fit_encoder",
    "folder",
    "grown_enough",
    "load_encoder",
    "load_once",
    "open_encoder",
    "reusable_encoder",
    "store_encoder",
]


@dataclass(frozen=True, slots=True)
class LoadedEncoder:
    """An encoder ready for use, with the component that it was made from."""

    encoder: Encoder
    component: Any
    report: Mapping[str, Any] = field(default_factory=dict)

    def row(self, generation: int) -> EncoderRow:
        """The encoder as the catalog lists it."""
        text = spec.text(self.component, full=True)
        report = json.dumps(dict(self.report))
        return EncoderRow(generation, text, self.encoder.fingerprint, self.encoder.dimension, report)


@dataclass(frozen=True, slots=True)
class StoredEncoder:
    """An encoder whose files are on disk and synced; it is in use once the catalog lists it."""

    encoder: Encoder
    row: EncoderRow
    files: tuple[File, ...]


def folder(generation: int) -> str:
    """The folder of a fitted encoder, within the index."""
    return f"encoders/{generation:06d}"


# ---------------------------------------------------------------------------- making an encoder


def load_encoder(component: Any, progress: Progress) -> LoadedEncoder:
    """Load an encoder that is not fitted to a collection."""
    return LoadedEncoder(component.load(progress), component)


_LAST_LOADED: dict[str, LoadedEncoder] = {}  # at most one: loading a model takes longer than comparing a few texts


def load_once(component: Any, progress: Progress) -> LoadedEncoder:
    """Load an encoder, or take the one that the last call loaded."""
    key = spec.text(component, full=True)
    loaded = _LAST_LOADED.get(key)
    if loaded is None:
        loaded = load_encoder(component, progress)
        _LAST_LOADED.clear()
        _LAST_LOADED[key] = loaded
    return loaded


Load = Callable[[Any, Progress], LoadedEncoder]


def fit_encoder(
    catalog: Catalog,
    segments: Callable[[], Mapping[int, Segment]],
    component: Fittable,
    progress: Progress,
    load: Load = load_encoder,
) -> LoadedEncoder:
    """Fit an encoder to the collection; for one no larger than the sample, load its teacher.

    The teacher can encode so small a collection in the time that a fit would take.
    """
    _, sentences, _ = catalog.totals()
    if sentences <= component.sample:
        return load(component.teacher, progress)
    encoder: Any = component.fit(sample_sentences(catalog, segments(), component.sample), progress)
    return LoadedEncoder(encoder, component, encoder.report)


def store_encoder(catalog: Catalog, root: Path, loaded: LoadedEncoder) -> StoredEncoder:
    """Write the next generation of the encoder; it has files only if it is a fitted one."""
    generation = (catalog.generation or 0) + 1
    files: tuple[File, ...] = ()
    if isinstance(loaded.component, Fittable):
        place = root / folder(generation)
        place.mkdir(folder_mode(root), parents=True)
        cast("FittedEncoder", loaded.encoder).save(place)
        for file in place.iterdir():
            file.chmod(file_mode(root))
        files = tuple(register(root, f"{folder(generation)}/{file.name}") for file in sorted(place.iterdir()))
        sync_place(root, folder(generation))
    return StoredEncoder(loaded.encoder, loaded.row(generation), files)


# ---------------------------------------------------------------------------- the encoder of an index


def grown_enough(catalog: Catalog) -> bool:
    """Whether an index that began too small for a fit, and uses the teacher, is large enough by now."""
    row, component = catalog.encoder(), spec.parse("encoder", str(catalog.setting("encoder")))
    if row is None or not isinstance(component, Fittable) or isinstance(spec.parse("encoder", row.spec), Fittable):
        return False
    _, sentences, _ = catalog.totals()
    return sentences > component.sample


def open_encoder(catalog: Catalog, root: Path, generation: int | None = None) -> Encoder:
    """The encoder in use, or that of a refit, checked against the fingerprint of the weights that made the vectors."""
    row = catalog.encoder(generation)
    if row is None:
        raise IndexCorrupt(f"{catalog.path} does not say which encoder it uses: run `rprs verify {root}`")
    component = spec.parse("encoder", row.spec)
    place = root / folder(row.generation)
    if not isinstance(component, Fittable):
        _require_model(component, root)
        encoder: Encoder = component.load()
    elif place.is_dir():
        _check_files(catalog, root, folder(row.generation))
        encoder = component.open(place)
    else:
        raise IndexCorrupt(f"{place} is missing: open the index again if it was refitted meanwhile, or verify it")
    if encoder.fingerprint != row.fingerprint:
        raise IndexMismatch(
            f"{root} was encoded with {row.spec} of the weights {row.fingerprint}, but those at hand are "
            f"{encoder.fingerprint}: use the same weights, or index anew"
        )
    return encoder


def _require_model(component: Any, root: Path) -> None:
    """Raise `ModelError` if the index names a model that is not on this machine: an index must not cause downloads.

    The default model is an exception, and RPRS_DOWNLOAD=on allows all.
    """
    model = getattr(component, "model", models.DEFAULT)
    if model == models.DEFAULT or os.environ.get("RPRS_DOWNLOAD") == "on" or models.find_here(model) is not None:
        return
    raise ModelError(
        f"{root} was encoded with the model {model!r}, which is not on this machine: if you trust it, set "
        "RPRS_DOWNLOAD=on to download it, or copy its folder and set RPRS_MODELS"
    )


def _check_files(catalog: Catalog, root: Path, place: str) -> None:
    """Raise `IndexCorrupt` if a file of the fitted encoder, such as its table or its tokenizer, has changed."""
    for file in catalog.files():
        if file.path.startswith(f"{place}/") and (
            not (root / file.path).is_file() or sha256(root / file.path) != file.sha256
        ):
            raise IndexCorrupt(
                f"{root / file.path} has changed: run `rprs repair {root}`, which fits the encoder again"
            )


def reusable_encoder(catalog: Catalog, root: Path) -> str:
    """The text of an encoder that gives the same vectors to other documents, without being fitted to them."""
    row = catalog.encoder()
    if row is None:
        raise IndexCorrupt(f"{catalog.path} does not say which encoder it uses: run `rprs verify {root}`")
    if not isinstance(spec.parse("encoder", row.spec), Fittable):
        return row.spec
    return spec.text(spec.find("encoder", "table")(str((root / folder(row.generation)).resolve())), full=True)
