"""The index behind the server: segments are merged outside requests, which never wait for it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from rprs import System
from rprs.errors import Busy, InvalidIndex
from rprs.index import Index, Writer, verify
from rprs.index import writer as writing
from rprs.serve import service as services
from rprs.serve.service import Service
from tests.support.crash import HASHED, invented, memory_folder
from tests.support.server import served


@pytest.fixture(scope="module")
def many() -> Iterator[Path]:
    """An index that one more document makes one of many segments."""
    with memory_folder() as folder:
        with Writer(folder / "many.rprs", create=True, encoder=HASHED, batch=1, compact_automatically=False) as writer:
            writer.add(invented(f"d{number}", sentences=1) for number in range(8))
        yield folder / "many.rprs"


@pytest.fixture
def path(many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(writing, "MANY_SEGMENTS", 8)
    return shutil.copytree(many, tmp_path / "many.rprs")


def segments(path: Path) -> int:
    with Index(path) as index:
        return len(index.segments)


def test_a_request_does_not_merge_the_segments(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "PATIENCE", 0.1)
    service = Service(path, System())
    try:
        with service._writing:  # as if a long merger ran
            service._compaction.start()
            before = monotonic()
            with pytest.raises(Busy, match="The index is being changed"):
                service.add([invented("refused", sentences=1)])
            assert monotonic() - before < 5
        service._compaction.wait()
        assert segments(path) == 1
        for number in range(8):
            service.add([invented(f"e{number}", sentences=1)])
        service._compaction.wait()
        assert segments(path) == 1
        with service.snapshot() as snapshot:
            assert len(snapshot.index) == 16
    finally:
        service.close()
    assert verify(path) == []


def test_a_merger_that_fails_is_logged(path: Path) -> None:
    log: list[str] = []
    service = Service(path, System(), log=log.append)
    try:
        (path / "segments/000003/spans.npy").write_bytes(b"damaged")
        service._compaction.start()
        service._compaction.wait()
        assert "could not be merged" in log[0]
    finally:
        service.close()


def test_closing_ends_a_merger(path: Path) -> None:
    service = Service(path, System())
    service._compaction._closing.set()
    service._compaction.start()
    service.close()
    assert segments(path) == 8
    assert verify(path) == []


def test_readiness_follows_the_index_and_liveness_does_not(path: Path) -> None:
    with served(path) as server, server.client() as api:
        for away in (False, True, False):
            if away:
                path.rename(path.with_name("away"))
            elif not path.exists():
                path.with_name("away").rename(path)
            response = api.get("/ready")
            assert response.status_code == (503 if away else 200), response.text
            assert api.get("/health").status_code == 200
            assert not away or "There is no index" in response.json()["error"]


def test_an_index_that_was_away_is_served_again(path: Path) -> None:
    service = Service(path, System())
    try:
        for _ in range(2):
            path.rename(path.with_name("away"))
            for _ in range(2):
                with pytest.raises(InvalidIndex, match="There is no index at"), service.snapshot():
                    pass
            path.with_name("away").rename(path)
            with service.snapshot() as snapshot:
                assert len(snapshot.index) == 8
    finally:
        service.close()
