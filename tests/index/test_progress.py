"""Every stage of indexing one huge document shows how far it is, and changes nothing by that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rprs.document import Document
from rprs.index import Writer, batches
from rprs.progress import Advance, show_reading
from rprs.text import analyze, pieces, split
from tests.support.crash import HASHED, invented

BOOK = Document("book", "\n\n".join(invented(f"chapter {number}", sentences=9).text for number in range(60)))


class Recorded:
    """Progress that is recorded: what each task advanced by, and its total."""

    def __init__(self) -> None:
        self.steps: dict[str, list[int]] = {}
        self.totals: dict[str, int | None] = {}

    @contextmanager
    def __call__(self, what: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
        """Open a task."""
        steps = self.steps.setdefault(what, [])
        self.totals[what] = total
        yield steps.append


def build(path: Path, progress: Recorded | None = None) -> dict[str, bytes]:
    """An index of the book, added to one document; its arrays."""
    with Writer(path, create=True, encoder=HASHED, progress=progress) as writer:
        writer.add([invented("first", sentences=3)])
        if progress is None:
            writer.add([BOOK])
        else:
            with show_reading(progress):
                writer.add([BOOK])
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*.npy")}


def test_every_stage_of_a_huge_document_shows_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = build(tmp_path / "plain.rprs")
    monkeypatch.setattr(analyze, "LONG_TEXT", 1_000)
    monkeypatch.setattr(pieces, "PIECE", 4_000)
    monkeypatch.setattr(batches, "PIECE", 300)
    monkeypatch.setattr(split, "_LONG_TEXT", 1_000)
    monkeypatch.setattr(split, "_STEP", 2_000)
    progress = Recorded()
    assert build(tmp_path / "shown.rprs", progress) == plain
    words, arrays = progress.steps["counting the words of a long text"], progress.steps["writing words and phrases"]
    assert len(words) > 3
    assert sum(words) == progress.totals["counting the words of a long text"] == len(BOOK.text)
    terms = progress.steps["counting the terms of a long text"]
    assert len(terms) > 3
    assert sum(terms) == progress.totals["counting the terms of a long text"]
    assert len(progress.steps["splitting a long text"]) > 5
    assert progress.totals["splitting a long text"] == len(BOOK.text)
    assert arrays == [1] * (2 * (progress.totals["writing words and phrases"] or 0))  # two segments
    sentences = progress.steps["encoding"]
    assert len(sentences) == sum(sentences) == 3 + (progress.totals["encoding"] or 0)
