"""The index on which everything is tuned."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rprs import Index
from tests.support.indexes import index_of
from tests.support.tuning_sample import DOCUMENTS


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    """In two segments."""
    with index_of(DOCUMENTS[:25], DOCUMENTS[25:]) as opened:
        yield opened
