"""The list of files that a command could not read, or only partly, in the folder of the index."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from rprs.files.atomic import atomic_file
from rprs.index.files import file_mode

__all__ = ["LIST", "forget_unread", "write_unread"]

LIST = "not-read.txt"


def write_unread(root: Path, lines: Iterable[str]) -> Path:
    """Write the list, a line for each file: what happened, its path and the reason, with tabs between them.

    An empty list is no file.
    """
    place, content = root / LIST, "".join(f"{line}\n" for line in lines)
    if not content:
        place.unlink(missing_ok=True)
        return place
    with atomic_file(place) as draft:
        draft.chmod(file_mode(root))
        draft.write_bytes(content.encode("utf-8", "surrogateescape"))
    return place


def forget_unread(root: Path, ids: Collection[str]) -> None:
    """Drop the lines of documents that were read partly and are removed now: their paths end with their ids."""
    place, removed = root / LIST, set(ids)
    if not place.is_file() or place.is_symlink():
        return
    lines = place.read_bytes().decode("utf-8", "surrogateescape").split("\n")[:-1]
    kept = [line for line in lines if removed.isdisjoint(_ends(line.partition("\t")[2].partition("\t")[0]))]
    if len(kept) < len(lines):
        write_unread(root, kept)


def _ends(path: str) -> set[str]:
    """A path and all its ends: `a/b/c`, `b/c` and `c`."""
    parts = path.split("/")
    return {"/".join(parts[start:]) for start in range(len(parts))}
