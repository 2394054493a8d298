"""The number of processors to use."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs.index import Writer
from rprs.scoring.threads import cores, equal_shares, limit_cores


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


@given(st.lists(st.integers(0, 50), max_size=20), st.integers(1, 5))
def test_shares_are_about_equal(sizes: list[int], number: int) -> None:
    shares = equal_shares(sizes, number)
    assert sorted(place for share in shares for place in share) == list(range(len(sizes)))
    assert len(shares) == max(1, min(number, len(sizes)))
    filled = [sum(sizes[place] for place in share) for share in shares]
    assert max(filled) - min(filled) <= max(sizes, default=0)
