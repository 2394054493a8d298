"""Untrusted files, read in a separate process: the same documents as elsewhere, and no harm."""

from __future__ import annotations

import io
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from time import monotonic

import pytest

from rprs.document import Document
from rprs.errors import Cancelled, ReadError, TooLarge
from rprs.read import read_one
from rprs.serve.limits import Limits
from rprs.serve.uploads import clean_name, read_upload, read_uploads
from tests.support import hostile_files
from tests.support.read_samples import JSONL, PACKERS, PROSE, SAMPLES, pdf

LIMITS = Limits(reading_bytes=2**30)


def refusal(data: bytes, name: str, limits: Limits = LIMITS) -> str:
    """The error message for a file, without its name."""
    with pytest.raises(ReadError) as error:
        read_upload(io.BytesIO(data), name, limits)
    message = str(error.value)
    assert message.startswith(f"{name}: ")
    assert "\n" not in message
    assert tempfile.gettempdir() not in message
    return message.removeprefix(f"{name}: ")


# ---------------------------------------------------------------------------- valid files


@pytest.mark.parametrize("suffix", ["html", "pdf", "docx", "rtf", "txt.gz"])
def test_the_same_document_as_from_a_folder_but_for_its_path(suffix: str, tmp_path: Path) -> None:
    kind, _, packed = suffix.partition(".")
    data = PACKERS[packed](SAMPLES[kind]) if packed else SAMPLES[kind]
    file = tmp_path / f"lease.{suffix}"
    file.write_bytes(data)
    there = read_one(file)
    here, notes = read_upload(io.BytesIO(data), f"C:\\Users\\me\\{file.name}", LIMITS)
    assert (here.id, here.title, here.text) == (there.id, there.title, there.text)
    assert notes == []
    assert "path" not in here.metadata
    assert here.metadata.items() <= there.metadata.items()


def test_spooled_files() -> None:
    """In memory or on disk, read to the end or not."""
    for size in (10, 10_000):
        with tempfile.SpooledTemporaryFile(max_size=size) as file:
            file.write(SAMPLES["txt"])
            assert read_upload(file, "a.txt", LIMITS)[0].text == SAMPLES["txt"].decode()


def test_several_documents_and_skipped_records() -> None:
    data = JSONL + b'\n{"_id": "a1", "text": "Again."}\n{"_id": "a3"}\n'
    documents, skipped = read_uploads(io.BytesIO(data), "x/cases.jsonl", LIMITS)
    assert [document.id for document in documents] == ["a1", "a2"]
    assert documents[0].metadata == {"year": 1999, "court": '{"name": "High"}'}
    assert [line.split(": ")[0] for line in skipped] == ["cases.jsonl", "cases.jsonl:4"]
    assert "'a1' occurs more than once" in skipped[0]
    assert "more than one document" in refusal(JSONL, "cases.jsonl")


@pytest.mark.parametrize(
    ("upload_name", "name"),
    [
        ("brief.txt", "brief.txt"),
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\a  brief\t1.txt", "a brief 1.txt"),
        ("a\x00b\u202ec\n.txt", "abc .txt"),
        ("", "query"),
        ("..", "query"),
        ("folder/", "query"),
        ("x" * 300 + ".jsonl.gz", "x" * 191 + ".jsonl.gz"),
        ("x" * 300, "x" * 200),
        ("žaloba č. 7.pdf", "žaloba č. 7.pdf"),
    ],
)
def test_names(upload_name: str, name: str) -> None:
    assert clean_name(upload_name) == name


def test_a_file_without_a_name_is_text() -> None:
    expected = Document("query", "The tenant pays.", "query")
    assert read_upload(io.BytesIO(b"The tenant pays."), "", LIMITS) == (expected, [])


# ---------------------------------------------------------------------------- refused files


def test_files_without_documents() -> None:
    assert refusal(b"", "a.txt") == "an empty file"
    assert refusal(pdf([[], []]), "scan.pdf") == "No readable text: it looks like a scan. Run OCR first."
    assert refusal(b"MZ\0\0\1", "a.txt") == "a binary file, not text"
    assert refusal(b"x", "a.exe").startswith("an unsupported file type; supported are csv, doc,")


def test_a_query_of_too_many_characters() -> None:
    with pytest.raises(TooLarge, match=r"^a\.txt: longer than the limit of 15 characters for a query"):
        read_upload(io.BytesIO(b"The tenant pays."), "a.txt", Limits(text_characters=15))


