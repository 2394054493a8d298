"""The number of processors to use."""

from __future__ import annotations

from pathlib import Path

import pytest

from rprs.index import Writer
from rprs.scoring.threads import cores, limit_cores


def test_a_limit_holds_within_its_block_and_is_no_more_than_there_is() -> None:
    own = cores()
    with limit_cores(1):
        assert cores() == 1
        with limit_cores(10**6):
            assert cores() == own
        assert cores() == 1
    assert cores() == own


def test_a_writer_starts_no_more_processes_than_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _process: set(range(8)))
    with limit_cores(3), Writer(tmp_path / "a.rprs", create=True, encoder="hashed") as limited:
        assert limited.processes == 3
    with Writer(tmp_path / "b.rprs", create=True, encoder="hashed") as writer:
        assert writer.processes == 8
