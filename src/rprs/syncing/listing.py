"""The files of a source as they are now, with what shows whether they have changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from time import time_ns

from rprs.read.files import SourceFile, list_files
from rprs.read.source import Skipped
from rprs.read.storable import displayed, reason

__all__ = ["Listed", "Listing", "list_source", "prefixes", "recordable", "state_of"]

RACY = 2_000_000_000  # nanoseconds: a file may change again within the resolution of its times


@dataclass(frozen=True, slots=True)
class Listed:
    """A file of a source."""

    path: str  # within the source, as it is recorded
    file: SourceFile
    state: str


@dataclass(frozen=True, slots=True)
class Listing:
    """All files of a source by their paths, in the order of reading, and what could not be listed."""

    source: Path
    files: dict[str, Listed]
    problems: tuple[Skipped, ...]

    @property
    def fingerprint(self) -> str:
        """A hash of all paths and states: two equal ones mean that nothing has changed."""
        lines = (f"{listed.path}\0{listed.state}\n" for listed in self.files.values())
        return sha256("".join(lines).encode()).hexdigest()

    def is_uncertain(self, path: str) -> bool:
        """Whether a file may exist although it is not listed: its folder, for example, could not be opened."""
        place = displayed(self.source / path)
        return any(place == problem.path or place.startswith(f"{problem.path}/") for problem in self.problems)


def list_source(source: Path, prefix: str, ignored: Path) -> Listing:
    """The files of a folder, or a single file, with ids that begin with `prefix`; without the folder `ignored`."""
    files: dict[str, Listed] = {}
    problems: list[Skipped] = []
    own = displayed(ignored)
    for file in list_files(source):
        if isinstance(file, Skipped):
            problems.append(file)
            continue
        try:
            path = _recorded(file, source)
            files[path] = Listed(path, replace(file, id=prefix + file.id), state_of(file.path))
        except OSError as error:
            problems.append(Skipped(displayed(file.path), reason(error)))
    return Listing(source, files, tuple(problem for problem in problems if problem.path != own))


def _recorded(file: SourceFile, source: Path) -> str:
    """The path of a file within the source; a name that is not valid Unicode is kept apart from all others."""
    inner = file.path.name if file.path == source else file.path.relative_to(source).as_posix()
    return os.fsencode(inner).decode("utf-8", "backslashreplace")


def state_of(path: Path) -> str:
    """Size and times of a file: another state means that its bytes may have changed."""
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"


def recordable(state: str) -> str:
    """The state, unless the file was changed so recently that a further change could leave it the same."""
    newest = max(map(int, state.split()[1:]))
    return state if newest < time_ns() - RACY else ""


def prefixes(path: str) -> Iterator[str]:
    """A path and all its parents, the longest first: `a/b/c`, `a/b`, `a`."""
    while path:
        yield path
        path = path.rpartition("/")[0]
