"""After its writer was killed at any step, an index opens and lacks only the uncommitted batch. Running the same job
again finishes it, with rankings that equal those of an uninterrupted job to the last bit.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import pytest

from rprs.errors import IndexLocked, InvalidIndex
from rprs.index import Index, Writer, verify
from rprs.index.catalog import Catalog
from tests.support.cli import rprs_error
from tests.support.crash import (
    COLLECTION,
    HASHED,
    JOBS,
    Crasher,
    files_on_disk,
    invented,
    listed_files,
    memory_folder,
    plug_in,
    rankings,
)
from tests.support.paths import ROOT

BEFORE = {  # jobs that ran before the one that is killed
    "index": [],
    "index-learned": [],
    "add": ["index"],
    "compact": ["index", "add"],
    "refit": ["index-learned", "add"],
    "index-plain": [],
    "upgrade": ["index-plain"],
}
REWRITES = {"compact", "refit", "upgrade"}  # these replace committed files; the others never touch them


@dataclass(frozen=True)
class Scene:
    """An index before a job, its rankings before and after the job, and the number of steps of the job."""

    job: str
    start: Path
    before: bytes
    after: bytes
    steps: int


@pytest.fixture(scope="module")
def crasher() -> Iterator[Crasher]:
    plug_in()
    with Crasher() as server:
        yield server


@pytest.fixture(scope="module")
def scenes(crasher: Crasher) -> Iterator[dict[str, Scene]]:
    with memory_folder() as folder:
        yield {job: _scene(crasher, job, folder / job) for job in JOBS}


def _scene(crasher: Crasher, job: str, folder: Path) -> Scene:
    start, complete = folder / "start.rprs", folder / "complete.rprs"
    folder.mkdir()
    for earlier in BEFORE[job]:
        assert not crasher.run(earlier, start).error
    before = rankings(start) if BEFORE[job] else b""
    if BEFORE[job]:
        shutil.copytree(start, complete)
    outcome = crasher.run(job, complete)
    assert not outcome.killed
    assert not outcome.error
    return Scene(job, start, before, rankings(complete), outcome.steps)


@contextmanager
def _copy(scene: Scene) -> Iterator[Path]:
    with memory_folder() as folder:
        path = folder / "killed.rprs"
        if scene.start.exists():
            shutil.copytree(scene.start, path)
        yield path


def _check_killed(scene: Scene, path: Path) -> None:
    """Check an index whose writer has just been killed."""
    try:
        Index(path).close()
    except InvalidIndex as error:
        unfinished = "not finished" in str(error) or "There is no index" in str(error)
        if not unfinished or BEFORE[scene.job]:
            raise
    if (path / "catalog.sqlite").exists():
        assert verify(path) == []
    if scene.job in REWRITES:
        assert rankings(path) in (scene.before, scene.after)


def _check_finished(scene: Scene, path: Path) -> None:
    assert verify(path) == []
    assert files_on_disk(path) == set(listed_files(path))
    assert rankings(path) == scene.after


def _kill_and_resume(crasher: Crasher, scene: Scene, step: int) -> None:
    with _copy(scene) as path:
        assert crasher.run(scene.job, path, at_step=step).killed
        _check_killed(scene, path)
        committed = listed_files(path)
        outcome = crasher.run(scene.job, path)
        assert not outcome.killed
        assert not outcome.error, f"after a kill at step {step}"
        _check_finished(scene, path)
        if scene.job not in REWRITES:
            now = listed_files(path)
            batches = {name: file for name, file in committed.items() if not name.startswith("norms/")}
            assert {name: now.get(name) for name in batches} == batches, "a committed batch was written again"


MAIN = ("add", "index")  # the others are killed at random, and at every step by the slow tests


@pytest.mark.parametrize("job", [job if job in MAIN else pytest.param(job, marks=pytest.mark.slow) for job in JOBS])
def test_killed_at_about_ten_steps(crasher: Crasher, scenes: dict[str, Scene], job: str) -> None:
    scene = scenes[job]
    for step in range(1 + len(job), scene.steps + 1, max(1, scene.steps // 10)):
        _kill_and_resume(crasher, scene, step)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("job", JOBS)
def test_killed_at_every_step(crasher: Crasher, scenes: dict[str, Scene], job: str) -> None:
    scene = scenes[job]
    for step in range(1, scene.steps + 1):
        _kill_and_resume(crasher, scene, step)


@pytest.mark.parametrize(
    ("seed", "kills"), [(1, 12), pytest.param(2, 400, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]
)
def test_killed_repeatedly_at_random_moments(crasher: Crasher, scenes: dict[str, Scene], seed: int, kills: int) -> None:
    random = Random(seed)
    count = 0
    while count < kills:
        scene = scenes[random.choice(sorted(JOBS))]
        with _copy(scene) as path:
            for _ in range(random.randint(1, 4)):
                count += crasher.run(scene.job, path, after=random.uniform(0.001, 0.12)).killed
                _check_killed(scene, path)
            assert not crasher.run(scene.job, path).error
            _check_finished(scene, path)


def test_committed_batches_survive_and_only_the_rest_is_read(crasher: Crasher, scenes: dict[str, Scene]) -> None:
    scene = scenes["index"]
    with _copy(scene) as path:
        assert crasher.run("index", path, at_step=scene.steps * 2 // 3).killed
        with Index(path) as index:
            kept = index.ids
        assert 0 < len(kept) < len(COLLECTION)
        assert kept == [document.id for document in COLLECTION[: len(kept)]]
        with Writer(path, batch=200) as writer:
            added = writer.add(COLLECTION)
        assert (added.added, added.unchanged) == (len(COLLECTION) - len(kept), len(kept))


def test_a_killed_refit_is_resumed_unless_the_collection_has_changed(
    crasher: Crasher, scenes: dict[str, Scene]
) -> None:
    scene = scenes["refit"]
    with _copy(scene) as path:
        step = scene.steps // 2
        while not (partial := _new_vectors(path)):
            assert crasher.run("refit", path, at_step=step).killed
            step += 5
        assert rankings(path) == scene.before
        assert not crasher.run("refit", path).error
        assert {name: listed_files(path).get(name) for name in partial} == partial  # not encoded twice
        _check_finished(scene, path)
    with _copy(scene) as path:
        assert crasher.run("refit", path, at_step=step).killed
        with Writer(path) as writer:
            writer.remove(["d02"])
            refitted = writer.catalog.refit
            writer.refit()
            assert refitted is not None
            assert writer.catalog.refit is None
            assert len(writer.catalog.rows("SELECT * FROM encoders")) == 1
        assert verify(path) == []
        assert files_on_disk(path) == set(listed_files(path))


def _new_vectors(path: Path) -> dict[str, tuple[int, int]]:
    """The vectors that an interrupted refit has made."""
    catalog = Catalog(path, write=False)
    try:
        if catalog.refit is None:
            return {}
        end = f"vectors.{catalog.refit[0]:06d}.npy"
    finally:
        catalog.close()
    return {name: file for name, file in listed_files(path).items() if name.endswith(end)}


def test_every_file_is_synced_before_the_commit_that_lists_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As a power cut requires; killing a process cannot show it."""
    plug_in()
    synced: set[int] = set()
    sync = os.fsync

    def fsync(handle: int) -> None:
        sync(handle)
        synced.add(os.fstat(handle).st_ino)

    transaction = Catalog.transaction
    commits = 0

    @contextmanager
    def checked(catalog: Catalog) -> Iterator[sqlite3.Connection]:
        nonlocal commits
        with transaction(catalog) as connection:
            yield connection
            for file in catalog.files():
                place = catalog.path.parent / file.path
                for needed in (place, place.parent, place.parent.parent):
                    assert needed.stat().st_ino in synced, f"{needed} is not synced yet"
            commits += 1

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Catalog, "transaction", checked)
    for job in ("index-learned", "add", "refit", "compact"):
        JOBS[job](tmp_path / "synced.rprs")
    for job in ("index-plain", "upgrade"):
        JOBS[job](tmp_path / "upgraded.rprs")
    assert commits > 10


