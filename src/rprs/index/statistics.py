"""What is measured on all documents of an index after a change: norms, the language of the encoder, and the bar."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rprs.encode import Encoder
from rprs.index.calibrate import measure_calibration
from rprs.index.catalog import Catalog
from rprs.index.files import next_folder, save, sync_place
from rprs.index.language import measure_language
from rprs.index.phrases import squared_norms
from rprs.index.reader import Index
from rprs.progress import Progress

__all__ = ["calibrate", "calibrate_once", "measure"]


def measure(
    path: Path,
    catalog: Catalog,
    encoder: Callable[[], Encoder],
    progress: Progress,
    language: dict[str, Any] | None = None,
) -> bool:
    """Measure the present documents: norms for the cosine, the encoder's language, the bar; False if that was done.

    Removing documents keeps the `language` that was measured before, since measuring it loads the encoder, and the
    calibration, so that the alignment of two documents never depends on the removal of a third.
    """
    if catalog.generation is None or catalog.has_statistics:
        return False
    norms = None
    with Index(path) as snapshot:
        if language is None:
            _calibrate(catalog, snapshot)
            segments = {segment.number: segment for segment in snapshot.segments}
            language = measure_language(catalog, segments, encoder())
        if snapshot.has_phrases:
            with progress("weighing phrases", unit="postings") as advance:
                squares = squared_norms(snapshot.segments, snapshot.numbers, len(snapshot), advance)
            place = next_folder(path, "norms")
            norms = save(path, f"{place}/squared.npy", squares)
            sync_place(path, place)
    with catalog.transaction():
        catalog.use_statistics(language, norms)
    return True


def calibrate(path: Path, catalog: Catalog) -> None:
    """Measure the bar for sentences with the same idea, and store it."""
    with Index(path) as snapshot:
        _calibrate(catalog, snapshot)


def calibrate_once(path: Path, catalog: Catalog) -> None:
    """The same, if it was not measured with the encoder in use."""
    if catalog.calibration is None and catalog.generation is not None:
        calibrate(path, catalog)


def _calibrate(catalog: Catalog, snapshot: Index) -> None:
    segments = {segment.number: segment for segment in snapshot.segments}
    calibration = measure_calibration(snapshot.catalog, segments, snapshot.generation)
    with catalog.transaction():
        catalog.use_calibration(calibration)
