"""The folder of an index, and the lock of the one process that may change it."""

from __future__ import annotations

from pathlib import Path

from rprs.errors import InvalidIndex
from rprs.files.atomic import sync_folder
from rprs.index.database import HISTORY
from rprs.index.files import file_mode
from rprs.index.leftovers import GROUPS, refuse_links
from rprs.index.storage import WriterLock, warn_of_network

__all__ = ["create_folder", "lock_index"]


def lock_index(path: Path) -> WriterLock:
    """The lock of an index, acquired; an error if another process has it, or if a part of the index is a link."""
    refuse_links(path)
    warn_of_network(path)
    return WriterLock(path / "lock", file_mode(path))


def create_folder(path: Path) -> None:
    """Create the folder of the index; refuse one that holds other files."""
    if path.exists() and not path.is_dir():
        raise InvalidIndex(f"{path} is a file: choose another place for the index")
    own = {"lock", HISTORY, *GROUPS, "catalog.sqlite"}
    if path.is_dir() and not (path / "catalog.sqlite").is_file():
        names = [entry.name for entry in path.iterdir()]
        others = sorted(name for name in names if name not in own and "catalog.draft" not in name)
        if others:
            raise InvalidIndex(f"{path} is not an index and holds other files ({others[0]}): choose another place")
    try:
        new = [folder for folder in (path, *path.parents) if not folder.is_dir()]
        path.mkdir(0o700, parents=True, exist_ok=True)  # the texts of documents are their owner's
        for folder in new:
            sync_folder(folder.parent)
    except OSError as error:
        raise InvalidIndex(f"Cannot make the folder {path}: {error.strerror}") from error
