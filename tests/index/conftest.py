"""Small indexes that several modules damage, link or copy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rprs.index import Writer
from tests.support.crash import COLLECTION, HASHED, invented, memory_folder, plug_in


@pytest.fixture(scope="module")
def intact() -> Iterator[Path]:
    """An index of two segments, with an encoder that is fitted to it."""
    plug_in()
    with memory_folder() as folder:
        path = folder / "intact.rprs"
        with Writer(path, create=True, encoder="learned") as writer:
            writer.add(COLLECTION[:6])
            writer.add([*COLLECTION[6:], invented("d01", 1, 4)])
        yield path


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with the index cases.rprs."""
    with memory_folder() as place:
        with Writer(place / "cases.rprs", create=True, encoder=HASHED) as writer:
            writer.add(COLLECTION)
        yield place
