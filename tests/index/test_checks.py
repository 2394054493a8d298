"""Changed bits: a search reports them, nothing copies them into new files, and a repair saves what is sound."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs.document import Document
from rprs.errors import IndexCorrupt, UsageError
from rprs.index import Index, Writer, verify
from rprs.index import writer as writing
from rprs.index.blocks import BLOCK, block_sums
from rprs.index.files import File
from rprs.index.segment import NAMES, NEWER_NAMES, PHRASE_NAMES
from rprs.search import Searcher
from tests.index.test_damage import HEADER, attempt, change, flip
from tests.support.cli import rprs_error, rprs_ok
from tests.support.crash import COLLECTION, QUERIES, invented, memory_folder, rankings

ARRAYS = [f"segments/000002/{name}.npy" for name in (*NAMES, *NEWER_NAMES, *PHRASE_NAMES, "vectors.000001")]
DOCUMENTS = [*COLLECTION, invented("d01", 1, 4)]


@pytest.fixture
def broken(intact: Path) -> Iterator[Path]:
    with memory_folder() as folder:
        yield shutil.copytree(intact, folder / "broken.rprs")


# ---------------------------------------------------------------------------- sums


@given(
    size=st.sampled_from([1, 7, 8, 9, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 5]),
    place=st.floats(0, 1, exclude_max=True),
    bit=st.integers(0, 7),
)
def test_any_changed_bit_changes_the_sum_of_its_block_alone(size: int, place: float, bit: int) -> None:
    content = np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8)
    before = np.frombuffer(block_sums(content), dtype="<u8")
    position = int(size * place)
    content[position] ^= 1 << bit
    after = np.frombuffer(block_sums(content), dtype="<u8")
    assert len(before) == -(-size // BLOCK)
    assert np.flatnonzero(before != after).tolist() == [position // BLOCK]


def test_the_sum_of_a_block_by_hand() -> None:
    """Words 1 and 2, and a last byte 3: 1 (the first block) + 1 · f + 2 · 3f + 3 · 5f, modulo 2^64."""
    factor = 0x9E3779B97F4A7C15
    content = np.frombuffer(b"\1" + bytes(7) + b"\2" + bytes(7) + b"\3", dtype=np.uint8)
    assert int.from_bytes(block_sums(content), "little") == (1 + 22 * factor) % 2**64


# ---------------------------------------------------------------------------- searches


def test_no_flipped_bit_of_an_array_changes_an_answer(intact: Path, broken: Path) -> None:
    before, random, reported = rankings(intact), Random(7), 0
    files = [*ARRAYS, "norms/000002/squared.npy"]
    for file in files:
        size = (broken / file).stat().st_size
        for position in {random.randrange(HEADER), size - 1, *(random.randrange(HEADER, size) for _ in range(3))}:
            bits = 1 << random.randrange(8)
            flip(broken / file, position, bits)
            after = attempt(lambda: rankings(broken))
            assert after == before or "is damaged" in str(after), f"byte {position} of {file}"
            reported += after != before
            flip(broken / file, position, bits)
    assert reported > 4 * len(files)


@pytest.mark.parametrize("flips", [60, pytest.param(1500, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])])
def test_no_flipped_bit_of_the_catalog_changes_an_answer(intact: Path, broken: Path, flips: int) -> None:
    catalog, before, random = broken / "catalog.sqlite", rankings(intact), Random(11)
    content = catalog.read_bytes()
    used = [position for position, byte in enumerate(content) if byte]
    for position in random.sample(used, flips):
        flip(catalog, position, bits=1 << random.randrange(8))
        after = attempt(lambda: rankings(broken))
        assert after == before or isinstance(after, str), f"byte {position}"
        for leftover in broken.glob("catalog.sqlite-*"):
            leftover.unlink()
        catalog.write_bytes(content)


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE documents SET id = 'x02' WHERE id = 'd02'", "the ids or the places of documents have changed"),
        ("UPDATE documents SET ordinal = 99 WHERE id = 'd02'", "the ids or the places of documents have changed"),
        ("UPDATE documents SET removed = 1 WHERE id = 'd02'", "the ids or the places of documents have changed"),
        ("UPDATE segments SET generation = 7 WHERE number = 1", "the list of segments has changed"),
        ("UPDATE texts SET text = text || ' ' WHERE document = 3", "the text of 'd02' has changed"),
        ("UPDATE documents SET title = 'x' WHERE id = 'd02'", "the title or the metadata of 'd02' have changed"),
    ],
)
def test_a_search_reports_a_changed_row(broken: Path, statement: str, problem: str) -> None:
    change(broken, statement)
    with pytest.raises(IndexCorrupt, match=problem):
        rankings(broken)
    assert any(problem in line or "catalog.sqlite" in line for line in verify(broken))


def test_a_filter_reports_metadata_that_would_leave_a_document_out(broken: Path) -> None:
    change(broken, """UPDATE documents SET metadata = replace(metadata, '2010', '2030') WHERE id = 'd02'""")
    message = "the title or the metadata of 'd02' have changed"
    with Index(broken) as index, pytest.raises(IndexCorrupt, match=message):
        Searcher(index).search(QUERIES[0], 3, where="date < 2020-01-01")


def test_the_switch(broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in broken.glob("segments/*/vectors.*"):
        for position in range(HEADER, file.stat().st_size, 2):
            flip(file, position)
    with pytest.raises(IndexCorrupt, match=r"vectors.000001.npy is damaged \(a checksum differs\)"):
        rankings(broken)
    with Index(broken, check=False) as index:
        assert len(Searcher(index).search(QUERIES[0], 3)) == 3
    monkeypatch.setenv("RPRS_CHECK", "off")
    assert rankings(broken)
    with pytest.raises(IndexCorrupt), Index(broken, check=True) as index:
        Searcher(index).search(QUERIES[0], 3)
    monkeypatch.setenv("RPRS_CHECK", "maybe")
    with pytest.raises(UsageError, match=r"RPRS_CHECK must be on or off. Got 'maybe' instead"):
        Index(broken)


# ---------------------------------------------------------------------------- rewriting


@pytest.mark.parametrize("file", ARRAYS)
def test_no_damage_is_copied_into_a_new_segment(broken: Path, file: str) -> None:
    flip(broken / file, (broken / file).stat().st_size - 1)
    problems, before = verify(broken), sorted(broken.rglob("*"))
    with (
        Writer(broken) as writer,
        pytest.raises(IndexCorrupt, match=r"'d\d\d'.*nothing was rewritten; run `rprs repair"),
    ):
        writer.compact()
    assert problems == verify(broken)
    assert sorted(broken.rglob("*")) == before


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """An index of which a block holds two sentences of 1,024 numbers; one bit is changed in the first block of d04."""
    sentences = " ".join(f"Sentence number {number} is about the harbour." for number in range(8))
    with Writer(tmp_path / "a.rprs", create=True, encoder="hashed(dimension=1024)") as writer:
        writer.add(Document(f"d{number:02d}", sentences) for number in range(9))
    flip(tmp_path / "a.rprs/segments/000001/vectors.000001.npy", HEADER + 8 * 2048 * 4 + 5)
    return tmp_path / "a.rprs"


def test_the_documents_of_damaged_vectors_are_named(wide: Path) -> None:
    with Writer(wide) as writer:
        writer.remove(["d08"])
        with pytest.raises(IndexCorrupt) as caught:
            writer.compact()
    assert "which affects 'd03', 'd04': nothing was rewritten" in str(caught.value)


def test_changed_texts_are_not_encoded(broken: Path) -> None:
    change(broken, "UPDATE texts SET text = text || ' More.' WHERE document = 3")
    with Writer(broken) as writer, pytest.raises(IndexCorrupt, match="the text of 'd02' has changed"):
        writer.refit()


def test_an_automatic_merger_that_finds_damage_is_a_note(wide: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "MANY_SEGMENTS", 1)
    with Writer(wide) as writer:
        added = writer.add([invented("new", sentences=2)])
    assert added.added == 1
    assert "The documents are in the index, but its segments could not be merged" in added.notes[0]


# ---------------------------------------------------------------------------- repairs


@pytest.mark.parametrize("damage", ["truncated", "missing", "flipped", "all"])
def test_a_repair_makes_segments_norms_and_encoders_anew(intact: Path, broken: Path, damage: str) -> None:
    before = rankings(intact)
    files = {
        "truncated": ["segments/000001/spans.npy", "norms/000002/squared.npy"],
        "missing": ["segments/000002/phrase_data.npy"],
        "flipped": ["segments/000001/vectors.000001.npy"],
        "all": [file.path for file in _files(broken) if not file.path.startswith("encoders/")],
    }[damage]
    for file in files:
        if damage == "missing":
            (broken / file).unlink()
        elif damage == "truncated":
            (broken / file).write_bytes((broken / file).read_bytes()[:40])
        else:
            flip(broken / file, (broken / file).stat().st_size - 1)
    with Writer(broken) as writer:
        repaired = writer.repair()
    assert sorted(repaired.files) == sorted(files)
    assert repaired.removed == ()
    assert verify(broken) == []
    assert rankings(broken) == before
    with Writer(broken) as writer:
        assert writer.repair() == type(repaired)()


def _files(path: Path) -> list[File]:
    with Index(path) as index:
        return list(index.catalog.files())


def test_a_damaged_encoder_is_fitted_again(intact: Path, broken: Path) -> None:
    (broken / "encoders/000001/counts.json").write_text(json.dumps({"harbour": 1}))
    assert verify(broken)
    with Writer(broken) as writer:
        writer.repair()
        expected = writer.path.parent / "expected.rprs"
    assert verify(broken) == []
    with Writer(expected, create=True, encoder="learned") as writer:
        writer.add([document for document in DOCUMENTS if document is not COLLECTION[1]])
    assert rankings(broken) == rankings(expected)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE segments SET tokens = 1 WHERE number = 1",
        "UPDATE documents SET ordinal = 17 WHERE id = 'd02'",
        "UPDATE documents SET segment = 9 WHERE id = 'd02'",
    ],
)
def test_documents_in_the_wrong_place_are_indexed_again(intact: Path, broken: Path, statement: str) -> None:
    change(broken, statement)
    assert verify(broken)
    with Writer(broken) as writer:
        assert writer.repair().removed == ()
    assert verify(broken) == []
    assert rankings(broken) == rankings(intact)


def test_damaged_documents_are_removed_and_named(broken: Path) -> None:
    change(broken, "UPDATE texts SET text = text || 'x' WHERE document = 3")
    change(broken, "UPDATE documents SET title = 'x' WHERE id = 'd03'")
    flip(broken / "segments/000001/spans.npy", HEADER)
    assert "nothing was rewritten" in rprs_error("compact", broken)
    outcome = rprs_ok("repair", broken)
    assert outcome.out.splitlines() == [
        "the text of 'd02' has changed: the document was removed, add it again",
        "the title or the metadata of 'd03' have changed: the document was removed, add it again",
    ]
    assert "1 damaged file, 3 documents indexed again, 2 removed" in " ".join(outcome.err.split())
    rprs_ok("verify", broken)
    with Index(broken) as index:
        assert set(index) == {document.id for document in DOCUMENTS} - {"d02", "d03"}
    with Writer(broken) as writer:
        assert writer.add(DOCUMENTS[2:4]).added == 2


def test_a_catalog_that_cannot_be_read_is_not_repaired(broken: Path) -> None:
    content = bytearray((broken / "catalog.sqlite").read_bytes())
    for page in range(3, len(content) // 4096):
        content[page * 4096] ^= 0xFF  # the type of the page
    (broken / "catalog.sqlite").write_bytes(content)
    with pytest.raises(IndexCorrupt), Writer(broken) as writer:
        writer.repair()
