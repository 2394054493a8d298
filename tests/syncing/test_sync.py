"""An index after `sync` has exactly the documents of its folder, whatever happened there."""

from __future__ import annotations

import json
import os
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rprs
from rprs.errors import ReadError, UsageError
from rprs.index import Index, Writer, verify
from rprs.index.catalog import Catalog
from rprs.index.sources import Sources
from rprs.read.source import Skipped
from rprs.syncing import Synced, listing
from rprs.syncing.synchronise import plan_sync
from tests.support.crash import HASHED, memory_folder

RENT = "The tenant pays the rent. The roof leaks."
LOAN = "The bank lends money. The borrower pays it back."
BOAT = "The boat has two engines. One of them fails."


@dataclass(frozen=True)
class Drive:
    """A folder and the index that is kept in step with it."""

    folder: Path
    index: Path

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def sync(self, **options: object) -> Synced:
        return rprs.sync(self.folder, self.index, encoder=HASHED, **options)  # type: ignore[arg-type]

    def problems(self, **options: object) -> list[str]:
        problems: list[Skipped] = []
        self.sync(skipped=problems.append, **options)
        return [f"{Path(each.path).name}: {each.reason}" for each in problems]

    @property
    def documents(self) -> dict[str, tuple[str, object]]:
        """Text and other places of each document."""
        with Index(self.index) as index:
            documents = {id: index.document(id) for id in index.ids}
        return {id: (document.text, document.metadata.get("also_at")) for id, document in documents.items()}

    def segments(self) -> int:
        catalog = Catalog(self.index, write=False)
        try:
            return len(catalog.segments())
        finally:
            catalog.close()


@pytest.fixture
def drive() -> Iterator[Drive]:
    with memory_folder() as folder:
        (folder / "cases").mkdir()
        yield Drive(folder.resolve() / "cases", folder.resolve() / "x.rprs")


# ---------------------------------------------------------------------------- what happens to files


def test_new_changed_and_deleted_files(drive: Drive) -> None:
    drive.write("a.txt", RENT)
    drive.write("b.txt", LOAN)
    assert drive.sync() == Synced(added=2, sentences=4, terms=11)
    assert drive.sync() == Synced(unchanged=2)
    drive.write("a.txt", BOAT)
    drive.write("sub/c.txt", RENT)
    (drive.folder / "b.txt").unlink()
    done = drive.sync()
    assert (done.added, done.changed, done.moved, done.removed, done.unchanged) == (1, 1, 0, 1, 0)
    assert drive.documents == {"a.txt": (BOAT, None), "sub/c.txt": (RENT, None)}
    assert verify(drive.index) == []


def test_moved_and_renamed_files_keep_their_vectors(drive: Drive) -> None:
    drive.write("a.txt", RENT)
    drive.write("old/b.txt", LOAN)
    drive.sync()
    before = drive.segments()
    (drive.folder / "old").rename(drive.folder / "new")
    (drive.folder / "a.txt").rename(drive.folder / "z.txt")
    done = drive.sync(remove=False)
    assert (done.moved, done.added, done.removed, done.gone) == (2, 0, 0, 0)
    assert drive.documents == {"new/b.txt": (LOAN, None), "z.txt": (RENT, None)}
    assert drive.segments() == before  # nothing was indexed again
    with Index(drive.index) as index:
        moved = index.document("z.txt")
        assert (moved.title, moved.metadata["path"]) == ("z", str(drive.folder / "z.txt"))
        hits = rprs.Searcher(index).search(LOAN, keep_self=True)
        assert [hit.id for hit in hits] == ["new/b.txt", "z.txt"]
    assert verify(drive.index) == []


def test_identical_files_are_one_document_with_several_places(drive: Drive) -> None:
    drive.write("b.txt", RENT)
    drive.write("c/copy.txt", RENT)
    drive.write("notes.md", RENT)  # the same bytes, but another kind of file
    assert drive.sync().added == 2
    assert drive.documents == {"b.txt": (RENT, "c/copy.txt"), "notes.md": (RENT, None)}
    drive.write("a.txt", RENT)
    assert drive.sync().moved == 1
    assert drive.documents == {"a.txt": (RENT, "b.txt; c/copy.txt"), "notes.md": (RENT, None)}
    (drive.folder / "a.txt").unlink()
    (drive.folder / "b.txt").unlink()
    assert drive.sync(remove=False).moved == 1
    assert drive.documents == {"c/copy.txt": (RENT, None), "notes.md": (RENT, None)}
    drive.write("c/copy.txt", LOAN)
    drive.sync()
    assert drive.documents == {"c/copy.txt": (LOAN, None), "notes.md": (RENT, None)}


