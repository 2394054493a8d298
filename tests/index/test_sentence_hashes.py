"""A sentence is found by its hash, whichever document has it or had it, and nothing else is taken for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs.document import Document
from rprs.errors import IndexCorrupt
from rprs.index import Index, Writer, verify
from rprs.index.backup import backup
from rprs.index.catalog import Catalog
from rprs.index.segment import Hashes, hashes_path
from rprs.index.sentence_hashes import SentenceTable, sentence_hashes
from tests.index.test_known_vectors import ASKED, add, document, folder, plugged, sentence, vectors

__all__ = ["folder", "plugged"]

LARGE = [document(f"d{number}", *range(10 * number, 10 * number + 10)) for number in range(40)]


@pytest.fixture
def path(folder: Path) -> Path:
    """An index of 400 sentences in several segments."""
    made = folder / "large.rprs"
    assert len(add(made, *LARGE, batch=3_000)) == 400
    return made


def compact(path: Path) -> None:
    with Writer(path) as writer:
        writer.compact()


def forget_hashes(path: Path) -> dict[str, bytes]:
    """Make it an index of an earlier version; what was in the files."""
    catalog = Catalog(path, write=True)
    with catalog.transaction():
        catalog.forget_files("segments/*/sentence_hash.npy")
    catalog.close()
    files = list(path.glob("segments/*/sentence_hash.npy"))
    content = {file.relative_to(path).as_posix(): file.read_bytes() for file in files}
    for file in files:
        file.unlink()
    return content


def test_a_small_document_finds_its_sentences_in_all_others(path: Path, folder: Path) -> None:
    assert add(path, document("new", 7, 399, 1_000, 205)) == [sentence(1_000)]
    compact(path)
    assert add(path, document("newer", 1_000, 3, 250)) == []
    assert add(path, document("d5", *range(50, 58), 17, 1_001)) == [sentence(1_001)]
    assert verify(path) == []
    changed = [*LARGE[:5], document("d5", *range(50, 58), 17, 1_001), *LARGE[6:]]
    add(folder / "other.rprs", *changed, document("new", 7, 399, 1_000, 205), document("newer", 1_000, 3, 250))
    assert vectors(path) == vectors(folder / "other.rprs")


def test_a_removed_document_gives_its_vectors_until_compaction(path: Path) -> None:
    with Writer(path) as writer:
        writer.remove(["d3", "d4"])
    assert add(path, document("again", 30, 31)) == []
    compact(path)
    assert verify(path) == []
    assert add(path, document("late", 30, 41)) == [sentence(41)]


def test_a_sentence_that_moves_from_one_document_to_another_is_not_encoded_again(path: Path) -> None:
    assert add(path, document("d0", *range(9)), document("d1", *range(9, 20)), batch=1) == []


def test_an_index_without_hashes_gets_them_once(path: Path) -> None:
    written = forget_hashes(path)
    assert len(written) > 3
    assert verify(path) == []
    assert add(path, document("new", 7, 399)) == []
    assert {name: (path / name).read_bytes() for name in written} == written
    assert verify(path) == []
    forget_hashes(path)
    with Writer(path) as writer:
        writer.remove(["d9"])
    assert add(path, document("newer", 90, 95, 100)) == [sentence(90), sentence(95)]
    forget_hashes(path)
    assert add(path, document("newest", 96, 101), measured=False) == [sentence(96)]
    compact(path)
    assert verify(path) == []
    assert add(path, document("last", 96, 102)) == []


def test_segments_with_and_without_hashes_are_merged(path: Path) -> None:
    catalog = Catalog(path, write=True)
    with catalog.transaction():
        catalog.forget_files(hashes_path(2))
    catalog.close()
    compact(path)
    assert verify(path) == []
    assert add(path, document("new", 7, 399, 205)) == []


def test_a_backup_has_the_hashes(path: Path, folder: Path) -> None:
    backup(path, folder / "copy.rprs")
    assert add(folder / "copy.rprs", document("new", 7, 399)) == []


def test_only_encoders_that_take_long_store_hashes(folder: Path) -> None:
    add(folder / "fast.rprs", *LARGE[:3], encoder="hashed")
    add(folder / "slow.rprs", *LARGE[:3])
    assert not list(folder.glob("fast.rprs/segments/*/sentence_hash.npy"))
    (file,) = folder.glob("slow.rprs/segments/*/sentence_hash.npy")
    assert np.array_equal(np.load(file), sentence_hashes([sentence(number) for number in range(30)]))


def test_a_collection_that_is_too_small_for_a_fit_asks_the_teacher_for_new_sentences_only(folder: Path) -> None:
    path, encoder = folder / "small.rprs", "fitted(teacher=asked,sample=500)"
    add(path, *LARGE, encoder=encoder, measured=False)
    assert add(path, document("new", 7, 399, 1_000), encoder=encoder, measured=False) == [sentence(1_000)]
    assert add(path, document("newer", 7, 1_000), encoder=encoder, measured=False) == []
    assert verify(path) == []


def test_damaged_hashes_are_found_and_not_used(folder: Path) -> None:
    path = folder / "a.rprs"
    add(path, *LARGE, measured=False)
    (file,) = path.glob("segments/*/sentence_hash.npy")
    content, start = bytearray(file.read_bytes()), 128 + 300 * 16  # in the second block, with all that follow
    content[start : start + 16] = sentence_hashes(["The court heard nobody."]).tobytes()
    file.write_bytes(content)
    added = Document("new", f"{sentence(0)} {sentence(1)} {sentence(399)} The court heard nobody.")
    assert add(path, added, measured=False) == [sentence(399), "The court heard nobody."]
    problems = verify(path)
    assert any("sentence_hash.npy has changed" in problem for problem in problems)
    assert any("the hashes of the sentences of 'd30' do not fit its text" in problem for problem in problems)
    with pytest.raises(IndexCorrupt, match="which affects 'd24', "):
        compact(path)
    with Index(path) as index:
        assert len(index.sentences("d30")) == 10  # a search needs no hashes
    with Writer(path, repairing=True) as writer:
        assert writer.repair().removed == ()
    assert verify(path) == []
    ASKED.clear()
    assert add(path, document("newer", 0, 300, 399), measured=False) == []


def test_hashes_of_the_wrong_shape_are_refused(path: Path) -> None:
    file = path / hashes_path(1)
    np.save(file, np.load(file)[1:])
    assert any("sentence_hash of" in problem for problem in verify(path))


few = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=30)


@given(few, few, st.sampled_from([1, 2**62]))
def test_sentences_that_share_a_part_of_their_hash_are_told_apart(
    stored: list[tuple[int, int]], wanted: list[tuple[int, int]], step: int
) -> None:
    """With hashes of so few values, halves and slots collide all the time."""

    def hashes(pairs: list[tuple[int, int]]) -> Hashes:
        return (np.array(pairs, dtype=np.uint64) * np.uint64(step)).reshape(-1, 2)

    table = SentenceTable(hashes(wanted))
    assert table.first.tolist() == [wanted.index(pair) for pair in wanted]
    expected = [stored.index(pair) if pair in stored else -1 for pair in wanted]
    assert table.rows(hashes(stored))[table.first].tolist() == expected
