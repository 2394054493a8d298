"""Open files: an index of many segments needs few, and running out of them is not reported as damage."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rprs.errors import IndexCorrupt
from rprs.files import mapping
from rprs.files.mapping import map_file, release
from rprs.index import Index, Writer, verify
from rprs.index.writer import MANY_SEGMENTS
from tests.support.crash import COLLECTION, HASHED, invented, memory_folder, rankings
from tests.support.forked import in_child

LIMIT = 100  # open files: fewer than two for each segment


@pytest.fixture(scope="module")
def many() -> Iterator[Path]:
    """An index with as many segments as there may be."""
    with memory_folder() as folder:
        with Writer(folder / "many.rprs", create=True, encoder=HASHED, batch=1) as writer:
            writer.add(invented(f"d{number}", sentences=1) for number in range(MANY_SEGMENTS))
        yield folder / "many.rprs"


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_an_open_index_keeps_no_array_open(many: Path) -> None:
    before = descriptors()
    with Index(many) as index:
        assert len(index.segments) == MANY_SEGMENTS
        assert descriptors() - before <= 4  # the catalog, its log and the index of that


def _limited(files: int, work: Any) -> Any:
    def limited() -> Any:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        return work()

    return in_child(limited)


def test_adding_beyond_the_most_segments_needs_few_files(many: Path) -> None:
    before = rankings(many)

    def work() -> Any:
        with Writer(many) as writer:
            added = [writer.add([invented(f"e{number}", sentences=1)]) for number in range(3)]
            segments = len(writer.catalog.segments())
            writer.remove([f"e{number}" for number in range(3)])
            writer.compact()
        return [(each.added, each.notes) for each in added], segments, verify(many)

    assert _limited(LIMIT, work) == ([(1, ())] * 3, 3, [])
    assert rankings(many) == before


def test_too_many_open_files_are_named_and_are_not_damage(tmp_path: Path) -> None:
    path = tmp_path / "cases.rprs"
    with Writer(path, create=True, encoder=HASHED) as writer:
        writer.add(COLLECTION)
    lines = []

    def work(spare: int) -> str:
        held = []
        try:
            while True:
                held.append(os.open(path / "lock", os.O_RDONLY))
        except OSError:
            for each in held[: spare or 0]:
                os.close(each)
        try:
            Index(path)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return ""

    for spare in range(8):
        line = _limited(64, lambda spare=spare: work(spare))
        lines.append(line)
        assert line == "" or "too many files are open (this process may open 64 files)" in line
        assert IndexCorrupt.__name__ not in line
    assert lines[0]
    assert not lines[-1]


@pytest.mark.parametrize("direct", [False, True])
def test_a_mapping_outlives_its_file_and_ends_with_its_array(tmp_path: Path, direct: bool, monkeypatch: Any) -> None:
    if direct:
        monkeypatch.setattr(mapping, "_map", mapping._map_directly)
    file = tmp_path / "file"
    file.write_bytes(b"abcdefgh" * 1000)
    content = map_file(file)
    view = content[8:24].view(np.uint64)
    file.unlink()
    del content
    assert bytes(view) == b"abcdefgh" * 2
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1
    (tmp_path / "empty").touch()
    assert len(map_file(tmp_path / "empty")) == 0
    with pytest.raises(FileNotFoundError):
        map_file(tmp_path / "missing")


def resident(kind: str) -> int:
    """The memory of this process in bytes, of one kind."""
    return 1024 * int(Path("/proc/self/status").read_text().partition(f"{kind}:")[2].split()[0])


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_memory_of_a_mapped_file_can_be_given_back(tmp_path: Path) -> None:
    file, size = tmp_path / "file", 2**24
    file.write_bytes(bytes(range(256)) * (size // 256))
    content = map_file(file)
    total = int(content.sum(dtype=np.int64))
    before = resident("RssFile")
    release(content)
    assert before - resident("RssFile") > size * 0.9
    assert int(content.sum(dtype=np.int64)) == total
    own = np.full(2**20, 7, dtype=np.uint8)
    release(own)
    assert own.sum() == 7 * 2**20, "memory that is not a file's keeps its content"