def test_text_that_expands() -> None:
    small = Limits(upload_bytes=2**18)
    assert "more than 1 MB of text" in refusal(PACKERS["gz"](b"The tenant pays. " * 2**17), "a.txt.gz", small)


@pytest.mark.parametrize("name", ["bomb", "nested", "cyclic"])
def test_hostile_pdfs(name: str) -> None:
    build: Callable[[], bytes] = getattr(hostile_files, name)
    assert refusal(build(), f"{name}.pdf")


def test_a_file_that_needs_too_much_memory() -> None:
    tight = Limits(reading_bytes=3 * 2**28)
    assert refusal(hostile_files.swollen(), "a.json", tight) == "needs more memory than is available"


def test_a_file_that_takes_too_long() -> None:
    before = set(children())
    message = refusal(hostile_files.endless(), "a.pdf", Limits(reading_seconds=0.8))
    assert message == "reading it took longer than the limit of 0.8 seconds"
    assert set(children()) == before  # the process has ended


# ---------------------------------------------------------------------------- the process


def children() -> list[int]:
    """The running child processes of this one."""
    own_task = Path(f"/proc/self/task/{threading.get_native_id()}/children")
    tasks = own_task.parent.parent.glob("*/children")
    return [int(pid) for task in tasks for pid in task.read_text().split()]


@contextmanager
def reading(stop: Event | None = None) -> Iterator[tuple[int, Future[tuple[Document, list[str]]]]]:
    """A long-running reading process, and its future result."""
    before = set(children())
    with ThreadPoolExecutor(1) as threads:
        task = threads.submit(read_upload, io.BytesIO(hostile_files.endless()), "a.pdf", LIMITS, stop)
        while not (new := set(children()) - before) or b"reading" not in Path(f"/proc/{min(new)}/cmdline").read_bytes():
            assert not task.done()
            time.sleep(0.01)
        yield min(new), task
    assert set(children()) == before


def limits_of(process: int) -> dict[str, str]:
    lines = Path(f"/proc/{process}/limits").read_text().splitlines()[1:]
    return {line[:26].strip(): line[26:].split()[0] for line in lines}


def test_a_process_is_limited_and_killed_on_cancellation() -> None:
    stop = Event()
    with reading(stop) as (process, task):
        while (bounds := limits_of(process))["Max address space"] == "unlimited":
            time.sleep(0.01)
        assert bounds["Max address space"] == str(2**30)
        assert bounds["Max cpu time"] == "61"
        assert (bounds["Max file size"], bounds["Max core file size"], bounds["Max processes"]) == ("0", "0", "0")
        assert os.getsid(process) == process
        stop.set()
        with pytest.raises(Cancelled):  # and not the limit of 60 seconds
            task.result()


def test_a_crash() -> None:
    """As when the kernel kills a process for lack of memory."""
    with reading() as (process, task):
        os.kill(process, signal.SIGKILL)
        with pytest.raises(ReadError, match=r"^a\.pdf: this file can't be read; it may be damaged"):
            task.result(5)


def test_no_file_is_left_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    stop = Event()
    with reading(stop) as (process, _):
        assert list(tmp_path.iterdir()) == []
        assert "a.pdf" not in Path(f"/proc/{process}/cmdline").read_text()
        assert "deleted" in os.readlink(f"/proc/{process}/fd/0")  # noqa: PTH115  # its target is not a path
        stop.set()


def test_modules_in_the_current_folder_are_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    assert read_upload(io.BytesIO(b"\n\n".join(line.encode() for line in PROSE)), "a.txt", LIMITS)[0].title == "a"


# One of each kind of harm; `make test-all` reads the others, too.
QUICK = (
    "bomb.docx",
    "laughs.odt",
    "file.xml",
    "deep.xml",
    "loop.epub",
    "nested.zip",
    "links.tar",
    "noise.xls",
    "loop.doc",
)
TOLERATED = Limits(reading_bytes=2**30, reading_seconds=20.0)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in hostile_files.OFFICE]
)
def test_hostile_office_files_stay_within_the_limits(name: str) -> None:
    """Each is read or refused in time, without more memory than allowed, and shows no file of the server."""
    documents: list[Document] = []
    message = f"{name}: "
    data = io.BytesIO(hostile_files.OFFICE[name]())
    started = monotonic()
    try:
        documents, _ = read_uploads(data, name, TOLERATED)
    except ReadError as error:
        message = str(error)
    assert monotonic() - started < 25
    assert message.startswith(f"{name}: ")
    assert not any("root:" in document.text for document in documents)
    assert sum(len(document.text) for document in documents) < 10_000_000
