"""A description of an index as plain values: its size, settings and encoder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rprs.index.catalog import Catalog
from rprs.index.reader import Index

__all__ = ["describe_encoder", "describe_language", "encoder_info", "index_info", "size_on_disk"]


def index_info(path: Path) -> dict[str, Any]:
    """Size, settings, encoder and fingerprint of an index, complete or not."""
    catalog = Catalog(path, write=False)
    try:
        documents, sentences, terms = catalog.totals()
        generation, segments = catalog.generation, catalog.segments()
        waiting = [row.number for row in segments if generation is None or row.generation != generation]
        return {
            "index": str(path),
            "documents": documents,
            "sentences": sentences,
            "terms": terms,
            "pending": catalog.live(waiting),
            "removed": catalog.removed(),
            "segments": len(segments),
            "bytes": size_on_disk(path),
            "format": int(catalog.setting("format") or 0),
            "splitter": catalog.setting("splitter"),
            "analyzer": catalog.setting("analyzer"),
            "phrases": catalog.phrases,
            "encoder": encoder_info(catalog),
            "language": catalog.language or None,
            "fingerprint": None if generation is None else _fingerprint(path),
        }
    finally:
        catalog.close()


def encoder_info(catalog: Catalog) -> dict[str, Any] | None:
    """The encoder in use (`spec`) and the one in the settings (`asked`), which differ where the teacher is used."""
    encoder = catalog.encoder()
    if encoder is None:
        return None
    return {
        "spec": encoder.spec,
        "asked": catalog.setting("encoder"),
        "fingerprint": encoder.fingerprint,
        "dimension": encoder.dimension,
        "report": encoder.measurements,
    }


def _fingerprint(path: Path) -> str:
    with Index(path) as index:
        return index.fingerprint


def size_on_disk(path: Path) -> int:
    """The size of an index in bytes."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def describe_language(language: Mapping[str, Any] | None) -> str:
    """Whether the encoder knows the language of the collection, in one line."""
    if not language:
        return "not measured: the encoder has no tokenizer"
    figures = f"{language['pieces']:.2f} tokens per word, {language['unknown']:.0%} of the letters unknown"
    if language["knows"]:
        return f"known to the encoder ({figures})"
    return f"unknown to the encoder ({figures}): the default ranks by words and phrases alone"


def describe_encoder(encoder: Mapping[str, Any] | None) -> str:
    """An encoder in one line; for a fitted one, with its agreement with its teacher."""
    if encoder is None:
        return "none yet"
    spec, report = str(encoder["spec"]), encoder["report"]
    if "agreement" in report:
        return (
            f"{spec}, agreement with its teacher {report['agreement']:.3f} "
            f"(mean cosine on {report['held_out']:,} of {report['sample']:,} sentences, held out)"
        )
    if spec != encoder["asked"]:
        return f"{spec}, the teacher itself: the collection is too small to gain from a fit"
    return spec
