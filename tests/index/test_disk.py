"""Full and read-only disks, and memory that must not grow with the collection."""

from __future__ import annotations

import gc
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rprs.errors import DiskFull, InvalidIndex
from rprs.index import Index, Writer, verify
from rprs.index.catalog import Catalog
from tests.support.crash import COLLECTION, HASHED, invented, memory_folder, rankings
from tests.support.paths import ROOT

LARGE = [invented(f"large {number:03d}", 0, 60) for number in range(120)]


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A disk of two megabytes."""
    place = tmp_path_factory.mktemp("disk")
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], capture_output=True, text=True, check=False
    )
    if mount.returncode:
        pytest.skip(f"NOT TESTED on a real full disk: mounting one needs root ({mount.stderr.strip()})")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def small(disk: Path) -> Iterator[Path]:
    """An index on that disk, with some documents in it."""
    path = disk / "small.rprs"
    with Writer(path, create=True, encoder=HASHED) as writer:
        writer.add(COLLECTION)
    yield path
    remount(disk, "rw")
    for place in disk.iterdir():
        shutil.rmtree(place) if place.is_dir() else place.unlink()


def remount(disk: Path, how: str) -> None:
    """A disk with a deleted file that is still open cannot become read-only: arrays are mapped until collected."""
    gc.collect()
    subprocess.run(["mount", "-o", f"remount,{how}", str(disk)], check=True)


def fill(disk: Path, leave: int) -> Path:
    """Fill a disk, except for a number of bytes."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as stream:
        stream.write(b"x" * max(0, shutil.disk_usage(disk).free - leave))
    return ballast


# ---------------------------------------------------------------------------- full


@pytest.mark.parametrize("leave", [0, 4096, 30_000, 100_000, 200_000, 300_000, 400_000])
def test_a_full_disk_is_one_line_and_the_index_stays_valid(disk: Path, small: Path, leave: int) -> None:
    """Whether it fails at a file of a segment, at the log of the catalog or at its checkpoint."""
    before = rankings(small)
    ballast = fill(disk, leave)
    with Writer(small, batch=10**9) as writer:
        with pytest.raises(DiskFull, match=r"No space left while writing to .*small.rprs \(\d+ MB free\)") as caught:
            writer.add(LARGE)
        assert "\n" not in str(caught.value)
        assert sorted(place.name for place in (small / "segments").iterdir()) == [
            "000001"
        ]  # nothing uncommitted is left
        ballast.unlink()
        assert verify(small) == []
        assert rankings(small) == before
        assert writer.add(LARGE[:30]).added == 30  # the same writer can continue
    assert verify(small) == []


def test_a_full_disk_while_compacting_and_removing(disk: Path, small: Path) -> None:
    with Writer(small) as writer:
        writer.add(LARGE[:30])
    before = rankings(small)
    ballast = fill(disk, 0)
    with pytest.raises(DiskFull), Writer(small) as writer:
        writer.compact()
    assert rankings(small) == before
    with pytest.raises(DiskFull), Writer(small) as writer:
        writer.remove([document.id for document in LARGE[:30]])
    ballast.unlink()
    assert rankings(small) == before
    with Writer(small) as writer:
        writer.compact()
    assert rankings(small) == before
    assert verify(small) == []


@pytest.mark.parametrize("leave", [0, 20_000, 60_000])
def test_an_upgrade_on_a_full_disk_resumes_when_there_is_space_again(disk: Path, small: Path, leave: int) -> None:
    old = disk / "old.rprs"
    with Writer(old, create=True, encoder=HASHED, phrases=False, batch=10_000) as writer:
        writer.add(LARGE[:25])
    before = rankings(old)
    ballast = fill(disk, leave)
    with pytest.raises(DiskFull, match=r"No space left (while writing to|to open) .*old.rprs"), Writer(old) as writer:
        writer.upgrade()
    ballast.unlink()
    assert rankings(old) == before
    assert verify(old) == []
    shutil.rmtree(small)
    with Writer(old) as writer:
        assert writer.upgrade()
    assert verify(old) == []
    with memory_folder() as folder:
        with Writer(folder / "new.rprs", create=True, encoder=HASHED) as writer:
            writer.add(LARGE[:25])
        assert rankings(old) == rankings(folder / "new.rprs")


def test_a_disk_too_full_to_open_an_index(disk: Path, small: Path) -> None:
    for leftover in small.glob("catalog.sqlite-*"):
        leftover.unlink()
    ballast = fill(disk, 0)
    for opened in (Index, Writer, verify):
        with pytest.raises(DiskFull, match=r"No space left to open .*small.rprs: free some space and try again"):
            opened(small)
    ballast.unlink()
    with Index(small) as index:
        assert len(index) == len(COLLECTION)


def test_a_full_disk_while_creating(disk: Path, small: Path) -> None:
    ballast = fill(disk, 0)
    with pytest.raises(DiskFull, match=r"No space left while writing to .*new.rprs"):
        Writer(disk / "new.rprs", create=True, encoder=HASHED)
    ballast.unlink()
    with Writer(disk / "new.rprs", create=True, encoder=HASHED) as writer:
        assert writer.add(COLLECTION).added == len(COLLECTION)
    assert rankings(disk / "new.rprs") == rankings(small)


