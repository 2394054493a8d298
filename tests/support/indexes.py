"""Small indexes for tests, in a folder in memory where the system has one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rprs.document import Document
from rprs.index import Index, Writer

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # syncing hundreds of small indexes to disk takes minutes


@contextmanager
def index_of(
    *segments: Sequence[Document],
    removed: Sequence[str] = (),
    analyzer: str = "words(language=none)",
    encoder: str = "hashed(dimension=32)",
) -> Iterator[Index]:
    """An index with these segments, from which documents were then removed; without stemming by default."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        path = Path(folder) / "made.rprs"
        with Writer(path, create=True, analyzer=analyzer, encoder=encoder) as writer:
            for documents in segments or ((),):
                writer.add(documents)
            writer.remove(removed)
        with Index(path) as index:
            yield index


def documents(**texts: str) -> list[Document]:
    """Documents by their ids."""
    return [Document(id, text) for id, text in texts.items()]
