"""The sample of an index's sentences, against a slow oracle that looks at every sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from rprs.index import Index, Writer
from rprs.index.sample import SPARE, keyed_sentences
from tests.support.crash import invented

MASK = 2**64 - 1


def key(content_hash: str, sentence: int) -> int:
    """SplitMix64 in Python's own numbers."""
    x = (int(content_hash[:16], 16) + (sentence + 1) * 0x9E3779B97F4A7C15) & MASK
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three segments: with documents of no sentences, equal texts, and removed ones; one is empty by now."""
    path = tmp_path_factory.mktemp("sample") / "cases.rprs"
    with Writer(path, create=True, encoder="hashed(dimension=16)") as writer:
        writer.add([invented(f"d{number}") for number in range(30)])
        writer.add([invented(f"e{number}", sentences=4) for number in range(9)])
        writer.add([invented("f", sentences=3)])
        twin = invented("d4")
        writer.add([type(twin)("twin", twin.text), *(invented(f"g{number}") for number in range(20))])
        writer.remove(["d1", "d7", "e3", "f", "g2"])
    return path


@pytest.mark.parametrize("size", [1, 7, 40, 10_000])
def test_the_sentences_with_the_smallest_keys_are_chosen(path: Path, size: int) -> None:
    with Index(path) as index:
        segments = {segment.number: segment for segment in index.segments}
        expected = []
        for segment in index.segments:
            for number, ordinal, content_hash in index.catalog.segment_hashes(segment.number):
                _, _, text = index.catalog.text(number)
                first, stop = segment.sentence_offsets[ordinal : ordinal + 2].tolist()
                for place, (start, end) in enumerate(segment.spans[first:stop].tolist()):
                    expected.append((key(content_hash, place), text[start:end]))
        expected.sort(key=lambda keyed: keyed[0])  # stable, like the order of the segments
        assert keyed_sentences(index.catalog, segments, size) == expected[: int(size * SPARE)]


def test_an_index_without_documents_has_no_sample(tmp_path: Path) -> None:
    with Writer(tmp_path / "empty.rprs", create=True, encoder="hashed(dimension=16)") as writer:
        writer.add([invented("only", sentences=2)])
        writer.remove(["only"])
    with Index(tmp_path / "empty.rprs") as index:
        assert keyed_sentences(index.catalog, {segment.number: segment for segment in index.segments}, 10) == []
