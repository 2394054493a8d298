"""Files that appear complete or not at all: written under another name, synced to disk, then renamed."""

from __future__ import annotations

import gzip
import lzma
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path, PurePath
from secrets import token_hex

from rprs.errors import UsageError

__all__ = [
    "atomic_file",
    "check_target",
    "errors_of",
    "is_durable",
    "sync",
    "sync_folder",
    "unsynced",
    "write_atomically",
    "write_compressed",
]

_durable: ContextVar[bool] = ContextVar("durable", default=True)


@contextmanager
def unsynced() -> Iterator[None]:
    """Within this block, this thread syncs no files: for those that are copied elsewhere and synced there."""
    token = _durable.set(False)
    try:
        yield
    finally:
        _durable.reset(token)


def is_durable() -> bool:
    """Whether files must survive a power failure."""
    return _durable.get()


def sync(handle: int) -> None:
    """Write an open file to the disk, unless this is within `unsynced`."""
    if _durable.get():
        os.fsync(handle)


def check_target(path: str | PurePath) -> None:
    """Raise an error unless a file can be created there; long computations check this first."""
    path = Path(path)
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name a file to write to")
    if not path.parent.is_dir():
        raise UsageError(f"There is no folder {path.parent} to write {path.name} to")


@contextmanager
def atomic_file(path: str | PurePath) -> Iterator[Path]:
    """A draft to write to, which replaces `path` at the end of the block; after an error, nothing has changed."""
    path = Path(path)
    check_target(path)
    draft = path.parent / f".{path.name}-{token_hex(4)}"
    draft.touch(exist_ok=False)
    try:
        yield draft
        with draft.open("rb") as stream:
            sync(stream.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_atomically(path: str | PurePath, content: str | bytes) -> None:
    """Write a whole file."""
    with atomic_file(path) as draft:
        draft.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def write_compressed(path: str | PurePath, content: str) -> None:
    """The same, compressed if the name ends in .gz or .xz."""
    data, suffix = content.encode("utf-8"), PurePath(path).suffix.lower()
    write_atomically(path, gzip.compress(data) if suffix == ".gz" else lzma.compress(data) if suffix == ".xz" else data)


@contextmanager
def errors_of(path: Path) -> Iterator[None]:
    """Let errors name the file: those of an open file do not."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    if not is_durable():
        return
    with errors_of(folder):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
