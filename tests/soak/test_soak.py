"""A short soak; `make soak` runs a long one."""

from __future__ import annotations

import pytest

from tests.soak.__main__ import run


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_minute_of_writers_readers_backups_and_kills() -> None:
    assert run(minutes=1, seed=1, rest=0.2) == []
