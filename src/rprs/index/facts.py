"""What an index holds and what it was made with, as plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rprs.index.catalog import Catalog
from rprs.index.reader import Index

__all__ = ["describe_encoder", "encoder_of", "facts_of", "size_of"]


def facts_of(path: Path) -> dict[str, Any]:
    """Everything about an index, finished or not."""
    catalog = Catalog(path, write=False)
    try:
        live = "SELECT count(*), coalesce(sum(sentences), 0), coalesce(sum(tokens), 0) FROM documents WHERE removed = 0"
        documents, sentences, terms = catalog.rows(live)[0]
        generation, segments = catalog.generation, catalog.segments()
        waiting = [row.number for row in segments if generation is None or row.generation != generation]
        pending = "SELECT count(*) FROM documents WHERE removed = 0 AND segment IN (SELECT value FROM json_each(?))"
        return {
            "index": str(path),
            "documents": documents,
            "sentences": sentences,
            "terms": terms,
            "pending": catalog.one(pending, json.dumps(waiting)),
            "removed": catalog.one("SELECT count(*) FROM documents WHERE removed = 1"),
            "segments": len(segments),
            "bytes": size_of(path),
            "format": int(catalog.setting("format") or 0),
            "splitter": catalog.setting("splitter"),
            "analyzer": catalog.setting("analyzer"),
            "encoder": None if generation is None else encoder_of(catalog, generation),
            "fingerprint": None if generation is None else _fingerprint(path),
        }
    finally:
        catalog.close()


def encoder_of(catalog: Catalog, generation: int) -> dict[str, Any]:
    """The encoder in force; `asked` is what the index was made with, whose teacher a small collection gets itself."""
    query = "SELECT spec, fingerprint, dimension, report FROM encoders WHERE generation = ?"
    spec, fingerprint, dimension, report = catalog.rows(query, generation)[0]
    return {
        "spec": spec,
        "asked": catalog.setting("encoder"),
        "fingerprint": fingerprint,
        "dimension": dimension,
        "report": json.loads(report),
    }


def _fingerprint(path: Path) -> str:
    with Index(path) as index:
        return index.fingerprint


def size_of(path: Path) -> int:
    """Bytes on disk."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def describe_encoder(encoder: Mapping[str, Any]) -> str:
    """An encoder in a line; of a fitted one, how well it agrees with its teacher."""
    spec, report = str(encoder["spec"]), encoder["report"]
    if "agreement" in report:
        return (
            f"{spec}, agreement with its teacher {report['agreement']:.3f} "
            f"(mean cosine on {report['held_out']:,} of {report['sample']:,} sentences, held out)"
        )
    if spec != encoder["asked"]:
        return f"{spec}, the teacher itself: the collection is too small to gain from a fit"
    return spec