def test_records_and_archives_lose_what_their_file_no_longer_has(drive: Drive) -> None:
    def records(name: str, **texts: str) -> None:
        drive.write(name, "".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in texts.items()))

    def archive(*names: str) -> None:
        with zipfile.ZipFile(drive.folder / "files.zip", "w") as file:
            for name in names:
                file.writestr(name, f"{RENT} In {name}.")

    records("a.jsonl", r1=RENT, r2=LOAN)
    archive("one.txt", "two.txt")
    assert drive.sync().added == 4
    records("a.jsonl", r1=RENT)
    records("b.jsonl", r2=LOAN, r3=BOAT)  # r2 has moved to another file, which is read later
    archive("two.txt", "three.txt")
    drive.sync()
    assert set(drive.documents) == {"r1", "r2", "r3", "files.zip/two.txt", "files.zip/three.txt"}
    (drive.folder / "a.jsonl").unlink()
    records("b.jsonl", r1=BOAT)
    assert drive.sync().removed == 0
    assert drive.documents["r1"] == (BOAT, None)
    assert "r3" not in drive.documents


def test_an_id_that_another_file_uses_is_reported_until_it_is_free(drive: Drive) -> None:
    drive.write("a.jsonl", '{"id": "r", "text": "The first text."}\n')
    drive.write("b.jsonl", '{"id": "r", "text": "The second text."}\n')
    assert drive.problems() == ["b.jsonl: the id 'r' is already used by a document of a.jsonl"]
    assert drive.problems() == ["b.jsonl: the id 'r' is already used by a document of a.jsonl"]
    (drive.folder / "a.jsonl").unlink()
    assert drive.problems() == []
    assert drive.documents == {"r": ("The second text.", None)}


NAMES = st.sampled_from(["a.txt", "b.txt", "c.md", "sub/a.txt", "sub/d.txt", "zz/b.txt"])
TEXTS = st.sampled_from([RENT, LOAN, BOAT, f"{RENT} {LOAN}"])
STEP = st.one_of(
    st.tuples(st.just("write"), NAMES, TEXTS),
    st.tuples(st.just("move"), NAMES, NAMES),
    st.tuples(st.just("delete"), NAMES, NAMES),
    st.tuples(st.just("sync"), NAMES, NAMES),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEP, min_size=1, max_size=12))
def test_the_documents_are_those_of_the_folder_whatever_happened_before(steps: list[tuple[str, str, str]]) -> None:
    with memory_folder() as folder:
        drive = Drive(folder.resolve() / "cases", folder.resolve() / "x.rprs")
        drive.write("always.txt", "One file stays.")
        for action, name, other in steps:
            path = drive.folder / name
            if action == "write":
                drive.write(name, other)
            elif action == "sync":
                drive.sync()
            elif path.is_file() and action == "move":
                (drive.folder / other).parent.mkdir(exist_ok=True)
                path.replace(drive.folder / other)
            elif path.is_file():
                path.unlink()
        drive.sync()
        assert drive.documents == _expected(drive.folder)
        assert verify(drive.index) == []
        assert drive.sync().unchanged == len(drive.documents)


def _expected(folder: Path) -> dict[str, tuple[str, object]]:
    """What the index must have, from the files alone."""
    groups: dict[tuple[str, str], list[str]] = {}
    for path in sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).parts):
        if path.is_file():
            groups.setdefault((path.read_text(), path.suffix), []).append(path.relative_to(folder).as_posix())
    return {first: (text, "; ".join(copies) or None) for (text, _), (first, *copies) in groups.items()}


# ---------------------------------------------------------------------------- what is not read again


def test_unchanged_files_are_not_opened(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "RACY", -(10**18))
    path = drive.write("a.txt", RENT)
    drive.sync()
    times = path.stat()
    os.utime(path, ns=(10**18, times.st_mtime_ns))  # the time of the last access, and ctime
    drive.sync()  # its times differ, so it is compared, and they are recorded
    os.utime(path, ns=(10**18, times.st_mtime_ns))
    os.utime(path, ns=(10**18, times.st_mtime_ns))
    drive.sync()
    assert plan_sync(drive.folder, drive.index).rows == []
    before = path.stat().st_atime_ns
    drive.sync()
    assert path.stat().st_atime_ns == before


