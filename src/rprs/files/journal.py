"""Results by name in one append-only file, so that a computation that was killed resumes where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["Journal", "open_journal"]


class Journal:
    """The results so far, by name. A kill of this process after `add` does not lose the result."""

    def __init__(self, descriptor: int, entries: dict[str, Any]) -> None:
        self._descriptor = descriptor
        self.entries = entries

    def add(self, name: str, value: Any) -> None:
        """Append a result that JSON can hold."""
        line = json.dumps([name, value]).encode() + b"\n"
        while line:
            line = line[os.write(self._descriptor, line) :]
        self.entries[name] = value


@contextmanager
def open_journal(path: Path) -> Iterator[Journal]:
    """The journal at a path, for one process at a time. A last line that a kill has cut off is removed."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    try:
        entries, size = _complete_entries(path)
        os.ftruncate(descriptor, size)
        yield Journal(descriptor, entries)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _complete_entries(path: Path) -> tuple[dict[str, Any], int]:
    """The entries up to the first that is not complete, and how many bytes they take."""
    entries: dict[str, Any] = {}
    size = 0
    with path.open("rb") as stream:
        for line in stream:
            try:
                name, value = json.loads(line)
            except (ValueError, TypeError):
                break
            if not line.endswith(b"\n"):
                break
            entries[name] = value
            size += len(line)
    return entries, size