HOLD = """
import sys
from tests.support.crash import HASHED, COLLECTION
from rprs.index import Writer
with Writer(sys.argv[1], create=True, encoder=HASHED) as writer:
    writer.add(COLLECTION)
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def _process(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_one_writer_at_a_time_and_the_lock_ends_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "locked.rprs"
    with _process(HOLD, path) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        for create in (True, False):
            with pytest.raises(IndexLocked, match=r"is being written to by another process: wait until it is done"):
                Writer(path, create=create)
        assert holder.poll() is None  # it still holds the lock: its end has not been awaited
        assert "is being written to by another process" in rprs_error("upgrade", path)
        with Index(path) as reader:  # readers need no lock
            assert len(reader) == len(COLLECTION)
        holder.kill()
        holder.wait()
        with Writer(path) as writer:
            assert writer.remove(["d00"]) == 1
    with Writer(path), pytest.raises(IndexLocked):  # the same within one process
        Writer(path)


CHURN = """
import sys
from tests.support.crash import invented
from rprs.index import Writer
round = 0
with Writer(sys.argv[1]) as writer:
    print("ready", flush=True)
    while True:
        round += 1
        writer.add([invented(f"d{n}", round % 10, 3) for n in range(4)])
        writer.compact()
"""


@pytest.mark.slow
def test_a_reader_can_open_at_any_time_while_another_process_adds_and_compacts() -> None:
    with memory_folder() as folder:
        path = folder / "busy.rprs"
        with Writer(path, create=True, encoder=HASHED) as writer:
            writer.add(invented(f"d{number}", 0, 3) for number in range(4))
        with _process(CHURN, path) as churn:
            assert churn.stdout
            assert churn.stdout.readline() == "ready\n"
            opened = 0
            all_versions: set[object] = set()
            while opened < 100 or len(all_versions) < 4:
                with Index(path) as index:
                    versions = {index.document(id).metadata["version"] for id in index.ids}
                    assert index.ids == ["d0", "d1", "d2", "d3"]
                    assert len(versions) == 1  # a batch is visible completely or not at all
                    for id in index.ids:
                        spans = index.splitter.split(index.document(id).text).spans
                        assert np.array_equal(index.sentences(id).spans, spans)
                if opened % 20 == 0:  # files that were deleted meanwhile are no damage
                    assert verify(path) == []
                opened, all_versions = opened + 1, all_versions | versions
            assert churn.poll() is None
        assert verify(path) == []