def test_a_file_that_was_just_changed_is_compared_by_its_bytes(drive: Drive) -> None:
    """A second change within the resolution of the clock can leave size and times as they were."""
    path = drive.write("a.txt", RENT)
    drive.sync()
    catalog = Catalog(drive.index, write=False)
    try:
        assert Sources(catalog, "").files()["a.txt"].state == ""
    finally:
        catalog.close()
    path.write_text(RENT.replace("pays", "owes"))
    assert drive.sync().changed == 1


def test_files_that_cannot_be_read_are_listed_each_time_and_read_again_when_told(drive: Drive) -> None:
    drive.write("a.txt", RENT)
    drive.write("empty.txt", "")
    drive.write("sub/empty.txt", "")
    expected = ["empty.txt: an empty file", "empty.txt: an empty file"]
    assert drive.problems() == expected
    assert drive.problems() == expected
    assert drive.problems(retry=True) == expected
    assert [reading.row.path for reading in plan_sync(drive.folder, drive.index, retry=True).readings] == ["empty.txt"]


def test_a_file_that_can_no_longer_be_read_keeps_its_last_version(drive: Drive) -> None:
    path = drive.write("a.txt", RENT)
    drive.sync()
    path.write_bytes(b"")  # an editor that truncates the file before it writes
    assert drive.problems() == ["a.txt: an empty file"]
    assert drive.documents == {"a.txt": (RENT, None)}
    path.write_text(LOAN)
    assert drive.problems() == []
    assert drive.documents == {"a.txt": (LOAN, None)}


def test_a_file_that_grows_while_it_is_read_is_left_to_the_next_time(drive: Drive) -> None:
    drive.write("a.txt", RENT)
    drive.sync()
    path = drive.folder / "b.jsonl"
    lines = [json.dumps({"id": f"r{number}", "text": f"{LOAN} {number}."}) + "\n" for number in range(20_000)]
    path.write_text("".join(lines))
    stop = threading.Event()

    def append() -> None:
        with path.open("a") as file:
            while not stop.is_set():
                file.write(lines[0].replace("r0", "extra"))
                file.flush()

    writer = threading.Thread(target=append)
    writer.start()
    try:
        assert drive.problems() == ["b.jsonl: changed while it was being read: the next sync reads it"]
    finally:
        stop.set()
        writer.join()
    assert set(drive.documents) == {"a.txt"}
    path.write_text("".join(lines[:3]))
    assert drive.sync().added == 3


# ---------------------------------------------------------------------------- what is removed


def test_removal_is_asked_for_with_the_number(drive: Drive) -> None:
    for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
        drive.write(name, f"{RENT} {name}")
    drive.sync()
    (drive.folder / "a.txt").unlink()
    (drive.folder / "b.txt").unlink()
    (drive.folder / "c.txt").rename(drive.folder / "e.txt")  # moved, not gone
    asked: list[int] = []

    def refuse(number: int) -> bool:
        asked.append(number)
        return False

    done = drive.sync(remove=refuse)
    assert (asked, done.removed, done.gone, done.moved) == ([2], 0, 2, 1)
    assert set(drive.documents) == {"a.txt", "b.txt", "d.txt", "e.txt"}
    assert drive.sync(remove=lambda number: number == 2).removed == 2
    assert set(drive.documents) == {"d.txt", "e.txt"}


def test_an_empty_folder_or_one_that_cannot_be_opened_removes_nothing(drive: Drive) -> None:
    drive.write("a.txt", RENT)
    drive.write("locked/b.txt", LOAN)
    drive.sync()
    locked = drive.folder / "locked"
    if os.geteuid() != 0:
        locked.chmod(0)
        assert drive.problems() == ["locked: cannot be read: Permission denied"]
        locked.chmod(0o700)
    assert set(drive.documents) == {"a.txt", "locked/b.txt"}
    (drive.folder / "a.txt").unlink()
    (locked / "b.txt").unlink()
    with pytest.raises(ReadError, match=r"has no files, but .* has 2 documents of it: is the drive mounted\?"):
        drive.sync()
    locked.rmdir()
    drive.folder.rmdir()
    with pytest.raises(ReadError, match="no such file or folder; is its drive mounted"):
        drive.sync()


def test_documents_of_other_sources_stay(drive: Drive) -> None:
    with Writer(drive.index, create=True, encoder=HASHED) as writer:
        writer.add([rprs.Document("by-hand", BOAT)])
    drive.write("a.txt", RENT)
    drive.write("b.txt", LOAN)
    drive.sync()
    (drive.folder / "a.txt").unlink()
    drive.sync()
    assert set(drive.documents) == {"b.txt", "by-hand"}


