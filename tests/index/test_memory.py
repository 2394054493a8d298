"""An index in memory gives the same results as one on disk, and touches no disk."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rprs
from rprs.document import Document
from rprs.errors import NoDocument, ReadError, UsageError
from rprs.index import Index, Writer
from rprs.scoring.vectors import VECTOR_TYPES, VectorType
from rprs.search import Searcher
from tests.support.crash import COLLECTION, HASHED, QUERIES, invented, memory_folder, plug_in
from tests.support.paths import ROOT
from tests.support.tiny_models import make_bert

SYSTEMS: list[dict[str, Any]] = [
    {"first": "bm25", "rerank": "rprs"},
    {"first": "bm25(k1=1.2,b=0.75,kli=0.5)", "rerank": "rprs(n=3,k1=1,b=0.5)", "depth": 4},
    {"first": "sdr", "rerank": "maxsim"},
    {"first": "maxsim", "rerank": "sdr"},
    {"first": "meanpool", "rerank": None},
    {"first": "cosine", "rerank": None},
    {"first": "fuse(bm25,meanpool)", "rerank": "fuse(first,rprs)"},
]
FILTERS = [None, "version = 1", "date < 2012-01-01 and not version = 1"]


def on_disk(folder: Path, documents: list[Document], encoder: str = HASHED, vectors: VectorType = "float16") -> Path:
    with Writer(folder / "disk.rprs", create=True, encoder=encoder, vectors=vectors, batch=100) as writer:
        writer.add(documents)
    return folder / "disk.rprs"


def assert_same(one: Index, other: Index) -> None:
    """The same documents, numbers, vectors and fingerprint."""
    assert one.ids == other.ids
    assert one.fingerprint == other.fingerprint
    assert one.fields == other.fields
    assert one.mean_sentences == other.mean_sentences
    assert np.array_equal(one.lengths, other.lengths)
    for id in one:
        assert one[id] == other[id]
        assert one[id].metadata == other[id].metadata
        for name in ("spans", "paragraphs", "vectors"):
            assert np.array_equal(getattr(one.sentences(id), name), getattr(other.sentences(id), name))


def results(index: Index, query: Document, system: dict[str, Any], where: str | None) -> Any:
    """Everything that a search and an explanation return, apart from the time they took."""
    searcher = Searcher(index, **system)
    hits = replace(searcher.search(query, where=where), seconds={})
    explained = searcher.explain(query, hits[0].id, where=where) if len(hits) and system["rerank"] else None
    ranking = searcher.rank(query, where=where)
    return repr(hits), repr(explained), ranking.ids, ranking.scores.tobytes()


texts = st.builds(invented, st.sampled_from([f"id {number}" for number in range(8)]), st.integers(0, 3))


@settings(max_examples=8)
@given(documents=st.lists(texts, max_size=12), query=st.integers(0, 2), vectors=st.sampled_from(VECTOR_TYPES))
def test_the_same_documents_on_disk_and_in_memory_give_identical_results(
    documents: list[Document], query: int, vectors: VectorType
) -> None:
    with (
        memory_folder() as folder,
        Index(on_disk(folder, documents, vectors=vectors)) as disk,
        Index.in_memory(documents, encoder=HASHED, vectors=vectors) as memory,
    ):
        assert_same(disk, memory)
        for system in SYSTEMS:
            for where in FILTERS:
                expected = results(disk, QUERIES[query], system, where)
                assert results(memory, QUERIES[query], system, where) == expected


@pytest.mark.parametrize("size", [1, 9])
def test_a_fitted_encoder_is_fitted_or_replaced_by_its_teacher_as_on_disk(size: int) -> None:
    """`learned` learns from 12 sentences: one document has fewer, nine have more."""
    plug_in()
    documents = COLLECTION[:size]
    with (
        memory_folder() as folder,
        Index(on_disk(folder, documents, "learned")) as disk,
        Index.in_memory(documents, encoder="learned") as memory,
    ):
        assert_same(disk, memory)
        assert disk.catalog.encoder() == memory.catalog.encoder()
        assert results(disk, QUERIES[0], SYSTEMS[0], None) == results(memory, QUERIES[0], SYSTEMS[0], None)
        if size == 1:
            assert memory.encoder_text == "hashed(dimension=16)"
        else:
            with pytest.raises(UsageError, match="fitted encoder of an index in memory cannot be used for another"):
                _ = memory.encoder_text


def test_the_default_kind_of_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path / "cache"))
    teacher = make_bert(tmp_path / "tiny", positions=64)
    encoder = f'fitted(teacher=onnx(model="{teacher}",precision=fp32),sample=100)'
    documents = [invented(f"d{number}", 0, 8) for number in range(20)]
    with (
        Index(on_disk(tmp_path, documents, encoder)) as disk,
        Index.in_memory(documents, encoder=encoder) as memory,
    ):
        assert type(memory.encoder).__name__ == "Table"
        assert_same(disk, memory)


@pytest.mark.parametrize(
    "documents",
    [
        ["First text.", "Second text."],
        {"0": "First text.", "1": "Second text."},
        [{"id": 0, "text": "First text."}, {"id": 1, "text": "Second text."}],
        [Document("0", "First text."), Document("1", "Second text.")],
        (Document(str(number), text) for number, text in enumerate(["First text.", "Second text."])),
    ],
)
def test_documents_are_accepted_in_the_forms_that_build_accepts(documents: Any) -> None:
    with Index.in_memory(documents, encoder=HASHED) as index:
        assert {id: document.text for id, document in index.items()} == {"0": "First text.", "1": "Second text."}


def test_a_folder_is_read_into_memory(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The harbour pilot waits.")
    with Index.in_memory(tmp_path, encoder=HASHED) as index:
        assert index.ids == ["a.txt"]


def test_if_an_id_occurs_twice_the_last_document_counts() -> None:
    with Index.in_memory([invented("a", 0, 2), invented("b", 0, 1), invented("a", 1, 3)], encoder=HASHED) as index:
        assert index.ids == ["a", "b"]
        assert index["a"] == invented("a", 1, 3)


def test_an_empty_index_can_be_searched() -> None:
    with Index.in_memory([], encoder=HASHED) as index:
        assert (len(index), index.mean_sentences) == (0, 0.0)
        assert len(Searcher(index).search(QUERIES[0])) == 0


def test_errors_are_those_of_an_index_on_disk() -> None:
    with pytest.raises(ReadError, match="without an id"):
        Index.in_memory([Document("", "No id.")], encoder=HASHED)
    with pytest.raises(UsageError, match="no encoder named 'hased'"):
        Index.in_memory(["Text."], encoder="hased")
    with Index.in_memory(["Text."], encoder=HASHED) as index, pytest.raises(NoDocument, match=r"'x' in memory$"):
        index.document("x")


def test_closing_frees_the_arrays_and_the_catalog() -> None:
    index = Index.in_memory(COLLECTION, encoder=HASHED)
    assert Searcher(index).about(QUERIES[0], 3).index == "memory"
    index.close()
    assert index.segments == []
    assert "encoder" not in vars(index)
    with pytest.raises(Exception, match="closed"):
        index.document("d00")


def test_the_short_forms_of_an_index() -> None:
    with (
        memory_folder() as folder,
        Index(on_disk(folder, COLLECTION)) as disk,
        Index.in_memory(COLLECTION, encoder=HASHED) as memory,
    ):
        assert repr(disk) == f"<Index {disk.path}: 9 documents>"
        assert repr(memory) == "<Index in memory: 9 documents>"
        for index in (disk, memory):
            assert list(index) == index.ids == [document.id for document in COLLECTION]
            assert list(index.values()) == COLLECTION
            assert "d03" in index
            assert "nobody" not in index
            assert index["d03"] == index.get("d03") == COLLECTION[3]
            assert index.get("nobody") is None
            assert index == index
            assert len({index, index}) == 1
            with pytest.raises(NoDocument, match="There is no document 'nobody'"):
                _ = index["nobody"]
        assert disk != memory


def test_integers_are_ids_too() -> None:
    with Index.in_memory([{"id": 7, "text": "Seven."}, {"id": np.int64(8), "text": "Eight."}], encoder=HASHED) as index:
        assert index.ids == ["7", "8"]
        assert index[7].text == "Seven."  # type: ignore[index]
        assert np.int32(8) in index


WATCH = """
import sys
import rprs

