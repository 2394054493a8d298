"""`rprs sync`: the summary, the question before documents are removed, what would be done, and watching a folder."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from rprs import Index
from rprs.errors import InvalidIndex
from rprs.syncing.watch import changes_of
from tests.support.cli import ENCODER, TEXTS, collection, rprs, rprs_error, rprs_ok


@pytest.fixture
def index(tmp_path: Path) -> Path:
    rprs_ok("sync", collection(tmp_path), tmp_path / "x.rprs", "--encoder", ENCODER)
    return tmp_path / "x.rprs"


def ids(path: Path) -> set[str]:
    with Index(path) as index:
        return set(index.ids)


def test_the_summary_and_the_table_of_what_was_not_read(tmp_path: Path) -> None:
    sources = collection(tmp_path)
    (sources / "empty.txt").touch()
    first = rprs_ok("sync", sources, tmp_path / "x.rprs", "--encoder", ENCODER).err.splitlines()
    assert first[0].startswith("12 documents added, 0 changed, 0 moved, 0 removed, 0 unchanged, 1 skipped: ")
    assert first[1] == "skipped           1  an empty file [empty.txt]"
    assert first[2] == f"Full list: {tmp_path / 'x.rprs' / 'not-read.txt'}"
    again = rprs_ok("sync", sources, tmp_path / "x.rprs").err.splitlines()
    assert again[0].startswith("0 documents added, 0 changed, 0 moved, 0 removed, 12 unchanged, 1 skipped: ")
    assert again[1:3] == first[1:3]


def test_a_dry_run_changes_nothing(tmp_path: Path, index: Path) -> None:
    sources, before = tmp_path / "sources", ids(index)
    (sources / "loan.txt").unlink()
    (sources / "lease.txt").rename(sources / "tenancy.txt")
    (sources / "licence.txt").write_text("Another licence.")
    (sources / "new.txt").write_text("A new text.")
    outcome = rprs_ok("sync", sources, index, "--dry-run")
    assert outcome.out.splitlines() == [
        "replace licence.txt",
        "add     new.txt",
        "rename  lease.txt -> tenancy.txt",
        "remove  loan.txt",
    ]
    assert outcome.err == "3 files to read, 1 document to remove; nothing was changed\n"
    assert ids(index) == before
    assert rprs_ok("sync", sources, tmp_path / "none.rprs", "--dry-run").out.count("add ") == len(TEXTS) + 1
    assert not (tmp_path / "none.rprs").exists()
    assert rprs_error("sync", sources, index, "--dry-run", "--watch") == "--dry-run and --watch exclude each other"


def test_a_dry_run_lists_a_copy_as_another_place_of_a_document(tmp_path: Path, index: Path) -> None:
    sources = tmp_path / "sources"
    (sources / "old").mkdir()
    for name, copy in (("lease.txt", "old/lease.txt"), ("licence.txt", "first.txt")):
        (sources / copy).write_bytes((sources / name).read_bytes())
    plan = rprs_ok("sync", sources, index, "--dry-run")
    assert plan.out.splitlines() == [
        "rename  licence.txt -> first.txt",  # the first place by name gives a document its id
        "update  lease.txt",
        "also at licence.txt (a copy of first.txt)",
        "also at old/lease.txt (a copy of lease.txt)",
    ]
    assert plan.err == "2 files to read, 2 new copies, 0 documents to remove; nothing was changed\n"
    assert rprs_ok("sync", sources, index).err.startswith(
        "0 documents added, 1 changed, 1 moved, 0 removed, 10 unchanged"
    )
    assert rprs_ok("sync", sources, index, "--dry-run").err.startswith("0 files to read, 0 documents to remove")
    (sources / "old/lease.txt").unlink()
    assert rprs_ok("sync", sources, index, "--dry-run").out == "update  lease.txt\n"
    new = rprs_ok("sync", sources, tmp_path / "none.rprs", "--dry-run").out.splitlines()
    assert new[-1] == "also at licence.txt (a copy of first.txt)"
    assert sum(line.startswith("add ") for line in new) == len(TEXTS) + 1  # and the file of records


def test_a_document_whose_copies_all_moved_is_renamed_and_not_lost(tmp_path: Path, index: Path) -> None:
    sources = tmp_path / "sources"
    (sources / "loan-2.txt").write_bytes((sources / "loan.txt").read_bytes())
    rprs_ok("sync", sources, index)
    (sources / "new").mkdir()
    for name in ("loan.txt", "loan-2.txt"):
        (sources / name).rename(sources / "new" / name)
    plan = rprs_ok("sync", sources, index, "--dry-run")
    assert plan.out.splitlines() == [
        "rename  loan-2.txt -> new/loan-2.txt",
        "also at new/loan.txt (a copy of new/loan-2.txt)",
    ]
    assert "gone" not in rprs_ok("sync", sources, index).err


def test_without_a_terminal_nothing_is_removed_unless_told(tmp_path: Path, index: Path) -> None:
    (tmp_path / "sources/loan.txt").unlink()
    kept = rprs_ok("sync", tmp_path / "sources", index).err
    assert "Not removed, although their files are gone: 1 document; to remove, use --yes" in kept
    assert "loan.txt" in ids(index)
    assert " 1 removed, " in rprs_ok("sync", tmp_path / "sources", index, "--yes").err
    assert "loan.txt" not in ids(index)


@pytest.mark.parametrize(("answer", "removed"), [(b"n\n", False), (b"y\n", True)])
def test_on_a_terminal_it_asks(tmp_path: Path, index: Path, answer: bytes, removed: bool) -> None:
    (tmp_path / "sources/loan.txt").unlink()
    terminal, stdin = pty.openpty()
    try:
        command = [sys.executable, "-m", "rprs", "sync", str(tmp_path / "sources"), str(index)]
        with subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            os.write(terminal, answer)
            _, messages = process.communicate(timeout=60)
    finally:
        os.close(terminal)
        os.close(stdin)
    assert b"Remove 1 document whose files are gone? [y/N]" in messages
    assert ("loan.txt" not in ids(index)) is removed


def test_errors_are_one_line(tmp_path: Path, index: Path) -> None:
    assert "no such file or folder; is its drive mounted?" in rprs_error("sync", tmp_path / "nowhere", index)
    (tmp_path / "other").mkdir()
    assert "give it a name of its own (--root NAME)" in rprs_error("sync", tmp_path / "other", index)
    assert rprs("sync", tmp_path / "sources").code == 2


# ---------------------------------------------------------------------------- watching


def test_a_folder_is_synchronised_once_it_has_come_to_rest() -> None:
    looks = iter("AAABCDDDEED")
    waits: list[float] = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        return len(waits) == 11

    assert list(changes_of(lambda: next(looks), wait, 0.5)) == ["A", "D", "E"]
    assert waits == [0.5] * 11


@contextmanager
def watching(sources: Path, index: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "rprs", "sync", str(sources), str(index), "--watch", "--every", "0.1", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that another process does."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(InvalidIndex):
            if condition():
                return
        time.sleep(0.1)
    raise AssertionError("it did not happen within a minute")


def test_watch_follows_atomic_saves_half_written_files_moves_and_a_drive_that_is_away(tmp_path: Path) -> None:
    sources, index = collection(tmp_path), tmp_path / "x.rprs"

    def text(id: str) -> str:
        with Index(index) as opened:
            return opened.document(id).text if id in opened.ids else ""

    with watching(sources, index, "--yes", "--encoder", ENCODER):
        until(lambda: len(ids(index)) == 12)
        draft = sources / ".loan.txt.swp"  # how most editors save
        draft.write_text("The bank lends nothing any more.")
        draft.replace(sources / "loan.txt")
        until(lambda: text("loan.txt") == "The bank lends nothing any more.")
        with (sources / "slow.jsonl").open("w") as file:  # a copy over a slow network
            for part in ('{"id": "slow", "te', 'xt": "A text that ', 'arrives in parts."}\n'):
                file.write(part)
                file.flush()
                time.sleep(0.15)
        until(lambda: text("slow") == "A text that arrives in parts.")
        (sources / "lease.txt").rename(sources / "tenancy.txt")
        until(lambda: text("tenancy.txt") == TEXTS["lease.txt"] and not text("lease.txt"))
        sources.rename(tmp_path / "away")
        time.sleep(0.5)
        sources.mkdir()  # the empty folder where the drive is mounted
        time.sleep(0.5)
        sources.rmdir()
        (tmp_path / "away").rename(sources)
        (sources / "last.txt").write_text("The drive is back.")
        until(lambda: bool(text("last.txt")))
        assert len(ids(index)) == 14
