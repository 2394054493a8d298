"""A writer changes and deletes nothing outside the index, and within it only what an index made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rprs.errors import InvalidIndex
from rprs.index import Index, Writer
from tests.support.crash import COLLECTION, HASHED, rankings


def precious(folder: Path) -> dict[Path, str]:
    """Files outside the index, named as those of an index might be."""
    files = ["elsewhere/thesis.txt", "elsewhere/000007/lengths.npy", "elsewhere/spans.npy", "elsewhere/catalog.sqlite"]
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("mine")
    return contents(folder / "elsewhere")


def contents(folder: Path) -> dict[Path, str]:
    return {file: file.read_text() for file in folder.rglob("*") if file.is_file()}


CHANGES: list[Callable[[Writer], object]] = [
    lambda writer: writer.add(COLLECTION),
    lambda writer: writer.remove(["d01"]),
    lambda writer: writer.compact(),
    lambda writer: writer.upgrade(),
]


@pytest.mark.parametrize("name", ["segments", "encoders", "norms", "lock", "segments/000001", "segments/000009"])
@pytest.mark.parametrize("target", ["elsewhere", "elsewhere/thesis.txt", "nowhere"])
def test_nothing_is_written_or_deleted_through_a_link(folder: Path, name: str, target: str) -> None:
    files, link = precious(folder), folder / "cases.rprs" / name
    if link.exists():
        link.rename(folder / "moved")
    link.symlink_to(folder / target)
    for change in CHANGES:
        with (
            pytest.raises(InvalidIndex, match=rf"{name} is a symbolic link, and an index is not changed through links"),
            Writer(folder / "cases.rprs") as writer,
        ):
            change(writer)
    assert contents(folder / "elsewhere") == files
    assert link.is_symlink()


@pytest.mark.parametrize("name", ["segments/000001/spans.npy", "norms/000001/extra.npy", "catalog.sqlite"])
def test_nor_through_a_linked_file(folder: Path, name: str) -> None:
    place = folder / "cases.rprs" / name
    original = folder / "original"
    if place.exists():
        place.rename(original)
    else:
        original.write_text("mine")
    before = original.read_bytes()
    place.symlink_to(original)
    with pytest.raises(InvalidIndex, match="is a symbolic link"):
        Writer(folder / "cases.rprs")
    assert original.read_bytes() == before


def test_a_linked_group_of_a_new_index(folder: Path) -> None:
    """Before, the folder that a new index finds was emptied."""
    files, new = precious(folder), folder / "new.rprs"
    new.mkdir()
    (new / "segments").symlink_to(folder / "elsewhere")
    with pytest.raises(InvalidIndex, match="segments is a symbolic link"):
        Writer(new, create=True, encoder=HASHED)
    assert contents(folder / "elsewhere") == files


def test_a_link_to_the_whole_index_works(folder: Path) -> None:
    (folder / "link.rprs").symlink_to(folder / "cases.rprs")
    with Writer(folder / "link.rprs") as writer:
        writer.remove(["d01"])
        writer.compact()
    with Index(folder / "cases.rprs") as index:
        assert "d01" not in index


def test_files_that_no_index_made_stay(folder: Path) -> None:
    path = folder / "cases.rprs"
    before = rankings(path)
    mine = ["segments/notes.txt", "segments/backup/000001/spans.npy", "segments/000001/readme.md", "norms/old.npy"]
    made = ["segments/000099/spans.npy", "segments/000001/vectors.000009.npy", "norms/000099/squared.npy"]
    for name in (*mine, *made):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text("mine")
    with Writer(path) as writer:
        assert writer.add(COLLECTION).unchanged == len(COLLECTION)
    assert [name for name in (*mine, *made) if (path / name).exists()] == mine
    assert not (path / "segments/000099").exists()
    assert rankings(path) == before
