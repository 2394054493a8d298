"""Files read in other processes: the same documents in the same order, whatever a file does to its process."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from rprs.document import Document
from rprs.progress import Advance, show_reading
from rprs.read import read, read_one
from rprs.read.bounded import DAMAGED, TOO_SLOW, ReadingProcesses, _Bars, reads_in_processes, use_processes
from rprs.read.source import Skipped
from tests.support import hostile_files
from tests.support.office_samples import FIXTURES, archive, mail, mailbox
from tests.support.read_samples import PROSE, pdf, word


def children() -> set[int]:
    """The processes that this one has started."""
    tasks = Path("/proc/self/task").glob("*/children")
    return {int(pid) for task in tasks for pid in task.read_text().split()}


def mixed(folder: Path) -> Path:
    """Files of many kinds, of which some can't be read."""
    for file in FIXTURES.iterdir():
        if file.is_file():
            shutil.copy(file, folder / file.name)
    for number in range(5):
        (folder / f"{number}.txt").write_text(f"Text number {number}.")
        (folder / f"{number}.pdf").write_bytes(pdf([[f"Page of file {number}."]]))
    (folder / "files.zip").write_bytes(archive({"one.txt": b"The first.", "two.pdf": b"%PDF-1.7 nothing"}))
    (folder / "empty.docx").touch()
    (folder / "pdf.txt").write_bytes(pdf([PROSE]))  # content decides, in the other process
    (folder / "photo.jpg").write_bytes(b"\xff\xd8\xff")
    return folder


def test_the_same_documents_and_reasons_in_the_same_order(tmp_path: Path) -> None:
    skipped_here: list[Skipped] = []
    skipped_there: list[Skipped] = []
    here = list(read(mixed(tmp_path), skipped=skipped_here.append))
    before = children()
    with use_processes(2):
        there = list(read(tmp_path, skipped=skipped_there.append))
        assert len(children() - before) == 2
    assert (there, skipped_there) == (here, skipped_here)
    assert children() == before


