"""Whichever system call of a write fails, the index opens, is sound, and gives the answers of before or after a commit.

The error is one line, and the same command, run again, finishes the job.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from rprs.errors import InvalidIndex, RprsError
from rprs.files.hashes import digest, sha256
from rprs.index import Index, Writer, verify
from rprs.index.catalog import Catalog
from rprs.index.database import SEALED
from tests.support.crash import HASHED, files_on_disk, memory_folder, plug_in, rankings
from tests.support.faults import FAULTS, FaultyOutcome, FaultyProcess, compile_library

BEFORE = {  # jobs that ran before the one with a fault
    "index": [],
    "add": ["index"],
    "remove": ["index"],
    "compact": ["index", "add"],
    "upgrade": ["index-plain"],
    "backup": ["index"],
}
NEVER = 10**9  # a call that no job reaches
SAMPLE = 3  # calls of each job and fault in the default tests


@dataclass(frozen=True)
class Scene:
    """An index before a job, and the answers before, between and after the commits of the job."""

    job: str
    start: Path  # a folder with the index
    answers: tuple[bytes | str, ...]
    seen: dict[str, bytes | str] = field(default_factory=dict)  # answers by the fingerprint of a state
    checked: dict[str, bytes | str] = field(default_factory=dict)  # answers of sound states, by a hash of all bytes
    resumed: list[tuple[str, set[str]]] = field(default_factory=list)  # states from which the job was run again

    def answer(self, path: Path, found: str) -> bytes | str:
        """The answers of an index; those of a state that was seen before are known."""
        if found == "none" or found not in self.seen:
            self.seen[found] = _answers(path)
        return self.seen[found]

    @property
    def complete(self) -> bytes | str:
        return self.answers[-1]


@pytest.fixture(scope="module")
def process() -> Iterator[FaultyProcess]:
    plug_in()
    with TemporaryDirectory() as folder:
        library = compile_library(Path(folder))
        if library is None:
            pytest.skip("faults are injected by a library in C: install gcc, on Linux with glibc")
        with FaultyProcess(library) as server:
            yield server


@pytest.fixture(scope="module")
def scenes(process: FaultyProcess) -> Iterator[dict[str, Scene]]:
    with memory_folder() as folder:
        yield {job: _scene(process, job, folder / job.replace(" ", "-")) for job in BEFORE}


def _scene(process: FaultyProcess, job: str, folder: Path) -> Scene:
    start, complete, states = (folder / name for name in ("start", "complete", "states"))
    start.mkdir(parents=True)
    index = start / ("source.rprs" if job == "backup" else "a.rprs")
    for earlier in BEFORE[job]:
        assert not process.run(earlier, index).error
    shutil.copytree(start, complete)
    if job == "backup":
        assert not process.run(job, complete / "a.rprs").error
    else:
        process.states(job, complete / "a.rprs", states)
    between = [_answers(path) for path in sorted(states.glob("*"))]
    return Scene(job, start, (_answers(start / "a.rprs"), *between, _answers(complete / "a.rprs")))


def _answers(path: Path) -> bytes | str:
    """The answers of an index, or that it was never finished."""
    try:
        return rankings(path)
    except InvalidIndex as error:
        if "is not finished" not in str(error) and "There is no index" not in str(error):
            raise
        return "not finished"


def _check(process: FaultyProcess, scene: Scene, fault: str, number: int) -> FaultyOutcome:
    with memory_folder() as folder:
        path = folder / "work/a.rprs"
        shutil.copytree(scene.start, path.parent)
        outcome = process.run(scene.job, path, fault, number)
        where = f"{scene.job}, {fault} at call {number} ({outcome.call}): {outcome.error}"
        if outcome.failures == 0:
            assert not outcome.error, where
            return outcome
        crashes = ("Signal",) if "memory" in fault else ()  # NumPy does not check every allocation of its own
        assert outcome.kind in ("", "RprsError", "CommandFailed", "MemoryError", *crashes), where
        assert len(outcome.error.splitlines()) <= 1, where
        assert fault != "a short write" or not outcome.error, where
        expected = scene.answers if outcome.error else (scene.complete,)
        content = _content(path.parent)
        if content in scene.checked:  # the same bytes as after another fault
            assert scene.checked[content] in expected, where
            return outcome
        assert (path / "catalog.sqlite").exists() is False or verify(path) == [], where
        found = fingerprint(path)
        scene.checked[content] = scene.answer(path, found)
        assert scene.checked[content] in expected, where
        if (found, files_on_disk(path)) not in scene.resumed:  # with the same files, running it again does the same
            scene.resumed.append((found, files_on_disk(path)))
            assert not process.run(scene.job, path).error, where
            assert verify(path) == [], where
            assert scene.answer(path, fingerprint(path)) == scene.complete, where
    return outcome


def _content(folder: Path) -> str:
    """A hash of the names and bytes of all files and folders."""
    return digest(
        [
            [file.relative_to(folder).as_posix(), sha256(file) if file.is_file() else ""]
            for file in sorted(folder.rglob("*"))
        ]
    )


def fingerprint(path: Path) -> str:
    """A hash of all that answers depend on: the rows of the catalog, and the files that it lists."""
    try:
        Index(path).close()
    except InvalidIndex:
        return "none"
    with closing(sqlite3.connect(path / "catalog.sqlite")) as connection:
        lines = [*connection.iterdump()]
        files = [name for (name,) in connection.execute("SELECT path FROM files ORDER BY path")]
    return digest([lines, [sha256(path / file) for file in files]])


def _problems(process: FaultyProcess, scene: Scene, fault: str, numbers: Iterable[int]) -> Iterator[str]:
    """What went wrong after a fault at each of these calls, up to the last call of the job."""
    for number in numbers:
        try:
            if not _check(process, scene, fault, number).failures:
                return
        except AssertionError as error:
            yield str(error).split("\n")[0]
        except RprsError as error:
            yield f"{scene.job}, {fault} at call {number}: {error}"


@pytest.mark.parametrize("job", BEFORE)
def test_a_fault_at_some_calls(process: FaultyProcess, scenes: dict[str, Scene], job: str) -> None:
    """Two kinds of fault for each job, all kinds for all jobs together."""
    place = list(BEFORE).index(job)
    for fault in (list(FAULTS) * 2)[place : place + len(FAULTS) : 4]:
        calls = _check(process, scenes[job], fault, NEVER).calls
        sample = [1 + (calls - 1) * (2 * part + 1) // (2 * SAMPLE) for part in range(SAMPLE)]
        assert list(_problems(process, scenes[job], fault, sample)) == []


def test_an_error_while_an_upgrade_asks_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every error of SQLite is translated; this one was not until all calls were tried."""

    def fail(catalog: Catalog) -> bool:
        raise sqlite3.OperationalError("disk I/O error")

    with Writer(tmp_path / "a.rprs", create=True, encoder=HASHED) as writer:
        monkeypatch.setattr(Catalog, "has_statistics", property(fail))
        with pytest.raises(InvalidIndex, match=r"Cannot write to .* \(disk I/O error\): what was committed"):
            writer.upgrade()


def test_an_error_that_ends_the_transaction_of_a_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite rolls back by itself after some errors; rolling back once more hid the first error behind its own."""
    Writer(tmp_path / "a.rprs", create=True, encoder=HASHED).close()
    rows = Catalog.rows

    def fail(catalog: Catalog, query: str, *values: object) -> list[object]:
        if query == SEALED:
            catalog.connection.execute("ROLLBACK")
            raise InvalidIndex("The disk fails")
        return rows(catalog, query, *values)

    monkeypatch.setattr(Catalog, "rows", fail)
    with pytest.raises(InvalidIndex, match="The disk fails"):
        Index(tmp_path / "a.rprs")


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("job", BEFORE)
def test_a_fault_at_every_call(process: FaultyProcess, scenes: dict[str, Scene], job: str, fault: str) -> None:
    problems = list(_problems(process, scenes[job], fault, count(1)))
    print(f"{job}, {fault}: {_check(process, scenes[job], fault, NEVER).calls} calls")
    assert problems == []
