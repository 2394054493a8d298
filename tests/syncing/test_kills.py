"""A `sync` that is killed at any moment and run again gives the index of an uninterrupted one, to the last bit."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest

from rprs.errors import InvalidIndex
from rprs.index import Index, verify
from rprs.index.catalog import Catalog
from rprs.index.sources import FileRow, Origin, Sources
from tests.support.crash import (
    SOURCE,
    Crasher,
    files_on_disk,
    invented,
    listed_files,
    memory_folder,
    rankings,
)

PARTS = 8  # of the test at every step, which takes long


@dataclass(frozen=True)
class Scene:
    """An index before a `sync`, with the result of an uninterrupted one."""

    start: Path
    rankings: bytes
    records: object
    steps: int


def _text(id: str, version: int = 0) -> str:
    return invented(id, version, 4).text


def _first_folder(folder: Path) -> None:
    for name in ("a.txt", "b.txt", "c.txt", "d.txt", "old/e.txt", "old/f.txt"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(_text(name))
    _records(folder / "records.jsonl", range(6))


def _change_folder(folder: Path) -> None:
    """Everything that can happen to files: changed, deleted, moved, copied, new; and records of all these kinds."""
    (folder / "a.txt").write_text(_text("a.txt", 1))
    (folder / "b.txt").unlink()
    (folder / "old").rename(folder / "new")
    shutil.copy(folder / "c.txt", folder / "a copy of c.txt")
    for name in ("g.txt", "h.txt"):
        (folder / name).write_text(_text(name))
    _records(folder / "records.jsonl", range(3, 9))
    (folder / "empty.txt").touch()


def _records(path: Path, numbers: range) -> None:
    lines = [json.dumps({"id": f"r{number}", "text": _text(f"r{number}")}) for number in numbers]
    path.write_text("\n".join(lines) + "\n")


def _recorded(path: Path) -> tuple[dict[str, FileRow], dict[str, Origin]]:
    """The records of the index; whether the times of a file were recorded depends on the clock."""
    catalog = Catalog(path, write=False)
    try:
        sources = Sources(catalog, "")
        return {name: replace(row, state="") for name, row in sources.files().items()}, sources.origins()
    finally:
        catalog.close()


@pytest.fixture(scope="module")
def crasher() -> Iterator[Crasher]:
    with memory_folder() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv(SOURCE, str(folder))
        with Crasher() as server:
            yield server


@pytest.fixture(scope="module")
def scenes(crasher: Crasher) -> Iterator[list[Scene]]:
    """A first `sync`, which creates the index, and a second one after everything has changed."""
    source = Path(os.environ[SOURCE])
    with memory_folder() as folder:
        nothing, first, second = folder / "nothing.rprs", folder / "first.rprs", folder / "second.rprs"
        _first_folder(source)
        assert not crasher.run("sync", first).error
        _change_folder(source)
        scenes = []
        for start, complete in ((nothing, folder / "new.rprs"), (first, second)):
            if start.exists():
                shutil.copytree(start, complete)
            outcome = crasher.run("sync", complete)
            assert not outcome.error
            scenes.append(Scene(start, rankings(complete), _recorded(complete), outcome.steps))
        assert scenes[0].rankings == scenes[1].rankings  # the history of a folder does not matter
        yield scenes


def _check(scene: Scene, path: Path) -> None:
    assert verify(path) == []
    assert files_on_disk(path) == set(listed_files(path))
    assert rankings(path) == scene.rankings
    assert _recorded(path) == scene.records


def _copy(scene: Scene, folder: Path) -> Path:
    path = folder / "killed.rprs"
    if scene.start.exists():
        shutil.copytree(scene.start, path)
    return path


def _kill_and_resume(crasher: Crasher, scene: Scene, step: int) -> None:
    with memory_folder() as folder:
        path = _copy(scene, folder)
        assert crasher.run("sync", path, at_step=step).killed
        _check_readable(path)
        outcome = crasher.run("sync", path)
        assert not outcome.error, f"after a kill at step {step}"
        _check(scene, path)


def _check_readable(path: Path) -> None:
    if (path / "catalog.sqlite").exists():
        assert verify(path) == []
        try:
            Index(path).close()
        except InvalidIndex as error:
            if "not finished" not in str(error):  # the first batch is not committed
                raise


@pytest.mark.parametrize("number", [0, 1])
def test_killed_at_a_few_steps(crasher: Crasher, scenes: list[Scene], number: int) -> None:
    scene = scenes[number]
    for step in range(7, scene.steps + 1, max(1, scene.steps // 5)):
        _kill_and_resume(crasher, scene, step)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("number", [0, 1])
def test_killed_at_every_step(crasher: Crasher, scenes: list[Scene], number: int, part: int) -> None:
    scene = scenes[number]
    for step in range(1 + part, scene.steps + 1, PARTS):
        _kill_and_resume(crasher, scene, step)


@pytest.mark.parametrize(
    ("seed", "kills"), [(1, 4), pytest.param(2, 300, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])]
)
def test_killed_repeatedly_at_random_moments(crasher: Crasher, scenes: list[Scene], seed: int, kills: int) -> None:
    random = Random(seed)
    count = 0
    while count < kills:
        scene = random.choice(scenes)
        with memory_folder() as folder:
            path = _copy(scene, folder)
            for _ in range(random.randint(1, 4)):
                count += crasher.run("sync", path, after=random.uniform(0.001, 0.25)).killed
                _check_readable(path)
            assert not crasher.run("sync", path).error
            _check(scene, path)
