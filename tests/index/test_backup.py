"""A backup shows one state of the index, whoever writes meanwhile, and an interrupted one changes nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rprs.errors import IndexCorrupt, IndexLocked, InvalidIndex, UsageError
from rprs.index import Index, Writer, verify
from rprs.index.backup import backup
from tests.support.cli import rprs_error, rprs_ok
from tests.support.crash import CHANGED, COLLECTION, HASHED, REMOVED, Crasher, rankings
from tests.support.paths import ROOT


@pytest.fixture
def source(folder: Path) -> Path:
    return folder / "cases.rprs"


def change(path: Path) -> None:
    with Writer(path, batch=200) as writer:
        writer.remove(REMOVED)
        writer.add(CHANGED)


def arrays(path: Path) -> dict[str, int]:
    """The files of segments with their inodes, which show what was written again."""
    return {str(file.relative_to(path)): file.stat().st_ino for file in path.glob("segments/*/*")}


class TestCopy:
    def test_is_an_index_with_the_same_answers(self, source: Path, folder: Path) -> None:
        done = backup(source, folder / "copy.rprs")
        assert (done.documents, done.kept) == (len(COLLECTION), 0)
        assert rankings(folder / "copy.rprs") == rankings(source)
        change(folder / "copy.rprs")  # it can be written to, which leaves the original alone
        assert rankings(folder / "copy.rprs") != rankings(source)
        assert (folder / "copy.rprs").stat().st_mode & 0o777 == 0o700
        assert {file.stat().st_mode & 0o777 for file in (folder / "copy.rprs").rglob("*") if file.is_file()} == {0o600}

    def test_only_copies_what_is_new(self, source: Path, folder: Path) -> None:
        copy = folder / "copy.rprs"
        backup(source, copy)
        first = arrays(copy)
        change(source)
        done = backup(source, copy)
        assert rankings(copy) == rankings(source)
        assert done.copied > 0
        assert {name: arrays(copy)[name] for name in first} == first
        assert backup(source, copy).copied == 0
        with Writer(source) as writer:
            writer.compact()
        backup(source, copy)
        assert arrays(copy).keys() == arrays(source).keys()  # what was merged is gone
        assert rankings(copy) == rankings(source)

    def test_damage_to_the_copy_is_mended(self, source: Path, folder: Path) -> None:
        copy = folder / "copy.rprs"
        backup(source, copy)
        file = next(copy.glob("segments/*/vectors*"))
        content = bytearray(file.read_bytes())
        content[-3] ^= 1
        file.write_bytes(content)
        assert verify(copy)
        assert backup(source, copy).copied == 1
        assert verify(copy) == []

    def test_restores_an_earlier_state(self, source: Path, folder: Path) -> None:
        copy, earlier = folder / "copy.rprs", rankings(source)
        backup(source, copy)
        change(source)
        backup(copy, source)
        assert rankings(source) == earlier
        assert verify(source) == []

    def test_by_the_command_line(self, source: Path, folder: Path) -> None:
        assert "9 documents" in rprs_ok("backup", source, folder / "copy.rprs").err
        assert "0 files copied" in rprs_ok("backup", source, folder / "copy.rprs").err


class TestRefusal:
    def test_a_damaged_index_is_not_copied(self, source: Path, folder: Path) -> None:
        copy = folder / "copy.rprs"
        backup(source, copy)
        before = rankings(copy)
        change(source)
        for file in source.glob("segments/*/spans.npy"):
            file.write_bytes(file.read_bytes()[:-1] + b"\x07")
        with pytest.raises(IndexCorrupt, match="has changed since it was written"):
            backup(source, copy)
        assert rankings(copy) == before

    def test_places_that_make_no_sense(self, source: Path, folder: Path) -> None:
        for place in (source, source / "inside", folder):
            with pytest.raises(UsageError, match="choose a folder outside of it"):
                backup(source, place)
        (folder / "letters").mkdir()
        (folder / "letters" / "letter.txt").write_text("Dear all")
        assert "holds other files" in rprs_error("backup", source, folder / "letters")
        with pytest.raises(InvalidIndex):
            backup(folder / "nowhere.rprs", folder / "copy.rprs")

    def test_a_copy_that_is_written_to(self, source: Path, folder: Path) -> None:
        backup(source, folder / "copy.rprs")
        with Writer(folder / "copy.rprs"), pytest.raises(IndexLocked):
            backup(source, folder / "copy.rprs")


@pytest.fixture(scope="module")
def crasher() -> Iterator[Crasher]:
    with Crasher() as server:
        yield server


def kill_backup(crasher: Crasher, source: Path, copy: Path, before: bytes, step: int) -> bool:
    """Kill a backup before a step, and check that the copy is as it was or complete; False if it ended before."""
    killed = crasher.run("backup", copy, at_step=step).killed
    if before and killed:
        assert verify(copy) == []
        assert rankings(copy) in (before, rankings(source))
    assert not crasher.run("backup", copy).error
    assert rankings(copy) == rankings(source)
    return killed


@pytest.mark.parametrize("stride", [241, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.timeout(900)])])
def test_killed_at_many_steps(crasher: Crasher, source: Path, folder: Path, stride: int) -> None:
    """The first backup, and one that brings a copy up to date."""
    shutil.copytree(source, folder / "source.rprs")
    older = folder / "older.rprs"
    for before in (b"", rankings(source)):
        step = 1
        while True:
            copy = folder / f"copy-{step}.rprs"
            if before:
                shutil.copytree(older, copy)
            killed = kill_backup(crasher, folder / "source.rprs", copy, before, step)
            shutil.rmtree(copy)
            if not killed:
                break
            step += stride
        if not before:
            backup(folder / "source.rprs", older)
            change(folder / "source.rprs")


WRITER = """
import sys
from rprs.index import Writer
from tests.support.crash import invented
number = 0
while True:
    with Writer(sys.argv[1]) as writer:
        writer.add([invented(f"new{number}-{place}", sentences=3) for place in range(3)])
        if number % 4 == 3:
            writer.compact()
    number += 1
    print(number, flush=True)
"""


def test_while_another_process_writes(source: Path, folder: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(source)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as writer:
        try:
            assert writer.stdout
            for _ in range(4):
                writer.stdout.readline()
                done = backup(source, folder / "copy.rprs")
                with Index(folder / "copy.rprs") as index:
                    assert len(index) == done.documents
                    added = [id for id in index.ids if id.startswith("new")]
                    assert len(added) % 3 == 0  # whole commits alone
        finally:
            writer.kill()
    assert verify(folder / "copy.rprs") == []


def test_a_new_index_in_the_place_of_the_copied_one(source: Path, folder: Path) -> None:
    copy = folder / "copy.rprs"
    change(source)
    backup(source, copy)
    shutil.rmtree(source)
    with Writer(source, create=True, encoder=HASHED) as writer:
        writer.add(COLLECTION[:2])
    backup(source, copy)
    assert rankings(copy) == rankings(source)
    assert verify(copy) == []
