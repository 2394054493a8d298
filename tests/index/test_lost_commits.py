"""What SQLite cannot know: commits that were lost with its log; and who may read the files of an index."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from rprs.errors import IndexCorrupt, ModelError, UsageError
from rprs.files import atomic
from rprs.index import Index, Writer, verify
from rprs.index.backup import backup
from rprs.index.database import seal
from rprs.read import read
from rprs.spec import parse
from tests.index.test_damage import change, flip
from tests.support.cli import rprs_ok
from tests.support.crash import COLLECTION, HASHED, invented, rankings


def copy_with_log(folder: Path) -> Path:
    """A copy of an index with a commit that is in the log only, because a reader keeps it there."""
    path = folder / "cases.rprs"
    with Index(path), Writer(path) as writer:
        writer.add([invented("new", sentences=3)])
        assert writer.catalog.log_bytes
        return shutil.copytree(path, folder / "copy.rprs")


def test_a_copy_without_the_log_has_lost_commits(folder: Path) -> None:
    path = folder / "cases.rprs"
    before, copy = rankings(path), copy_with_log(folder)
    for log in copy.glob("catalog.sqlite-*"):
        log.unlink()
    problems = verify(copy)
    assert "has lost the commits" in problems[0]
    assert "segments/000002 belongs to a lost commit" in problems
    for opened in (Index, Writer):
        with pytest.raises(IndexCorrupt, match=r"has lost the commits \d+ to \d+: was it copied without its log"):
            opened(copy)
    assert (copy / "segments/000002/spans.npy").is_file()  # a writer would have deleted it
    rprs_ok("repair", copy)
    assert verify(copy) == []
    assert rankings(copy) == before


def test_a_flipped_bit_of_the_log_loses_commits_and_is_noticed(folder: Path) -> None:
    copy = copy_with_log(folder)
    (log,) = copy.glob("catalog.sqlite-wal")
    for file in copy.glob("catalog.sqlite-shm"):
        file.unlink()
    flip(log, 32 + 24 + 100)  # a page of the first frame
    assert any("has lost the commits" in line for line in verify(copy))
    with pytest.raises(IndexCorrupt, match="has lost the commits"):
        Index(copy)


def test_a_history_that_is_missing_or_behind_is_harmless(folder: Path) -> None:
    path = folder / "cases.rprs"
    for content in (None, "", "rubbish", f"{1:020d}\n"):
        (path / "history").unlink(missing_ok=True)
        if content is not None:
            (path / "history").write_text(content)
        assert verify(path) == []
        with Writer(path) as writer:
            writer.add([invented(f"x{content!r}", sentences=1)])
        assert int((path / "history").read_text()) > 1


# ---------------------------------------------------------------------------- permissions and durability


def modes(path: Path) -> set[str]:
    return {oct(stat.S_IMODE(place.stat().st_mode)) for place in (path, *path.rglob("*"))}


def test_files_are_their_owners_alone_unless_the_folder_is_shared(tmp_path: Path) -> None:
    previous = os.umask(0)
    try:
        path = tmp_path / "cases.rprs"
        with Writer(path, create=True, encoder=HASHED) as writer:
            writer.add(COLLECTION)
            assert modes(path) == {"0o700", "0o600"}
            writer.remove(["d01"])
            writer.compact()
        assert modes(path) == {"0o700", "0o600"}
        backup(path, tmp_path / "copy.rprs")
        assert modes(tmp_path / "copy.rprs") == {"0o700", "0o600"}
        path.chmod(0o750)
        with Writer(path) as writer:
            writer.add([invented("new", sentences=2)])
        assert stat.S_IMODE((path / "segments/000003/spans.npy").stat().st_mode) == 0o640
    finally:
        os.umask(previous)


def test_the_name_of_a_new_index_is_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []

    def sync(folder: Path) -> None:
        synced.append(folder)
        atomic.sync_folder(folder)

    monkeypatch.setattr("rprs.index.folder.sync_folder", sync)
    Writer(tmp_path / "new/folder/cases.rprs", create=True, encoder=HASHED).close()
    assert {tmp_path, tmp_path / "new", tmp_path / "new/folder"} <= set(synced)


# ---------------------------------------------------------------------------- other inputs


def test_an_index_does_not_cause_a_download(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RPRS_CACHE", str(folder / "cache"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    path = folder / "cases.rprs"
    change(path, "UPDATE encoders SET spec = 'onnx(model=foreign/model)'")
    with closing(sqlite3.connect(path / "catalog.sqlite", isolation_level=None)) as connection:
        seal(connection)  # as if the index had been made so
    message = r"'foreign/model', which is not on this machine: if you trust it"
    with Index(path) as index, pytest.raises(ModelError, match=message):
        index.encode(invented("q", sentences=1))


def test_deep_records_are_skipped_alone(tmp_path: Path) -> None:
    """Of every depth, as the limit depends on the caller: some can be read, but not written as metadata."""
    deep = [f'{{"text": "Deep.", "x": {"[" * depth}{"]" * depth}}}' for depth in (*range(500, 1010, 5), 100_000)]
    lines = [json.dumps({"id": "a", "text": "First."}), *deep, json.dumps({"id": "b", "text": "Last."})]
    (tmp_path / "records.jsonl").write_text("\n".join(lines))
    skipped: list[str] = []
    documents = list(read([tmp_path / "records.jsonl"], skipped=lambda item: skipped.append(str(item))))
    assert [documents[0].id, documents[-1].id] == ["a", "b"]
    assert len(documents) + len(skipped) == len(lines)
    assert all("nested too deeply" in line for line in skipped)


@pytest.mark.parametrize("depth", [40, 500, 20_000])
def test_deeply_nested_components_are_one_line(depth: int) -> None:
    with pytest.raises(UsageError, match="components are nested more than 30 deep") as caught:
        parse("reranker", "fuse(" * depth + "rprs" + ")" * depth)
    assert len(str(caught.value)) < 400