def test_what_was_removed_or_replaced_by_hand_comes_back(drive: Drive) -> None:
    drive.write("a.txt", RENT)
    drive.write("b.txt", LOAN)
    drive.sync()
    with Writer(drive.index) as writer:
        writer.remove(["a.txt"])
        writer.add([rprs.Document("b.txt", BOAT)])
    done = drive.sync()
    assert (done.added, done.changed) == (1, 1)
    assert drive.documents == {"a.txt": (RENT, None), "b.txt": (LOAN, None)}


# ---------------------------------------------------------------------------- roots


def test_it_does_not_matter_from_where_it_is_called(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    drive.write("sub/a.txt", RENT)
    drive.sync()
    monkeypatch.chdir(drive.folder)
    assert rprs.sync(".", drive.index) == Synced(unchanged=1)
    monkeypatch.chdir(drive.folder / "sub")
    assert rprs.sync("..", "../../x.rprs") == Synced(unchanged=1)


@pytest.mark.parametrize("name", ["root", "remove", "skipped", "relocated", "retry"])
def test_a_wrong_argument_is_one_line_and_makes_no_index(drive: Drive, name: str) -> None:
    with pytest.raises(UsageError):
        drive.sync(**{name: 5})
    with pytest.raises(ReadError, match="no such file or folder"):
        rprs.sync(drive.folder / "nowhere", drive.index)
    assert not drive.index.exists()


def test_two_folders_in_one_index_have_names(drive: Drive) -> None:
    drive.write("a.txt", RENT)
    other = Drive(drive.folder.parent / "more", drive.index)
    other.write("a.txt", LOAN)
    drive.sync()
    with pytest.raises(UsageError, match=r"is in sync with .*/cases: to add .*/more, give it a name"):
        other.sync()
    other.sync(root="more")
    assert drive.documents == {"a.txt": (RENT, None), "more/a.txt": (LOAN, None)}
    (other.folder / "a.txt").rename(other.folder / "b.txt")
    assert other.sync(root="more").moved == 1
    assert drive.sync() == Synced(unchanged=1)
    assert set(drive.documents) == {"a.txt", "more/b.txt"}
    with pytest.raises(UsageError, match="The name of a root has letters"):
        other.sync(root="../up")


def test_a_folder_that_has_moved_keeps_its_documents(drive: Drive) -> None:
    drive.write("a.txt", RENT)
    drive.sync()
    moved = Drive(drive.folder.rename(drive.folder.parent / "elsewhere"), drive.index)
    assert moved.sync() == Synced(changed=1)
    with Index(drive.index) as index:
        assert index.document("a.txt").metadata["path"] == str(moved.folder / "a.txt")
    drive.write("a.txt", RENT)
    with pytest.raises(UsageError, match="if the folder has moved there, use --relocated"):
        drive.sync()
    assert drive.sync(relocated=True) == Synced(changed=1)


def test_an_index_of_the_same_folder_is_taken_over(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    drive.write("a.txt", RENT)
    drive.write("b.txt", LOAN)
    with zipfile.ZipFile(drive.folder / "files.zip", "w") as archive:
        archive.writestr("inner.txt", BOAT)
    monkeypatch.chdir(drive.folder.parent)
    rprs.build(drive.index, "cases", encoder=HASHED)
    (drive.folder / "a.txt").unlink()
    assert plan_sync(drive.folder, drive.index).lost == ["a.txt"]
    done = drive.sync()
    assert (done.added, done.removed) == (0, 1)
    assert set(drive.documents) == {"b.txt", "files.zip/inner.txt"}


def test_an_index_inside_its_folder_is_no_document(drive: Drive) -> None:
    drive.write("a.txt", RENT)
    inside = Drive(drive.folder, drive.folder / "x.rprs")
    assert inside.problems() == []
    assert set(inside.documents) == {"a.txt"}


def test_a_single_file_of_records(drive: Drive) -> None:
    path = drive.write("cases.jsonl", '{"id": "r1", "text": "One text."}\n{"id": "r2", "text": "Two texts."}\n')
    assert rprs.sync(path, drive.index, encoder=HASHED).added == 2
    path.write_text('{"id": "r2", "text": "Two texts."}\n')
    rprs.sync(path, drive.index)
    assert set(drive.documents) == {"r2"}
