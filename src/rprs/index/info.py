"""A description of an index as plain values: its size, settings and encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rprs.index.catalog import Catalog
from rprs.index.encoders import grown_enough
from rprs.index.language import MANY_PIECES
from rprs.index.reader import Index

__all__ = [
    "describe_calibration",
    "describe_encoder",
    "describe_language",
    "encoder_info",
    "index_info",
    "language_advice",
    "size_on_disk",
]


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
            "vectors": catalog.vectors,
            "encoder": encoder_info(catalog),
            "language": catalog.language or None,
            "same_idea": None if catalog.calibration is None else catalog.calibration.object(),
            "fingerprint": None if generation is None else _fingerprint(path),
        }
    finally:
        catalog.close()


def encoder_info(catalog: Catalog) -> dict[str, Any] | None:
    """The encoder in use (`spec`) and the one in the settings (`asked`), which differ where the teacher is used.

    `grown_enough`: the index began too small for a fit, and a refit is worth its time by now.
    """
    encoder = catalog.encoder()
    if encoder is None:
        return None
    return {
        "spec": encoder.spec,
        "asked": catalog.setting("encoder"),
        "fingerprint": encoder.fingerprint,
        "dimension": encoder.dimension,
        "report": encoder.measurements,
        "grown_enough": grown_enough(catalog),
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
    if confused := language.get("confused"):
        figures += f", {confused:.0%} of the words confused with others"
    unknown = _unknown_scripts(language)
    if not language["knows"]:
        return f"unknown to the encoder ({figures}): the default ranks by words and phrases alone"
    if unknown:
        return f"known to the encoder ({figures}), except the script {_and(unknown)}, ranked by words and phrases alone"
    if language["pieces"] > MANY_PIECES:
        return f"partly known to the encoder ({figures}): a multilingual model may rank better"
    return f"known to the encoder ({figures})"


def language_advice(language: Mapping[str, Any] | None) -> str | None:
    """What to say about the language once, when documents were indexed; nothing if the encoder knows it."""
    if not language:
        return None
    unknown, models = _unknown_scripts(language), "see docs/how-to/choose-an-encoder.md"
    if not language["knows"]:
        return (
            "The encoder does not know the language of these documents, so the default ranks them by words and phrases "
            f"alone. A multilingual model ranks by meaning, too: {models}"
        )
    if unknown:
        return (
            f"The encoder does not know the script {_and(unknown)}, so the default ranks for queries in it by words "
            f"and phrases alone. A multilingual model knows more scripts: {models}"
        )
    if language["pieces"] > MANY_PIECES:
        return f"The encoder was probably not trained on the language of these documents: {models}"
    return None


def describe_calibration(calibration: Mapping[str, Any] | None) -> str:
    """The bar for sentences with the same idea, in one line."""
    if calibration is None:
        return "not measured yet: it is measured when it is needed; `rprs upgrade` stores it"
    bars, measured = calibration["bars"], f"measured on {calibration['documents']:,} documents"
    if not bars:
        return "not measured: the collection is too small, so the usual bars apply"
    sizes = " and ".join(f"{bars[exponent]:.2f} among {2**exponent:,}" for exponent in (4, 10))
    return f"from a similarity of {sizes} sentences, {measured}"


def _unknown_scripts(language: Mapping[str, Any]) -> list[str]:
    """The scripts of the collection that the encoder does not know."""
    return [script for script, known in language.get("scripts", {}).items() if not known]


def _and(names: Sequence[str]) -> str:
    return " and ".join(names)


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
    if encoder["grown_enough"]:
        return f"{spec}, the teacher itself: the collection is now large enough for a fit, run `rprs refit`"
    if spec != encoder["asked"]:
        return f"{spec}, the teacher itself: the collection is too small to gain from a fit"
    return spec
