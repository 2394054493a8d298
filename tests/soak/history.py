"""What the writers of a soak did, in files that survive their death, and whether an index shows it.

A writer owns groups of three documents, which it adds, changes and removes together. It notes a change before it begins
and after it was committed: an index must show the last committed state of a group, or one that was begun later.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rprs.document import Document
from rprs.index import Index
from tests.support.crash import invented

GROUPS, MEMBERS = 12, 3
ABSENT = -1


@dataclass(frozen=True)
class Change:
    """A change of a group: its number, which grows, and the version that the group has then, or ABSENT."""

    owner: str
    group: int
    number: int
    version: int


def documents(owner: str, group: int, version: int) -> list[Document]:
    """The documents of a group."""
    return [invented(id, version, 2 + group % 4) for id in ids(owner, group)]


def ids(owner: str, group: int) -> list[str]:
    return [f"{owner}-{group:02d}-{member}" for member in range(MEMBERS)]


class History:
    """The notes of all writers of a soak, one file each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def note(self, event: str, change: Change) -> None:
        """Append a line in one call, so that a kill cannot leave half of it."""
        line = json.dumps([event, change.group, change.number, change.version]) + "\n"
        descriptor = os.open(self.folder / f"{change.owner}.changes", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)

    def count(self, name: str) -> None:
        """Count something that a process has done."""
        with (self.folder / f"{name}.count").open("a") as stream:
            stream.write(".")

    def counts(self) -> dict[str, int]:
        """What was counted, by name."""
        return {file.stem: file.stat().st_size for file in sorted(self.folder.glob("*.count"))}

    def next_number(self, owner: str) -> int:
        """A number that no change of an owner has yet."""
        return 1 + max((change.number for _, change in self._events(owner)), default=0)

    def done(self) -> dict[tuple[str, int], int]:
        """The number of the last committed change of every group."""
        numbers: dict[tuple[str, int], int] = {}
        for owner in self._owners():
            for event, change in self._events(owner):
                if event == "done":
                    numbers[owner, change.group] = change.number
        return numbers

    def committed(self) -> int:
        """How many changes were committed."""
        return sum(event == "done" for owner in self._owners() for event, _ in self._events(owner))

    def allowed(self, done: dict[tuple[str, int], int]) -> dict[tuple[str, int], set[int]]:
        """The versions that a group may have: that of its last committed change, or of one that was begun later."""
        versions: dict[tuple[str, int], set[int]] = {}
        for owner in self._owners():
            for event, change in self._events(owner):
                place = owner, change.group
                if event == "begin" and change.number >= done.get(place, 0):
                    versions.setdefault(place, set() if place in done else {ABSENT}).add(change.version)
        return versions

    def _owners(self) -> list[str]:
        return [file.stem for file in self.folder.glob("*.changes")]

    def _events(self, owner: str) -> Iterator[tuple[str, Change]]:
        file = self.folder / f"{owner}.changes"
        for line in file.read_text().splitlines() if file.exists() else ():
            event, group, number, version = json.loads(line)
            yield event, Change(owner, group, number, version)


def check(path: Path, history: History) -> list[str]:
    """How the groups of an index differ from what its writers did, one line each."""
    done = history.done()
    with Index(path) as index:
        versions = {id: int(str(index.document(id).metadata["version"])) for id in index.ids}
    return list(_differences(versions, history.allowed(done)))


def check_groups(path: Path) -> list[str]:
    """The groups of a copy that are not complete: it may be behind its original."""
    with Index(path) as index:
        versions = {id: int(str(index.document(id).metadata["version"])) for id in index.ids}
    places = {id.rpartition("-")[0] for id in versions}
    groups = {place: {versions.get(f"{place}-{member}") for member in range(MEMBERS)} for place in places}
    return [f"the group {place} has the versions {found}" for place, found in groups.items() if len(found) > 1]


def _differences(versions: dict[str, int], allowed: dict[tuple[str, int], set[int]]) -> Iterator[str]:
    expected: set[str] = set()
    for (owner, group), possible in allowed.items():
        found = {versions.get(id, ABSENT) for id in ids(owner, group)}
        expected.update(ids(owner, group))
        if len(found) > 1:
            yield f"{owner}-{group}: a change is visible in part: {sorted(found)}"
        elif not found <= possible:
            yield f"{owner}-{group}: version {found.pop()}, but the writer left {sorted(possible)}"
    yield from (f"{id} was never added" for id in versions.keys() - expected)
