"""The occurrences of terms are stored with them, and counted in segments that do not have them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rprs.document import Document
from rprs.index import Index, Writer, verify
from rprs.index.terms import Terms

TEXTS = ["red red blue", "blue green green green", "red", "", "green"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "index.rprs"
    for number, text in enumerate(TEXTS):  # a segment each
        with Writer(made, create=not number, encoder=None if number else "hashed") as writer:
            writer.add([Document(str(number), text)])
    return made


def compact(path: Path) -> None:
    with Writer(path) as writer:
        writer.compact()


def occurrences(path: Path) -> list[int]:
    index, terms = Index(path), Terms.of(["red", "green", "blue", "black"])
    places = zip(index.segments, index.postings(terms), strict=True)
    found = [segment.occurrences(*own).tolist() for segment, own in places if len(segment.term_hash)]
    return [sum(counts) for counts in zip(*found, strict=True)]


def test_stored_and_counted(path: Path) -> None:
    assert occurrences(path) == [3, 4, 2, 0]
    assert all(segment.term_counts is not None for segment in Index(path).segments)
    compact(path)
    assert occurrences(path) == [3, 4, 2, 0]
    (segment,) = Index(path).segments
    assert np.array_equal(segment.term_counts, segment.counted)  # type: ignore[arg-type]
    assert list(verify(path)) == []
    segment.term_counts = None  # as in an index of an earlier version
    own = Index(path).postings(Terms.of(["green"]))[0]
    assert segment.occurrences(*own).tolist() == [4]


def test_wrong_counts_are_found(path: Path) -> None:
    compact(path)
    (file,) = path.glob("segments/*/term_counts.npy")
    counts = np.load(file)
    counts[0] += 1
    np.save(file, counts)
    assert any("term_counts" in problem for problem in verify(path))
    assert any("occurrences" in problem for problem in verify(path))
