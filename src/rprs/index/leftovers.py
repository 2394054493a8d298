"""Files of an interrupted writer: deleted by the next one, which touches nothing that an index did not make."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from rprs.errors import InvalidIndex
from rprs.index.database import HISTORY

__all__ = ["GROUPS", "delete_leftovers", "leftovers", "refuse_links"]

GROUPS = ("segments", "encoders", "norms")
_FOLDER = re.compile(r"\d{6,}")
_ARRAY = re.compile(r"[a-z_]+(\d+_[a-z]+)?\.npy|vectors\.\d{6,}\.npy")  # in segments and norms


def refuse_links(root: Path) -> None:
    """Raise `InvalidIndex` if a part of the index is a symbolic link: a change could reach files elsewhere."""
    parts = [root / "lock", root / HISTORY, *sorted(root.glob("catalog.*")), *(root / group for group in GROUPS)]
    for part in (*parts, *_folders(root)):
        link = part if part.is_symlink() else next(filter(Path.is_symlink, _entries(part)), None)
        if link is not None:
            raise InvalidIndex(
                f"{link} is a symbolic link, and an index is not changed through links: put the files in its place, "
                "or link to the whole folder of the index"
            )


def leftovers(root: Path, listed: Iterable[str]) -> Iterator[Path]:
    """Files that a writer made and the catalog does not list, then the folders that are empty without them."""
    kept = set(listed)
    for place in _folders(root):
        if place.is_symlink():
            continue
        entries = list(_entries(place))
        unlisted = [entry for entry in entries if _made(entry) and entry.relative_to(root).as_posix() not in kept]
        yield from unlisted
        if len(unlisted) == len(entries):
            yield place


def delete_leftovers(root: Path, listed: Iterable[str]) -> None:
    """Delete them."""
    for path in list(leftovers(root, listed)):
        with suppress(OSError):  # whatever stays is deleted by the next writer
            path.rmdir() if path.is_dir() else path.unlink()


def _folders(root: Path) -> Iterator[Path]:
    """The numbered folders of the index."""
    for group in GROUPS:
        if not (root / group).is_symlink():
            yield from (entry for entry in _entries(root / group) if _FOLDER.fullmatch(entry.name))


def _entries(folder: Path) -> list[Path]:
    if not folder.is_dir() or folder.is_symlink():
        return []
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:  # deleted meanwhile, by the writer that has the lock
        return []


def _made(file: Path) -> bool:
    """Whether a file in a numbered folder is one of an index; an encoder chooses the names of its files."""
    if file.is_symlink() or not file.is_file():
        return False
    return file.parent.parent.name == "encoders" or _ARRAY.fullmatch(file.name) is not None
