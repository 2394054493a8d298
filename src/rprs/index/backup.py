"""A copy of an index that is whole and up to date, made while others read and write it.

The files of an index never change once they are listed, so that those a copy already has need not be copied again. The
catalog is copied last, as one transaction of SQLite: whatever happens before it, the copy stays what it was.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rprs.errors import IndexCorrupt, UsageError
from rprs.files.atomic import errors_of, sync_folder
from rprs.files.hashes import sha256
from rprs.index.arguments import index_path
from rprs.index.catalog import Catalog
from rprs.index.database import HISTORY
from rprs.index.files import File, file_mode, folder_mode, watch_disk
from rprs.index.folder import create_folder, lock_index
from rprs.index.leftovers import delete_leftovers
from rprs.index.verify import verify
from rprs.progress import Progress, as_progress

__all__ = ["Backup", "backup"]

ATTEMPTS = 20  # states of an index that is merged all the time


CHUNK = 2**20  # bytes


class _FileVanished(Exception):
    """A file of the snapshot was deleted before it was copied."""


@dataclass(frozen=True, slots=True)
class Backup:
    """What a backup copied, and what the copy had already."""

    documents: int
    copied: int  # files
    kept: int  # files
    bytes: int  # of the files that were copied, without the catalog


def backup(index: str | Path, to: str | Path, progress: Progress | bool | None = None) -> Backup:
    """Copy an index to a folder, or bring a copy there up to date; the copy is an index, and is verified.

    Others may read and write the index meanwhile: the copy shows one of its states. An interrupted backup leaves the
    copy as it was, and goes on when it is started again. To restore, copy the folder, or back the copy up.
    """
    root, target, bars = index_path(index), Path(to), as_progress(progress)
    _refuse_nesting(root, target)
    with watch_disk(target):
        create_folder(target)
        lock = lock_index(target)
        try:
            done = _copy(root, target, bars)
        finally:
            lock.release()
    problems = verify(target, bars)
    if problems:
        raise IndexCorrupt(f"The copy {target} is damaged ({problems[0]}): check the disk, and try again")
    return done


def _refuse_nesting(root: Path, target: Path) -> None:
    source, copy = root.resolve(), target.resolve()
    if source == copy or source in copy.parents or copy in source.parents:
        raise UsageError(f"{target} cannot be a copy of {root}: choose a folder outside of it")


def _copy(root: Path, target: Path, progress: Progress) -> Backup:
    copied: dict[str, int] = {}  # bytes by path
    for _ in range(ATTEMPTS):
        catalog = Catalog(root, write=False)
        try:
            recorded = catalog.recorded
            catalog.begin_snapshot()
            catalog.check_history(recorded)
            files = catalog.files()
            _copy_files(root, target, files, copied, progress)
            documents = catalog.totals()[0]
            _copy_catalog(catalog, target)
        except _FileVanished:  # others have merged segments; what was copied stays
            continue
        finally:
            catalog.close()
        listed = {file.path for file in files}
        delete_leftovers(target, listed)
        new = copied.keys() & listed
        return Backup(documents, len(new), len(listed) - len(new), sum(copied[path] for path in new))
    raise UsageError(f"{root} was changed all the time: try again when fewer documents are added")


def _copy_files(root: Path, target: Path, files: Sequence[File], copied: dict[str, int], progress: Progress) -> None:
    """Copy the files that the copy lacks, or has otherwise."""
    with progress("copying files", sum(file.bytes for file in files), "bytes") as advance:
        for file in files:
            place = target / file.path
            if not (place.is_file() and place.stat().st_size == file.bytes and sha256(place) == file.sha256):
                for folder in (place.parent.parent, place.parent):  # `parents=True` would ignore the mode
                    folder.mkdir(folder_mode(target), exist_ok=True)
                _copy_file(root / file.path, place, file)
                copied[file.path] = file.bytes
            advance(file.bytes)
    for folder in {(target / file.path).parent for file in files} | {
        target / Path(file.path).parts[0] for file in files
    }:
        sync_folder(folder)


def _copy_file(source: Path, place: Path, file: File) -> None:
    """Copy a file durably; an error if it is not as it was written."""
    digest = hashlib.sha256()
    place.unlink(missing_ok=True)
    with errors_of(place), ExitStack() as opened:
        try:
            stream = opened.enter_context(source.open("rb"))
        except FileNotFoundError as error:
            raise _FileVanished from error
        copy = opened.enter_context(open(place, "xb", opener=partial(os.open, mode=file_mode(place.parents[2]))))
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
            copy.write(chunk)
        copy.flush()
        os.fsync(copy.fileno())
    if digest.hexdigest() != file.sha256:
        place.unlink()
        raise IndexCorrupt(f"{source} has changed since it was written, so nothing was copied: run `rprs verify`")


def _copy_catalog(catalog: Catalog, target: Path) -> None:
    """Replace the catalog of the copy by the snapshot of this one, in one transaction."""
    place, number = target / "catalog.sqlite", catalog.commit
    (target / HISTORY).unlink(missing_ok=True)  # the copy may go back to an earlier state, like the index itself
    is_new = not place.exists()
    file = target / "catalog.draft" if is_new else place  # a new copy has no catalog until it is complete
    if is_new:
        for leftover in target.glob("catalog.draft*"):
            leftover.unlink()
        file.touch(file_mode(target))  # an empty file is an empty database
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        catalog.connection.backup(connection)
    if is_new:
        file.replace(place)
    copy = Catalog(target, write=True)
    try:
        copy.record(number)
        copy.merge()
    finally:
        copy.close()
    sync_folder(target)
