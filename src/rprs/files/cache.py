"""A cache of steps: the result of a long computation is kept under a key that covers everything it depends on.

The key is a hash of the step's name, of the version of its code, and of its inputs, which include the keys of earlier
steps. A changed setting therefore changes the keys of the steps that depend on it, and of no others. A result is
written under another name and renamed when it is complete; an interrupted step starts again. Several processes may
share a cache: two that need the same step compute it once.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from rprs.errors import ReadError, UsageError
from rprs.files.atomic import sync_folder, write_atomically
from rprs.files.hashes import digest, sha256

__all__ = ["Cache", "Step", "as_cache"]

Arrays = dict[str, NDArray[Any]]
Report = Callable[[str, bool, str], None]

_LOCKS, _CONTENTS = "locks", "contents.json"


def _no_report(_name: str, _computed: bool, _about: str) -> None:
    """No-op report callback."""


@dataclass(frozen=True, slots=True)
class Step:
    """The result of a step: where it is, and the key by which later steps refer to it."""

    path: Path
    key: str

    def json(self) -> Any:
        """The value of a step that wrote JSON."""
        return json.loads(self.path.read_text(encoding="utf-8"))


@dataclass
class Cache:
    """A folder of results. `report` is called once for every step: name, whether it was computed, and a description."""

    root: Path
    report: Report = _no_report
    _reported: set[str] = field(default_factory=set)

    def make(
        self,
        name: str,
        inputs: Mapping[str, Any],
        produce: Callable[[Path], None],
        *,
        version: int = 1,
        about: str = "",
        valid: Callable[[Path], bool] | None = None,
    ) -> Step:
        """The result of a step, computed by `produce`, which writes a file or a folder at the path it receives.

        A stored result that is not `valid` is computed again.
        """
        step = self.place(name, inputs, version)
        with self._lock(step):
            missing = not step.path.exists() or (valid is not None and not valid(step.path))
            if missing:
                _delete(step.path)
                draft = step.path.with_name(f".draft-{step.key}")
                _delete(draft)
                produce(draft)
                _sync(draft)
                draft.rename(step.path)
                sync_folder(step.path.parent)
            self._report(name, missing, step.key, about)
        return step

    def grow(
        self,
        name: str,
        inputs: Mapping[str, Any],
        produce: Callable[[Path], None],
        *,
        until: str = "complete",
        version: int = 1,
        about: str = "",
    ) -> Step:
        """The result of a step that resumes by itself after an interruption: `produce` gets the same folder again.

        `until` names a state of the result; a marker records each state that was reached.
        """
        step = self.place(name, inputs, version)
        marker = step.path.with_name(f"{step.key}.{until}")
        with self._lock(step):
            missing = not (marker.exists() and step.path.exists())
            if missing:
                produce(step.path)
                marker.touch()
            self._report(name, missing, f"{step.key}.{until}", about)
        return step

    def write_json(
        self, name: str, inputs: Mapping[str, Any], value: Callable[[], Any], *, version: int = 1, about: str = ""
    ) -> Step:
        """The result of a step whose value can be written as JSON."""

        def produce(path: Path) -> None:
            path.write_text(json.dumps(value(), ensure_ascii=False, indent=1, allow_nan=False) + "\n", encoding="utf-8")

        return self.make(name, inputs, produce, version=version, about=about)

    def arrays(self, name: str, inputs: Mapping[str, Any], compute: Callable[[], Mapping[str, NDArray[Any]]]) -> Arrays:
        """The arrays of a small step, such as one query of many; without a lock and without a report."""
        path = self.place(name, inputs).path.with_suffix(".npz")
        if not path.exists():
            packed = io.BytesIO()
            np.savez(packed, **compute())  # type: ignore[arg-type]  # no array is named allow_pickle
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, packed.getvalue())
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
                return {name: file[name] for name in file.files}
        except (OSError, EOFError, ValueError, zipfile.BadZipFile) as error:
            raise ReadError(f"{path} is damaged: delete it, and it is computed again ({error})") from error

    def place(self, name: str, inputs: Mapping[str, Any], version: int = 1) -> Step:
        """Where the result of a step is, or would be."""
        key = digest([name, version, inputs])
        return Step(self.root / name / key, key)

    def clear(self) -> None:
        """Delete all results, and the folder itself if nothing else is in it."""
        with suppress(OSError):
            for folder in self.root.iterdir():
                if folder.is_dir():
                    shutil.rmtree(folder, ignore_errors=True)
        (self.root / _CONTENTS).unlink(missing_ok=True)
        with suppress(OSError):
            self.root.rmdir()

    @contextmanager
    def _lock(self, step: Step) -> Iterator[None]:
        """One process at a time computes a step; others that need it wait for the result."""
        step.path.parent.mkdir(parents=True, exist_ok=True)
        locks = self.root / _LOCKS
        locks.mkdir(exist_ok=True)
        with FileLock(locks / step.key):
            yield

    def _report(self, name: str, computed: bool, state: str, about: str) -> None:
        if state not in self._reported:
            self._reported.add(state)
            self.report(name, computed, about)

    # ------------------------------------------------------------------------ contents of files

    def contents(self, paths: Iterable[Path]) -> list[str]:
        """The SHA-256 of every file; a file unchanged since the last call (size and time) is not read again."""
        memo = self.root / _CONTENTS
        stored: dict[str, Any] = json.loads(memo.read_text(encoding="utf-8")) if memo.exists() else {}
        current = {}
        for path in paths:
            state = path.stat()
            stamp = [state.st_size, state.st_mtime_ns]
            entry = stored.get(str(path.resolve()))
            current[str(path.resolve())] = entry if entry and entry[:2] == stamp else [*stamp, sha256(path)]
        if any(stored.get(path) != value for path, value in current.items()):
            self.root.mkdir(parents=True, exist_ok=True)
            write_atomically(memo, json.dumps(stored | current, indent=1))
        return [str(value[2]) for value in current.values()]


def as_cache(cache: Cache | str | Path | None) -> Cache | None:
    """A cache, also from the path of its folder."""
    if cache is None or isinstance(cache, Cache):
        return cache
    if not isinstance(cache, str | PurePath):
        raise UsageError(f"The cache must be the path of a folder. Got {cache!r:.80}")
    return Cache(Path(cache))


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Write a file, or all files of a folder, to disk before they get their name."""
    for file in [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]:
        with file.open("rb") as stream:
            os.fsync(stream.fileno())
