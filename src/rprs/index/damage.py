"""Damaged files of an index, found by their checksums, and the documents that are affected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rprs.errors import IndexCorrupt, InvalidIndex
from rprs.files.hashes import sha256
from rprs.index.catalog import Catalog
from rprs.index.files import File, load, load_checked
from rprs.index.rows import StoredDocument, label_checksum, text_checksum
from rprs.index.segment import BY_SENTENCE, folder
from rprs.progress import Progress

__all__ = ["Damage", "affected_documents", "damaged_files", "document_damage", "refuse_damage"]

NAMED = 5  # documents in a message


@dataclass(frozen=True, slots=True)
class Damage:
    """A file that is not as it was written."""

    path: str
    problem: str

    @property
    def segment(self) -> int | None:
        """The segment of the file, if it belongs to one."""
        group, number, *_ = self.path.split("/")
        return int(number) if group == "segments" else None


def damaged_files(root: Path, files: Sequence[File], progress: Progress) -> Iterator[Damage]:
    """Compare every file with its checksum."""
    with progress("checking files", sum(file.bytes for file in files), "bytes") as advance:
        for file in files:
            target = root / file.path
            if not target.is_file():
                yield Damage(file.path, "is missing")
            elif target.stat().st_size != file.bytes:
                yield Damage(file.path, f"has {target.stat().st_size} bytes instead of {file.bytes}")
            elif sha256(target) != file.sha256:
                yield Damage(file.path, "has changed: its checksum differs")
            advance(file.bytes)


def document_damage(stored: StoredDocument) -> str | None:
    """What of a document in the catalog is not as it was stored, or None."""
    if label_checksum(stored.id, stored.title, stored.metadata) != stored.label:
        return f"the title or the metadata of {stored.id!r} have changed"
    if stored.text is None or text_checksum(stored.text) != stored.content_hash:
        return f"the text of {stored.id!r} has changed"
    return None


def refuse_damage(root: Path, catalog: Catalog, progress: Progress) -> None:
    """Raise `IndexCorrupt` before damaged bytes are copied into files with new checksums; it names the documents."""
    files = [file for file in catalog.files() if file.path.startswith("segments/")]
    for damage in damaged_files(root, files, progress):
        names = _named(affected_documents(root, catalog, damage))
        raise IndexCorrupt(
            f"{root / damage.path} {damage.problem}, which affects {names}: nothing was rewritten; "
            f"run `rprs repair {root}`, or restore a backup"
        )
    if catalog.has_sums:
        catalog.check_places()


def affected_documents(root: Path, catalog: Catalog, damage: Damage) -> list[str]:
    """The ids of the documents that a damaged file of a segment holds parts of: exactly, or all of its segment."""
    number = damage.segment
    ids = {ordinal: id for id, segment, ordinal in catalog.places() if segment == number}
    name = Path(damage.path).name.split(".")[0]
    try:
        if number is None or name not in BY_SENTENCE:
            return list(ids.values())
        sums = (catalog.block_sums() or {}).get(damage.path)
        array, blocks = load_checked(root, damage.path, sums, whole=False)
        offsets = load(root, f"{folder(number)}/sentence_offsets.npy")
    except (InvalidIndex, FileNotFoundError):
        return list(ids.values())
    if blocks is None:
        return list(ids.values())
    width = max(array.strides[0], 1)
    hit: set[int] = set()
    for start, stop in blocks.damaged():
        first = int(np.searchsorted(offsets, start // width, side="right")) - 1
        last = int(np.searchsorted(offsets, min(-(-stop // width), len(array)), side="left"))
        hit.update(range(first, last))
    return [id for ordinal, id in ids.items() if ordinal in hit]


def _named(ids: Iterable[str]) -> str:
    names = [repr(id) for id in ids]
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more if names else "removed documents only"
