"""A bucket as a store: moto's server on the loopback address, through obstore."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest

from rprs.cluster.build import add, build
from rprs.cluster.generations import generations, sweep, verify_files
from rprs.cluster.manifest import blob_path
from rprs.cluster.store import open_store
from rprs.errors import StoreError
from tests.cluster.test_build import DOCUMENTS, documents_of
from tests.cluster.test_store import check_publication, check_store
from tests.support.crash import invented
from tests.support.paths import ROOT

pytestmark = pytest.mark.cluster
KEYS = {"AWS_ACCESS_KEY_ID": "the-key-id", "AWS_SECRET_ACCESS_KEY": "the-secret-key", "AWS_REGION": "us-east-1"}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """The address of the server; the process ends with the tests."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.bucket", "127.0.0.1", "0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **KEYS},
        cwd=ROOT,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        yield process.stdout.readline().decode().strip()
    finally:
        process.stdin.close()
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def bucket(endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an empty bucket, with a prefix."""
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": endpoint, "AWS_ALLOW_HTTP": "true"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("RPRS_CLUSTER_FOLDER", str(tmp_path / "node"))
    name = f"bucket-{abs(hash(tmp_path)):x}"
    _wait_for(endpoint)
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/{name}", method="PUT"), timeout=20).close()
    return f"s3://{name}/a/prefix"


def _wait_for(endpoint: str) -> None:
    deadline = monotonic() + 30
    while monotonic() < deadline:
        try:
            urllib.request.urlopen(endpoint, timeout=5).close()
            return
        except OSError:
            sleep(0.1)


def test_a_bucket_keeps_files(bucket: str, tmp_path: Path) -> None:
    check_store(open_store(bucket), tmp_path)


def test_a_generation_is_published_once(bucket: str) -> None:
    check_publication(open_store(bucket))


def test_a_cluster_lives_in_a_bucket(bucket: str, tmp_path: Path) -> None:
    first = build(bucket, DOCUMENTS, 2, encoder="hashed").manifest
    folder = build(tmp_path / "folder", DOCUMENTS, 2, encoder="hashed").manifest
    assert first == folder
    second = add(bucket, [invented("new")]).manifest
    store = open_store(bucket)
    assert generations(store) == [1, 2]
    assert set(documents_of(tmp_path, second, bucket)) == {one.id for one in DOCUMENTS} | {"new"}
    file = second.shards[0].files[0]
    store.write(blob_path(file.sha256), b"damaged")
    assert verify_files(store.url, tuple(second.files)) == [f"{file.path} ({file.sha256}) is damaged"]
    assert sweep(bucket, 1).generations == (1,)


def test_a_store_that_cannot_be_used_is_one_line_without_secrets(
    bucket: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(StoreError) as missing:
        list(open_store("s3://no-such-bucket/x").list("generations"))
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setattr("rprs.cluster.store.RETRY", {"max_retries": 0})
    with pytest.raises(StoreError) as gone:
        open_store(bucket).read("generations/00000001.json")
    shown = f"{missing.value}{gone.value}{''.join(capfd.readouterr())}"
    assert "the-secret-key" not in shown
    assert "the-key-id" not in shown
    assert "\n" not in str(gone.value)