def test_small_plain_texts_need_no_process(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The tenant pays.")
    (tmp_path / "b.jsonl").write_text('{"id": "b", "text": "The roof leaks."}\n')
    before = children()
    with use_processes():
        assert [document.id for document in read(tmp_path)] == ["a.txt", "b"]
        assert children() == before


def test_a_process_that_dies_costs_one_file(tmp_path: Path) -> None:
    for name in ("a.pdf", "c.pdf", "d.pdf"):
        (tmp_path / name).write_bytes(pdf([PROSE]))
    (tmp_path / "b.pdf").write_bytes(hostile_files.endless())
    skipped: list[Skipped] = []
    before = children()
    with use_processes(1):
        documents = read(tmp_path, skipped=skipped.append)
        first = next(documents)
        (process,) = children() - before
        threading.Timer(0.5, os.kill, (process, signal.SIGKILL)).start()
        rest = list(documents)
    assert [document.id for document in (first, *rest)] == ["a.pdf", "c.pdf", "d.pdf"]
    assert [str(item) for item in skipped] == [f"{tmp_path}/b.pdf: {DAMAGED}"]
    assert children() == before


def test_a_file_that_never_ends_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(hostile_files.endless())
    (tmp_path / "b.pdf").write_bytes(pdf([PROSE]))
    skipped: list[Skipped] = []
    with use_processes(1, seconds=1.0):
        assert [document.id for document in read(tmp_path, skipped=skipped.append)] == ["b.pdf"]
    assert [str(item) for item in skipped] == [f"{tmp_path}/a.pdf: {TOO_SLOW}"]


def test_a_file_that_needs_too_much_memory(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(hostile_files.swollen())
    (tmp_path / "b.pdf").write_bytes(pdf([PROSE]))
    skipped: list[Skipped] = []
    with use_processes(1, memory=3 * 2**28):
        assert [document.id for document in read(tmp_path, skipped=skipped.append)] == ["b.pdf"]
    assert [item.reason for item in skipped] == ["needs more memory than is available"]


@pytest.mark.slow  # the tests of uploads read the same files with the same limits
@pytest.mark.parametrize("name", hostile_files.OFFICE)
def test_hostile_office_files_stay_within_the_limits(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(hostile_files.OFFICE[name]())
    documents: list[Document] = []
    with use_processes(1, memory=2**30, seconds=20.0):
        documents.extend(read(tmp_path / name))
    assert not any("root:" in document.text for document in documents)
    assert sum(len(document.text) for document in documents) < 10_000_000


def test_the_progress_of_a_large_file_is_shown_here(tmp_path: Path) -> None:
    messages = [mail(subject=f"Rent {number}") for number in range(20)]
    (tmp_path / "mail.mbox").write_bytes(mailbox(*messages))
    steps: list[tuple[str, int]] = []

    @contextmanager
    def progress(what: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
        yield lambda amount: steps.append((unit, amount))

    with show_reading(progress), use_processes(1):
        assert len(list(read(tmp_path))) == 20
    assert steps == [("messages", 1)] * 20


def test_a_bar_of_pages_replaces_the_bar_of_its_file() -> None:
    """Of a large PDF, one bar is shown at a time, and nothing is lost when both end."""
    events: list[str] = []

    @contextmanager
    def progress(what: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
        events.append(f"+{unit}")
        yield lambda amount: events.append(f"{amount} {unit}")
        events.append(f"-{unit}")

    file, pages, member = (["reading a.pdf", None, "paragraphs"], ["reading a.pdf", 2, "pages"], ["other", 1, "files"])
    end = {"finish": True}
    records: list[dict[str, Any]] = [{"begin": file}, {"begin": pages}, {"advance": 2}, end, {"advance": 1}, end]
    with show_reading(progress), ExitStack() as shown:
        bars = _Bars(shown)
        assert all(bars.show(record) for record in records)
        assert events == ["+paragraphs", "-paragraphs", "+pages", "2 pages", "-pages"]
        events.clear()
        others: list[dict[str, Any]] = [{"begin": file}, {"begin": member}, {"advance": 1}]
        assert all(bars.show(record) for record in others)
    assert events == ["+paragraphs", "+files", "1 files", "-files", "-paragraphs"]


@pytest.mark.parametrize("kind", ["docx", "rtf"])
def test_a_large_file_without_pages_shows_its_paragraphs(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rprs.read.files.LARGE", 2**14)
    data = word(*["The rent is due."] * 2_500) if kind == "docx" else rb"{\rtf1 " + rb"Rent.\par " * 2_500 + b"}"
    path = tmp_path / f"large.{kind}"
    path.write_bytes(data)
    steps: list[tuple[str, str, int]] = []

    @contextmanager
    def progress(what: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
        yield lambda amount: steps.append((what, unit, amount))

    with show_reading(progress):
        assert read_one(path).text.count("ent") == 2_500
    assert steps == [(f"reading {path}", "paragraphs", 1_000)] * 2


def test_a_caller_that_stops_leaves_no_process(tmp_path: Path) -> None:
    lines = [json.dumps({"id": f"r{number}", "text": "The roof leaks. " * 100}) for number in range(2_000)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))  # more than a pipe holds
    (tmp_path / "b.pdf").write_bytes(pdf([PROSE]))
    before = children()
    with use_processes(2):
        assert next(iter(read(tmp_path))).id == "r0"
    assert children() == before


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "more.jsonl"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=('{"id": "piped", "text": "The roof leaks."}\n',))
    writer.start()
    with use_processes():
        assert [document.id for document in read(pipe)] == ["piped"]
    writer.join()


def test_processes_that_are_kept_read_again_and_again(tmp_path: Path) -> None:
    (tmp_path / "one.html").write_text("<p>The ferry left the harbour.</p>")
    kept = ReadingProcesses(1)
    seen = set()
    try:
        for _ in range(2):
            assert not reads_in_processes()
            with kept.used():
                assert reads_in_processes()
                assert [each.text for each in read(tmp_path)] == ["The ferry left the harbour."]
            process = kept._workers[0]._process
            assert process is not None
            seen.add(process.pid)
    finally:
        kept.close()
    assert len(seen) == 1