def test_an_interrupted_build_is_resumed_when_there_is_space_again(disk: Path, small: Path) -> None:
    shutil.rmtree(small)
    ballast = fill(disk, 700_000)
    with pytest.raises(DiskFull), Writer(small, create=True, encoder=HASHED, batch=10_000) as writer:
        writer.add(LARGE)
    with Index(small) as index:
        kept = len(index)
    assert 0 < kept < len(LARGE)
    ballast.unlink()
    with Writer(small, create=True, batch=10_000) as writer:
        added = writer.add(LARGE[: kept + 10])
    assert (added.unchanged, added.added) == (kept, 10)
    assert verify(small) == []


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Limit the size of files of this process: like a quota, but without root."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize(("size", "kind"), [(20_000, DiskFull), (200_000, InvalidIndex)])
def test_a_limit_on_file_sizes_is_one_line_too(size: int, kind: type[Exception]) -> None:
    """The smaller limit stops an array, the larger one SQLite's log, which cannot tell a quota from a broken disk."""
    with memory_folder() as folder:
        path = folder / "limited.rprs"
        with Writer(path, create=True, encoder=HASHED) as writer:
            writer.add(COLLECTION)
            before = rankings(path)
            with (
                pytest.raises(
                    kind, match=r"(No space left while writing|Cannot write) to .*what was committed is complete"
                ),
                largest_file(size),
            ):
                writer.add(LARGE)
            assert rankings(path) == before
            assert writer.add(LARGE).added == len(LARGE)
        assert verify(path) == []


# ---------------------------------------------------------------------------- read-only


def test_a_read_only_disk_can_be_read_and_writing_is_one_line(disk: Path, small: Path) -> None:
    before = rankings(small)
    for leftover in small.glob("catalog.sqlite-*"):  # as on a disk that was never read from
        leftover.unlink()
    remount(disk, "ro")
    assert rankings(small) == before
    assert verify(small) == []
    with pytest.raises(InvalidIndex, match=r"Cannot write to .*small.rprs \(Read-only file system\)") as caught:
        Writer(small)
    assert "\n" not in str(caught.value)
    with pytest.raises(InvalidIndex, match=r"Cannot make the folder .*new.rprs: Read-only file system"):
        Writer(disk / "new.rprs", create=True, encoder=HASHED)


def test_unmerged_changes_on_a_read_only_disk_are_not_overlooked(disk: Path, small: Path) -> None:
    catalog = Catalog(small, write=False)  # keeps the log from being merged when the writer closes
    catalog.connection.execute("BEGIN")
    catalog.segments()
    with Writer(small) as writer:
        writer.add([invented("logged", 0, 3)])
    copies = {name: (small / name).read_bytes() for name in ("catalog.sqlite", "catalog.sqlite-wal")}
    catalog.close()
    with Index(small) as index:
        assert "logged" in index.ids
    (small / "catalog.sqlite-shm").unlink(missing_ok=True)
    for name, content in copies.items():
        (small / name).write_bytes(content)
    remount(disk, "ro")
    with pytest.raises(
        InvalidIndex, match=r"catalog.sqlite-wal holds changes not merged yet: open the index once where"
    ):
        Index(small)
    remount(disk, "rw")
    with Index(small) as index:
        assert "logged" in index.ids


def test_an_error_of_a_source_is_not_reported_as_one_of_the_index(tmp_path: Path) -> None:
    def broken() -> Iterator[object]:
        yield COLLECTION[0]
        (tmp_path / "source/missing.txt").read_text()

    with Writer(tmp_path / "a.rprs", create=True, encoder=HASHED) as writer:
        with pytest.raises(FileNotFoundError, match=r"missing.txt"):
            writer.add(broken())  # type: ignore[arg-type]
        assert writer.add(COLLECTION).added == len(COLLECTION)
    with pytest.raises(sqlite3.ProgrammingError):  # a mistake in a program stays one
        writer.add(COLLECTION)


# ---------------------------------------------------------------------------- memory

MEASURE = """
import resource, sys
from tests.support.crash import HASHED, invented
from rprs.index import Writer
with Writer(sys.argv[1], create=True, encoder=HASHED, batch=100_000) as writer:
    writer.add([invented("warm", 0, 300)])
    warm = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    writer.add(invented(f"d{number}", 0, 120) for number in range(int(sys.argv[2])))
    writer.compact()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - warm)
"""


def _growth(documents: int) -> int:
    """Kilobytes of memory that indexing and compacting this many documents needs beyond the first one."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with memory_folder() as folder:
        command = [sys.executable, "-c", MEASURE, str(folder / "a.rprs"), str(documents)]
        return int(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_collection() -> None:
    few, many = _growth(60), _growth(480)  # 0.3 and 2.5 million characters, of which 0.1 are held at a time
    assert many < few + 8 * 1024  # all at once would take 11 MB
