"""Steps of a study, each made once: a step's result is kept under a key that covers all it depends on.

The key is the hash of the step's name, the version of its code and its inputs, which hold the keys of the steps before
it. So a changed setting changes the keys of what depends on it, and of nothing else. A result is made under another
name and renamed when it is whole; what was interrupted is made again. One cache may serve several studies, also at the
same time: two that want the same step make it once.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock

from rprs.index.files import sync_folder
from rprs.whole import write_whole

__all__ = ["Cache", "Made", "digest"]

KEY = 20  # hexadecimal digits of a key: 80 bits
BLOCK = 1 << 20  # bytes hashed at a time


def digest(value: Any) -> str:
    """The hash of a value that JSON can say."""
    written = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(written.encode()).hexdigest()[:KEY]


@dataclass(frozen=True, slots=True)
class Made:
    """What a step made: where it is, and the key by which later steps name it."""

    path: Path
    key: str

    def json(self) -> Any:
        """The result of a step that made a file of JSON."""
        return json.loads(self.path.read_text(encoding="utf-8"))


@dataclass
class Cache:
    """A folder of results of steps. `told` hears of every step: its name, whether it was made, and what it is about."""

    root: Path
    told: Callable[[str, bool, str], None] = lambda _name, _made, _about: None
    _seen: set[str] = field(default_factory=set)

    def make(
        self,
        name: str,
        inputs: Mapping[str, Any],
        produce: Callable[[Path], None],
        *,
        version: int = 1,
        about: str = "",
    ) -> Made:
        """The result of a step, made by `produce`, which writes a file or a folder at the path it gets."""
        made = self.place(name, inputs, version)
        with self._turn(made):
            new = not made.path.exists()
            if new:
                draft = made.path.with_name(f".draft-{made.key}")
                _remove(draft)
                produce(draft)
                _sync(draft)
                draft.rename(made.path)
                sync_folder(made.path.parent)
            self._tell(name, new, made.key, about)
        return made

    def grow(
        self,
        name: str,
        inputs: Mapping[str, Any],
        produce: Callable[[Path], None],
        *,
        until: str = "whole",
        version: int = 1,
        about: str = "",
    ) -> Made:
        """The result of a step that resumes by itself where it was interrupted: `produce` gets the same folder again.

        `until` names a state of the result; each is marked when it is reached, and later ones keep the earlier.
        """
        made = self.place(name, inputs, version)
        mark = made.path.with_name(f"{made.key}.{until}")
        with self._turn(made):
            new = not (mark.exists() and made.path.exists())
            if new:
                produce(made.path)
                mark.touch()
            self._tell(name, new, f"{made.key}.{until}", about)
        return made

    def write_json(
        self, name: str, inputs: Mapping[str, Any], value: Callable[[], Any], *, version: int = 1, about: str = ""
    ) -> Made:
        """The result of a step that is a value which JSON can say."""

        def produce(path: Path) -> None:
            path.write_text(json.dumps(value(), ensure_ascii=False, indent=1, allow_nan=False) + "\n", encoding="utf-8")

        return self.make(name, inputs, produce, version=version, about=about)

    def place(self, name: str, inputs: Mapping[str, Any], version: int = 1) -> Made:
        """Where the result of a step is, or would be."""
        key = digest([name, version, inputs])
        return Made(self.root / name / key, key)

    @contextmanager
    def _turn(self, made: Made) -> Iterator[None]:
        """One process at a time makes a step; another that wants it waits, and then has it."""
        made.path.parent.mkdir(parents=True, exist_ok=True)
        locks = self.root / "locks"
        locks.mkdir(exist_ok=True)
        with FileLock(locks / made.key):
            yield

    def _tell(self, name: str, new: bool, state: str, about: str) -> None:
        """Tell of a step once in a study, however often it is asked for."""
        if state not in self._seen:
            self._seen.add(state)
            self.told(name, new, about)

    # ------------------------------------------------------------------------ contents of files

    def contents(self, paths: Iterable[Path]) -> list[str]:
        """The SHA-256 of every file; one that did not change since the last time is not read again."""
        memo = self.root / "contents.json"
        known: dict[str, Any] = json.loads(memo.read_text(encoding="utf-8")) if memo.exists() else {}
        found = {}
        for path in paths:
            state = path.stat()
            stamp = [state.st_size, state.st_mtime_ns]
            old = known.get(str(path.resolve()))
            found[str(path.resolve())] = old if old and old[:2] == stamp else [*stamp, _hash(path)]
        if any(known.get(path) != value for path, value in found.items()):
            self.root.mkdir(parents=True, exist_ok=True)
            write_whole(memo, json.dumps(known | found, indent=1))
        return [str(value[2]) for value in found.values()]


def _hash(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            found.update(block)
    return found.hexdigest()


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Have a file, or all files of a folder, on the disk before they get their name."""
    for file in [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]:
        with file.open("rb") as stream:
            os.fsync(stream.fileno())
