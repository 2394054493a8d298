"""Repair an index: what is damaged is made anew from the texts, and documents without a sound text are removed.

Everything in a segment follows from the texts of its documents, so that only damage to the catalog loses anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rprs.document import Document
from rprs.errors import IndexCorrupt
from rprs.index.catalog import Catalog
from rprs.index.damage import Damage, damaged_files, document_damage
from rprs.index.files import register
from rprs.index.rows import StoredDocument, stored_document
from rprs.progress import Progress

__all__ = ["Diagnosis", "Repaired", "accept_listing", "diagnose", "sound_documents"]


@dataclass(frozen=True, slots=True)
class Repaired:
    """What a repair found and did: files made anew, documents that were indexed again, and lines on removed ones."""

    files: tuple[str, ...] = ()
    documents: int = 0
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is damaged."""

    files: tuple[Damage, ...]
    segments: tuple[int, ...]  # with a damaged file, or all of them if the places of the documents cannot be trusted
    lost: dict[str, str]  # the problem of each document that must be removed, by its id

    @property
    def encoder(self) -> bool:
        """Whether the fitted encoder is damaged: then all vectors must be made with another."""
        return any(damage.path.startswith("encoders/") for damage in self.files)


def diagnose(root: Path, catalog: Catalog, progress: Progress) -> Diagnosis:
    """Check everything; an error if the catalog itself cannot be read."""
    problems = catalog.integrity_problems()
    if problems:
        raise IndexCorrupt(
            f"{catalog.path} itself is damaged ({problems[0]}) and cannot be repaired: restore a backup, or index anew"
        )
    files = tuple(damaged_files(root, catalog.files(), progress))
    segments = {damage.segment for damage in files if damage.segment is not None}
    every = {row.number for row in catalog.segments()} | {segment for _, segment, _ in catalog.places()}
    if not _places_are_sound(catalog):
        segments = every
    lost = {
        stored.id: problem
        for number in sorted(every)
        for stored in catalog.stored_documents(number)
        if (problem := document_damage(stored)) is not None
    }
    return Diagnosis(files, tuple(sorted(segments)), lost)


def _places_are_sound(catalog: Catalog) -> bool:
    try:
        if catalog.has_sums:
            catalog.check_segments()
            catalog.check_places()
    except IndexCorrupt:
        return False
    return not catalog.ids_without_segment()


def accept_listing(root: Path, catalog: Catalog, damage: Diagnosis) -> None:
    """Store the checksums of the listing and of the sound files as they are, so that the repair can change them."""
    if not catalog.has_sums:
        return
    bad = {each.path for each in damage.files}
    sound = [register(root, file.path) for file in catalog.files() if file.path not in bad]
    with catalog.unchecked_transaction():
        catalog.store_sums(sound)


def sound_documents(catalog: Catalog, segments: tuple[int, ...]) -> Iterator[Document]:
    """The documents of some segments that are as they were stored."""
    for number in segments:
        stored: StoredDocument
        for stored in list(catalog.stored_documents(number)):
            if document_damage(stored) is None:
                yield stored_document(stored)
