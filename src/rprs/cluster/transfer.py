"""Indexes between a node and a store: each file under its SHA-256, checked on every way."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Container, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time
from typing import IO

from rprs.cluster.manifest import FileEntry, ShardEntry, blob_path
from rprs.cluster.store import Store
from rprs.errors import StoreError
from rprs.files.hashes import digest, sha256
from rprs.index.catalog import Catalog
from rprs.index.database import HISTORY

__all__ = [
    "AT_ONCE",
    "LocalCopy",
    "describe_index",
    "download",
    "file_entry",
    "keep_copy",
    "local_copy",
    "nodes_folder",
    "scratch",
    "store_files",
    "take_copy",
]

AT_ONCE = 4  # files copied at the same time
IN_USE = ".in-use"
UNUSED = 3600.0  # seconds until a local copy that nobody has open is deleted


def nodes_folder() -> Path:
    """The folder of this node for copies of shards and for unfinished ones: RPRS_CLUSTER_FOLDER, or a cache."""
    from rprs.encode.models import cache_folder

    folder = Path(os.environ.get("RPRS_CLUSTER_FOLDER") or cache_folder() / "cluster")
    folder.mkdir(0o700, parents=True, exist_ok=True)
    return folder


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that is deleted at the end of the block."""
    with TemporaryDirectory(dir=nodes_folder(), prefix="unfinished-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


# ---------------------------------------------------------------------------- to the store


def describe_index(index: Path, name: str) -> ShardEntry:
    """A closed index as a manifest lists it; only the catalog is read, which knows the SHA-256 of all other files."""
    catalog = Catalog(index, write=False)
    try:
        listed = [FileEntry(file.path, file.bytes, file.sha256) for file in catalog.files()]
        documents, sentences, words = catalog.totals()
    finally:
        catalog.close()
    own = [file_entry(index, path) for path in ("catalog.sqlite", HISTORY) if (index / path).exists()]
    files = tuple(sorted((*listed, *own), key=lambda file: file.path))
    return ShardEntry(name, documents, words, sentences, files)


def file_entry(root: Path, path: str) -> FileEntry:
    """A file as a manifest lists it."""
    return FileEntry(path, (root / path).stat().st_size, sha256(root / path))


def store_files(store: Store, root: Path, files: Iterable[FileEntry], stored: Container[str] = ()) -> None:
    """Copy files to the store. One that an unfinished build left there is written again, so that it is young."""
    new = {file.sha256: file for file in files if file.sha256 not in stored}
    _together(lambda file: store.upload(blob_path(file.sha256), root / file.path), new.values())


def _together(task: Callable[[FileEntry], None], files: Iterable[FileEntry]) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(task, files))


# ---------------------------------------------------------------------------- from the store


def download(store: Store, files: Iterable[FileEntry], target: Path) -> None:
    """Copy files to a folder; one that is missing or has other bytes is a `StoreError` that names it."""

    def copy(file: FileEntry) -> None:
        place = target / file.path
        place.parent.mkdir(0o700, parents=True, exist_ok=True)
        try:
            store.download(blob_path(file.sha256), place)
        except FileNotFoundError as error:
            raise StoreError(f"{file.path} ({file.sha256}) is missing in {store.url}: {_ADVICE}") from error
        if place.stat().st_size != file.bytes or sha256(place) != file.sha256:
            place.unlink()
            raise StoreError(f"{file.path} ({file.sha256}) in {store.url} is damaged: {_ADVICE}")

    _together(copy, files)


_ADVICE = "run `rprs cluster verify`, and restore the file from a backup or build anew"


class LocalCopy:
    """A shard on the disk of this node, kept there as long as this is not closed and the process lives."""

    def __init__(self, path: Path, mark: IO[bytes]) -> None:
        self.path, self._mark = path, mark

    def close(self) -> None:
        """Allow the copy to be deleted."""
        self._mark.close()


def local_copy(store: Store, shard: ShardEntry) -> LocalCopy:
    """The local copy of a shard, which is made if this node has none."""
    path = _copy_path(store, shard)
    with _turn(path):  # one process of the node copies, the others wait for it
        if not path.is_dir():
            with TemporaryDirectory(dir=path.parent, prefix=".draft-", ignore_cleanup_errors=True) as draft:
                copy = Path(draft) / "shard"
                copy.mkdir(0o700)
                download(store, shard.files, copy)
                _become_copy(copy, path)
        mark = (path / IN_USE).open("rb")
        fcntl.flock(mark, fcntl.LOCK_SH)
    (path / IN_USE).touch()
    _delete_unused(path.parent, path)
    return LocalCopy(path, mark)


def keep_copy(store: Store, shard: ShardEntry, index: Path) -> None:
    """Make an index, whose files were stored as a shard, its local copy, unless there is one."""
    path = _copy_path(store, shard)
    with _turn(path):
        if not path.is_dir():
            _become_copy(index, path)


def take_copy(store: Store, shard: ShardEntry, target: Path) -> None:
    """The files of a shard in a new folder, to be changed there: the local copy, if nobody has it open and it is valid.

    A node that has made the shard need not copy it again. A power failure may have damaged what is not synced.
    """
    path = _copy_path(store, shard)
    with _turn(path), suppress(OSError):
        with (path / IN_USE).open("rb") as mark:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.rename(target)
            (target / IN_USE).unlink()
        if all(sha256(target / file.path) == file.sha256 for file in shard.files):
            return
    shutil.rmtree(target, ignore_errors=True)
    download(store, shard.files, target)


def _copy_path(store: Store, shard: ShardEntry) -> Path:
    folder = nodes_folder() / digest(store.url)
    folder.mkdir(0o700, exist_ok=True)
    return folder / f"{shard.name}-{digest([[file.path, file.sha256] for file in shard.files])}.rprs"


def _become_copy(index: Path, path: Path) -> None:
    (index / IN_USE).touch()
    index.rename(path)


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    """Within this block, no other process of this node makes, takes or deletes the local copy."""
    with _turn_file(path).open("wb") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield


def _delete_unused(folder: Path, kept: Path) -> None:
    """Delete local copies that no process has open and that were not opened for an hour."""
    for path in folder.glob("*.rprs"):
        with suppress(OSError):
            if path == kept or time() - (path / IN_USE).stat().st_mtime < UNUSED:
                continue
            with _turn_file(path).open("wb") as turn, (path / IN_USE).open("rb") as mark:
                fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
                fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)


def _turn_file(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")
