"""Stores: a folder here, a bucket of a server on this machine in `test_bucket`."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rprs.cluster.manifest import FileEntry, Manifest, ShardEntry, parse_manifest
from rprs.cluster.store import Folder, Store, open_store, store_url
from rprs.errors import StoreError, UsageError


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "a store with spaces")


def check_store(store: Store, tmp_path: Path) -> None:
    """What every store must do."""
    assert list(store.list("files")) == []
    assert store.size("files/aa/one") is None
    store.write("files/aa/one", b"1")
    store.write("files/aa/one", b"12")
    (tmp_path / "local").write_bytes(b"x" * 100_000)
    store.upload("files/bb/two", tmp_path / "local")
    assert store.read("files/aa/one") == b"12"
    assert [(each.path, each.bytes) for each in store.list("files")] == [("files/aa/one", 2), ("files/bb/two", 100_000)]
    assert store.size("files/bb/two") == 100_000
    store.download("files/bb/two", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"x" * 100_000
    for missing in (store.read, lambda path: store.download(path, tmp_path / "none")):
        with pytest.raises(FileNotFoundError):
            missing("files/cc/three")
    store.delete(["files/aa/one", "files/zz/none"])
    assert [each.path for each in store.list("files")] == ["files/bb/two"]


def check_publication(store: Store) -> None:
    """Of many that publish the same generation, exactly one does."""
    contents = [f"{number}".encode() for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        published = list(pool.map(lambda content: store.create("generations/00000001.json", content), contents))
    assert published.count(True) == 1
    assert store.read("generations/00000001.json") == contents[published.index(True)]


def test_a_folder_keeps_files(store: Store, tmp_path: Path) -> None:
    check_store(store, tmp_path)
    assert isinstance(store, Folder)
    assert not [name for _, _, names in os.walk(store.root) for name in names if name.startswith(".draft")]


def test_a_generation_is_published_once(store: Store) -> None:
    check_publication(store)


def test_drafts_of_an_interrupted_upload_are_not_listed(store: Store) -> None:
    store.write("files/aa/one", b"1")
    assert isinstance(store, Folder)
    (store.root / "files/aa/.draft-0123").write_bytes(b"half")
    assert [each.path for each in store.list("files")] == ["files/aa/one"]


def test_the_address_of_a_store_has_one_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert store_url("a b") == (tmp_path / "a b").as_uri() == store_url((tmp_path / "a b").as_uri())
    assert store_url("s3://bucket/path/") == "s3://bucket/path"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", "empty"),
        ("http://example.org/x", "is no address of a store"),
        ("s3://", "is no address of a store"),
        ("s3://key:secret@bucket/x", "must not contain credentials"),
        ("s3://bucket/x?region=y", "no [?]"),
    ],
)
def test_other_addresses_are_refused_and_secrets_are_not_repeated(url: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        open_store(url)
    assert "secret" not in str(caught.value)


MANIFEST = Manifest(
    generation=3,
    source="abc",
    splitter="nupunkt",
    analyzer="english",
    encoder="hashed",
    phrases=True,
    vectors="float16",
    encoder_used="hashed",
    fingerprint="0123",
    shards=(ShardEntry("00000", 1, 2, 3, (FileEntry("catalog.sqlite", 5, "0" * 64),)),),
    statistics=(FileEntry("statistics.json", 5, "1" * 64),),
)


def test_a_manifest_is_read_as_it_was_written() -> None:
    assert parse_manifest(MANIFEST.to_json(), "here") == MANIFEST
    assert [file.path for file in MANIFEST.files] == ["statistics.json", "catalog.sqlite"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"format": 1', b'"format": 2'),
        (b"catalog.sqlite", b"../catalog.sqlite"),
        (b"catalog.sqlite", b"/etc/passwd"),
        (b'"documents": 1', b'"documents": "1"'),
        (b"1" * 64, b"x" * 64),
        (b'"source"', b'"sauce"'),
        (b"{", b"["),
    ],
)
def test_a_damaged_or_hostile_manifest_is_one_error(old: bytes, new: bytes) -> None:
    with pytest.raises(StoreError, match="here"):
        parse_manifest(MANIFEST.to_json().replace(old, new, 1), "here")
