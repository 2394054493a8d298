"""Files that are there when they are whole, and not before: written under another name, synced, and renamed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from rprs.errors import UsageError

__all__ = ["check_place", "drafted", "write_whole"]


def check_place(path: str | Path) -> None:
    """That a file can be made there: what takes long asks before, not after."""
    path = Path(path)
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name a file to write to")
    if not path.parent.is_dir():
        raise UsageError(f"There is no folder {path.parent} to write {path.name} to")


@contextmanager
def drafted(path: str | Path) -> Iterator[Path]:
    """A file to write to, which becomes `path` at the end of the block; if that fails, nothing has happened."""
    path = Path(path)
    check_place(path)
    draft = path.parent / f".{path.name}-{token_hex(4)}"
    draft.touch(exist_ok=False)
    try:
        yield draft
        with draft.open("rb") as stream:
            os.fsync(stream.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a file in one piece."""
    with drafted(path) as draft:
        draft.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