TEXTS = {"a": "The harbour pilot waits. The tide turns.", "b": "The mill grinds barley.", "c": "A toll on the bridge."}

def work():
    with rprs.Index.in_memory(TEXTS, encoder="hashed(dimension=16)") as index:
        rprs.Searcher(index).explain("The pilot waits for the tide.", "a")
    rprs.rerank("The pilot waits.", TEXTS, encoder="hashed(dimension=16)")

work()  # compiled functions are loaded from their cache, or written to it
touched = []

def hook(event, args):
    if event in ("open", "os.mkdir", "os.rename", "sqlite3.connect", "tempfile.mkstemp", "tempfile.mkdtemp"):
        touched.append((event, str(args[0])))

sys.addaudithook(hook)
work()
print(sorted(set(touched)))
"""


def test_no_file_is_opened() -> None:
    ran = subprocess.run([sys.executable, "-c", WATCH], capture_output=True, text=True, check=True, cwd=ROOT)
    assert ran.stdout == "[('sqlite3.connect', ':memory:')]\n"


@pytest.fixture
def memory() -> Iterator[rprs.Index]:
    with Index.in_memory(COLLECTION, encoder=HASHED) as index:
        yield index


def test_the_documents_of_an_index_can_be_indexed_again(memory: Index, tmp_path: Path) -> None:
    assert rprs.build(tmp_path / "copy.rprs", memory.values(), encoder=HASHED).added == len(memory)
    with Index(tmp_path / "copy.rprs") as copy:
        assert_same(copy, memory)
