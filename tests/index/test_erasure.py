"""Removed text is gone from every file of the index, or the command says until when it is not; the log is bounded."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from rprs.document import Document
from rprs.errors import IndexLocked
from rprs.index import Index, Writer, database
from tests.support.cli import rprs_ok
from tests.support.crash import COLLECTION, HASHED, invented, memory_folder
from tests.support.server import served

SECRETS = [b"Zyzzyva", b"zyzzyva", b"Xylocarp", b"Quokkatitle", b"Wombatvalue", b"kiwi-secret"]
SECRET = Document(
    "kiwi-secret",
    "Zyzzyva xylocarp beetles attacked the harbour. Nobody saw zyzzyva Xylocarp beetles. " * 40,
    "Quokkatitle",
    {"about": "Wombatvalue"},
)


@pytest.fixture
def path() -> Iterator[Path]:
    with memory_folder() as folder:
        with Writer(folder / "cases.rprs", create=True, encoder=HASHED) as writer:
            writer.add([*COLLECTION, SECRET])
        yield folder / "cases.rprs"


def traces(path: Path) -> list[str]:
    """The files that contain a rare word of the removed document."""
    return [file.name for file in path.rglob("*") if file.is_file() and any(w in file.read_bytes() for w in SECRETS)]


def catalogs(path: Path) -> list[str]:
    return [name for name in traces(path) if name.startswith("catalog")]


def test_nothing_is_left_when_the_commands_return(path: Path) -> None:
    assert "catalog.sqlite" in traces(path)
    said = " ".join(rprs_ok("remove", path, SECRET.id).err.split())
    assert f"1 document removed from {path}; terms and vectors stay until `rprs compact {path}`" in said
    assert catalogs(path) == []
    rprs_ok("compact", path)
    assert traces(path) == []


def test_nothing_is_left_although_the_writer_stays_open(path: Path) -> None:
    with Writer(path) as writer:
        writer.remove([SECRET.id])
        assert writer.lingering is None
        assert catalogs(path) == []
        writer.compact()
        assert traces(path) == []


def test_an_open_reader_is_named_and_its_end_erases_the_text(path: Path) -> None:
    with Index(path) as index:
        for verb in (("remove", path, SECRET.id), ("compact", path)):
            said = " ".join(rprs_ok(*verb).err.split())
            assert "removed text stays in catalog.sqlite and its log until that program closes the index" in said
        assert index.document(SECRET.id).text == SECRET.text
        assert catalogs(path)
    assert traces(path) == []


def test_a_replaced_text_is_erased_too(path: Path) -> None:
    with Writer(path) as writer:
        writer.add([Document("kiwi", SECRET.text), Document(SECRET.id, "Something else.")])
        writer.remove(["kiwi", SECRET.id])
        writer.compact()
    assert traces(path) == []


def test_the_records_of_a_synchronised_folder_and_of_files_read_partly_are_erased(path: Path, tmp_path: Path) -> None:
    """The id of such a document is the path of its file, which the index records, also for identical files."""
    doubtful = "".join(f"A wÃ¤rd of thÃ¥ wrÃ¶ng kÃ¼nd, numbÃ¨r {number}. " for number in range(20))
    for name, text in {
        "kiwi-secret.txt": doubtful,
        "z-copy.txt": doubtful,
        "other.txt": "A mill stands still.",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    synced = path.with_name("synced.rprs")
    rprs_ok("sync", tmp_path, synced, "--encoder", HASHED)
    listed = synced / "not-read.txt"
    assert "partly read" in listed.read_text("utf-8")
    assert listed.stat().st_mode & 0o777 == 0o600
    assert {"catalog.sqlite", "not-read.txt"} <= set(traces(synced))
    rprs_ok("remove", synced, "kiwi-secret.txt")
    rprs_ok("compact", synced)
    assert traces(synced) == []
    assert "2 documents added" not in rprs_ok("sync", tmp_path, synced, "--yes").err
    with Index(synced) as index:
        assert index.ids == ["kiwi-secret.txt", "other.txt"]


def test_a_server_lets_removed_text_go(path: Path) -> None:
    """By a command while the server is idle, and by its own API."""
    with served(path, "--allow-write") as server, httpx.Client(base_url=server.url, timeout=30) as client:
        client.get("/api/v1/info").raise_for_status()
        rprs_ok("remove", path, SECRET.id)
        rprs_ok("compact", path)
        _wait(path)
        client.post(
            "/api/v1/documents", json={"documents": [{"id": SECRET.id, "text": SECRET.text}]}
        ).raise_for_status()
        client.delete(f"/api/v1/documents/{SECRET.id}").raise_for_status()
        rprs_ok("compact", path)
        _wait(path)


def _add_many(writer: Writer) -> None:
    for number in range(60):
        writer.add([invented(f"y{number}", sentences=1)])


def _wait(path: Path) -> None:
    deadline = time.monotonic() + 20
    while traces(path) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert traces(path) == []


def test_the_log_does_not_grow_without_readers_and_is_bounded_with_them(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Writer(path) as writer:
        for number in range(5):
            writer.add([invented(f"x{number}", sentences=1)])
            assert writer.catalog.log_bytes == 0
        monkeypatch.setattr(database, "MOST_LOG", 2**18)
        monkeypatch.setattr(database, "PATIENCE", 0.2)
        with Index(path) as index:
            message = r"because a program has kept an old state of .* open: close the index"
            with pytest.raises(IndexLocked, match=message):
                _add_many(writer)
            assert writer.catalog.log_bytes < 2**19
            assert "y0" not in index
        assert writer.add([invented("z", sentences=1)]).added == 1
        assert writer.catalog.log_bytes == 0
