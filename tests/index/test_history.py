"""The rankings of an index depend on its documents alone, not on its history of changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rprs.document import Document
from rprs.errors import ReadError, UsageError
from rprs.index import Added, Index, Writer, compact, phrases, segment, sentence_vectors, terms, verify, writer
from rprs.rank import BM25
from rprs.scoring.vectors import VECTOR_TYPES, VectorType
from rprs.search import Searcher
from tests.support.crash import COLLECTION, HASHED, invented, memory_folder, plug_in, rankings
from tests.support.tiny_models import make_bert

TINY = 30  # characters: nearly every document is a segment of its own


@pytest.fixture
def folder() -> Iterator[Path]:
    with memory_folder() as opened:
        yield opened


def build(
    path: Path,
    documents: list[Document],
    encoder: str = HASHED,
    batch: int = TINY,
    phrases: bool = True,
    vectors: VectorType = "float16",
) -> Path:
    with Writer(path, create=True, encoder=encoder, batch=batch, phrases=phrases, vectors=vectors) as opened:
        opened.add(documents)
    return path


@contextmanager
def small_pieces() -> Iterator[None]:
    """Use very small blocks wherever work is done in blocks."""
    with (
        patch.object(compact, "TERMS", 9),
        patch.object(compact, "POSTINGS", 20),
        patch.object(compact, "ROWS", 2),
        patch.object(sentence_vectors, "ENCODE_ROWS", 3),
        patch.object(phrases, "RANGE", 16),
        patch.object(writer, "MANY_SEGMENTS", 7),
        patch.object(writer, "MOST_DOCUMENTS", 4),
    ):
        yield


# ---------------------------------------------------------------------------- any history

IDS = [f"id {number}" for number in range(7)]
versions = st.builds(invented, st.sampled_from(IDS), st.integers(0, 3))
batches = st.sampled_from([1, 60, 150, 10_000])
steps = st.one_of(
    st.tuples(st.just("add"), st.lists(versions, max_size=6), batches),
    st.tuples(st.just("relabel"), st.sampled_from(IDS), st.integers(4, 6)),
    st.tuples(st.just("remove"), st.lists(st.sampled_from([*IDS, "nobody"]), max_size=3)),
    st.tuples(st.just("compact")),
)


def play(path: Path, history: list[Any], encoder: str, vectors: VectorType = "float16") -> dict[str, Document]:
    """Apply a history of changes to an index; the documents that it must have at the end."""
    expected: dict[str, Document] = {}
    Writer(path, create=True, encoder=encoder, vectors=vectors).close()
    for step, *values in history:
        with Writer(path, batch=values[1] if step == "add" else None) as opened:
            if step == "add":
                opened.add(values[0])
                expected |= {document.id: document for document in values[0]}
            elif step == "relabel" and values[0] in expected:
                old = expected[values[0]]
                new = Document(old.id, old.text, f"Called {values[1]}", {"version": values[1]})
                expected[old.id] = new
                assert opened.add([new]) == Added(changed=0 if old == new else 1, unchanged=1 if old == new else 0)
            elif step == "remove":
                assert opened.remove(values[0]) == len(expected.keys() & set(values[0]))
                expected = {id: document for id, document in expected.items() if id not in values[0]}
            elif step == "compact":
                opened.compact()
    return expected


@settings(max_examples=25)
@given(history=st.lists(steps, min_size=1, max_size=7), seed=st.integers(0, 9), vectors=st.sampled_from(VECTOR_TYPES))
def test_any_history_ranks_as_an_index_built_at_once(history: list[Any], seed: int, vectors: VectorType) -> None:
    with memory_folder() as folder, small_pieces():
        expected = play(folder / "history.rprs", [*history, ("add", [], 1)], HASHED, vectors)
        assert verify(folder / "history.rprs") == []
        documents = sorted(expected.values(), key=lambda document: document.id)
        Random(seed).shuffle(documents)
        fresh = build(folder / "fresh.rprs", documents, batch=10_000, vectors=vectors)
        assert rankings(folder / "history.rprs") == rankings(fresh)
        with Index(fresh) as one, Index(folder / "history.rprs") as other:
            assert one.fingerprint == other.fingerprint
            assert one.ids == sorted(expected)
            assert [one.document(id) for id in one.ids] == [expected[id] for id in one.ids]


@settings(max_examples=12)
@given(history=st.lists(steps, min_size=1, max_size=5), vectors=st.sampled_from(VECTOR_TYPES))
@pytest.mark.slow
def test_any_history_refitted_ranks_as_an_index_fitted_at_once(history: list[Any], vectors: VectorType) -> None:
    plug_in()
    with memory_folder() as folder, small_pieces():
        first = ("add", COLLECTION[:5], 100)
        expected = play(folder / "history.rprs", [first, *history], "learned", vectors)
        with Writer(folder / "history.rprs") as opened:
            opened.refit()
        assert verify(folder / "history.rprs") == []
        fresh = build(folder / "fresh.rprs", list(reversed(expected.values())), "learned", vectors=vectors)
        assert rankings(folder / "history.rprs") == rankings(fresh)


# ---------------------------------------------------------------------------- adding


def test_unchanged_documents_are_skipped_and_changed_ones_replaced(folder: Path) -> None:
    path = build(folder / "a.rprs", COLLECTION, batch=10_000)
    with Writer(path) as opened:
        assert opened.add(COLLECTION) == Added(unchanged=len(COLLECTION))
        assert len(opened.catalog.segments()) == 1
        changed = opened.add([invented("d01", 1, 3), COLLECTION[2], invented("new", 0, 3)])
        assert (changed.added, changed.changed, changed.unchanged) == (1, 1, 1)
    with Index(path) as index:
        assert index.ids == sorted([*(document.id for document in COLLECTION), "new"])
        assert index.document("d01") == invented("d01", 1, 3)
        assert index.same_content(COLLECTION[1]) == []


def test_a_new_title_or_new_metadata_are_stored_without_encoding_again(folder: Path) -> None:
    path = build(folder / "a.rprs", COLLECTION)
    files = sorted((path / "segments").rglob("*.npy"))
    renamed = [Document(d.id, d.text, "Another", {"court": "ca9", "odd": float("nan")}) for d in COLLECTION]
    with Writer(path) as opened:
        assert opened.add(renamed) == Added(changed=len(COLLECTION))
        assert opened.add(renamed) == Added(unchanged=len(COLLECTION))
        reordered = [Document(d.id, d.text, d.title, dict(reversed([*d.metadata.items()]))) for d in renamed]
        assert opened.add(reordered) == Added(unchanged=len(COLLECTION))
        assert opened.add([COLLECTION[0], renamed[0]]) == Added(changed=1)
    assert sorted((path / "segments").rglob("*.npy")) == files
    assert verify(path) == []
    with Index(path) as index:
        assert index.document("d00").title == "Another"
        assert index.document("d00").metadata == {"court": "ca9", "odd": None}
        assert index.select("court = ca9").all()


def test_if_an_id_occurs_twice_the_last_document_counts(folder: Path) -> None:
    first, second = invented("twin", 0, 3), invented("twin", 1, 3)
    for name, batch in (("one", 10_000), ("each", 1)):
        path = build(folder / name, [first, invented("other", 0, 2), second], batch=batch)
        with Index(path) as index:
            assert index.ids == ["other", "twin"]
            assert index.document("twin") == second
        with Writer(path, batch=batch) as opened:
            opened.add([first, second])
        with Index(path) as index:
            assert index.document("twin") == second
        assert verify(path) == []


def test_a_document_without_sentences_is_kept(folder: Path) -> None:
    blank, full = Document("blank", " \n ", "Empty"), invented("full", 0, 3)
    path = build(folder / "a.rprs", [blank, full])
    with Index(path) as index:
        assert index.ids == ["blank", "full"]
        assert len(index.sentences("blank")) == 0
        assert index.document("blank") == blank
        assert index.mean_sentences == index.sentence_counts[1] / 2
    nothing = build(folder / "b.rprs", [blank])
    with Writer(nothing) as opened:
        opened.remove(["blank"])
        opened.compact()
        assert opened.add([full]).added == 1
    assert verify(nothing) == []
    assert rankings(nothing) == rankings(build(folder / "c.rprs", [full]))


def test_an_empty_index_opens(folder: Path) -> None:
    path = build(folder / "a.rprs", [])
    with Index(path) as index:
        assert (len(index), index.mean_sentences, index.ids) == (0, 0.0, [])
    assert verify(path) == []
    with Writer(path) as opened:
        opened.compact()
        assert opened.remove(["nobody"]) == 0


def test_many_segments_are_compacted_automatically(folder: Path) -> None:
    path = folder / "a.rprs"
    with Writer(path, create=True, encoder=HASHED, batch=1) as opened:
        opened.add(invented(f"d{number}", 0, 1) for number in range(writer.MANY_SEGMENTS + 1))
        assert len(opened.catalog.segments()) == 1
    assert verify(path) == []


def test_compaction_keeps_segments_small_and_large_ones_as_they_are(folder: Path) -> None:
    path = folder / "a.rprs"
    documents = [invented(f"d{number:02d}", number % 3, 2) for number in range(23)]
    with patch.object(writer, "MOST_DOCUMENTS", 5), Writer(path, create=True, encoder=HASHED, batch=1) as opened:
        opened.add(documents[:12])
        opened.compact()
        assert [row.documents for row in opened.catalog.segments()] == [5, 5, 2]
        kept = [row.number for row in opened.catalog.segments()[:2]]
        opened.add(documents[12:20])
        opened.compact()
        assert [row.documents for row in opened.catalog.segments()] == [5, 5, 5, 5]
        assert [row.number for row in opened.catalog.segments()[:2]] == kept
        opened.remove(["d03"])
        opened.compact()
        assert sorted(row.documents for row in opened.catalog.segments()) == [4, 5, 5, 5]
        assert verify(path) == []
    with Writer(path) as opened, patch.object(writer, "MOST_DOCUMENTS", 100):
        opened.compact()
        assert [row.documents for row in opened.catalog.segments()] == [19]
    with Writer(path) as opened, patch.object(writer, "MOST_DOCUMENTS", 6):  # what is too large is divided
        opened.add(documents[20:])
        opened.compact()
        assert [row.documents for row in opened.catalog.segments()] == [6, 6, 6, 4]
    assert verify(path) == []
    with Index(path) as index, Index.in_memory([d for d in documents if d.id != "d03"], encoder=HASHED) as one:
        for query in documents[:4]:
            left, right = (Searcher(each).rank(query) for each in (index, one))
            assert (left.ids, left.scores.tobytes()) == (right.ids, right.scores.tobytes())


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (Document("", "No id."), "without an id"),
        (Document("a", "Half a pair: \ud800."), "'a' is not valid Unicode"),
        (Document("a", "Text.", "\ud800"), "'a' is not valid Unicode"),
        (Document("a", "Text.", metadata={"path": "caf\udce9.txt"}), "'a' is not valid Unicode"),
    ],
)
def test_a_document_that_cannot_be_stored_is_refused_in_one_line(
    folder: Path, document: Document, message: str
) -> None:
    with Writer(folder / "a.rprs", create=True, encoder=HASHED) as opened:
        with pytest.raises(ReadError, match=message) as caught:
            opened.add([invented("before"), document])
        assert "\n" not in str(caught.value)
        assert opened.add([invented("after")]).added == 1
    assert verify(folder / "a.rprs") == []


@pytest.mark.parametrize("text", ["nul \0 in it. And on.", "😀 astral 𝒳 words. Combining é.", "法律。判決。"])
def test_unusual_characters_survive(folder: Path, text: str) -> None:
    document = Document(f"id\0{text}", text, text, {text: text})
    path = build(folder / "a.rprs", [document])
    assert verify(path) == []
    with Index(path) as index:
        assert index.document(document.id) == document
        assert index.sentences(document.id).texts(text) == index.splitter.split(text).texts(text)


# ---------------------------------------------------------------------------- removing, compacting, refitting


def test_removed_documents_are_erased_from_the_files(folder: Path) -> None:
    text = "Zanzibarian confidences about the harbour pilot. " * 400
    secret = Document("secret", text, "Undisclosable", {"k": "Hushed"})
    path = build(folder / "a.rprs", [*COLLECTION, secret], batch=10_000)
    with Writer(path) as opened:
        opened.remove(["secret"])
        opened.compact()
        freed = opened.catalog.one("PRAGMA freelist_count")
    assert freed == 0
    rest = b"".join(file.read_bytes() for file in path.rglob("*") if file.is_file()).lower()
    for word in (b"zanzibar", b"undisclos", b"hushed"):
        assert word not in rest
    assert rankings(path) == rankings(build(folder / "b.rprs", COLLECTION))


def test_terms_with_the_same_hash_are_distinguished(folder: Path) -> None:
    """Terms are compared byte by byte. Norms of the cosine are summed in the order of hashes, so they may differ."""
    honest = build(folder / "a.rprs", COLLECTION, phrases=False)
    complete = rankings(honest, norms=False)
    with Writer(honest) as opened:
        opened.remove(["d03"])
    without = rankings(honest, norms=False)

    def few(term: bytes) -> int:
        return len(term) % 3

    tables: dict[str, Any] = {"_digests": terms._Digests(), "_vocabulary": terms._Vocabulary(), "hash_term": few}
    with patch.object(segment, "hash_term", few), patch.multiple(terms, **tables), small_pieces():
        colliding = build(folder / "b.rprs", COLLECTION, phrases=False)
        assert rankings(colliding, norms=False) == complete
        with Writer(colliding) as opened:
            opened.remove(["d03"])
            opened.compact()
        assert rankings(colliding, norms=False) == without


def test_removed_documents_do_not_count_in_the_statistics(folder: Path) -> None:
    """By hand: three documents of 2, 2 and 4 words; without the last, every mean is that of the first two."""
    path = folder / "a.rprs"
    texts = {"a": "Wheat mill", "b": "Wheat river", "c": "Wheat wheat barley barley"}
    with Writer(path, create=True, encoder=HASHED, analyzer="words(language=none)") as opened:
        opened.add(Document(id, text) for id, text in texts.items())
        opened.remove(["c"])
    with Index(path) as index:
        assert index.lengths.tolist() == [2, 2]
        rsj = np.log1p((2 - 1 + 0.5) / (1 + 0.5))  # one of two documents has the term
        scores = BM25(k1=1.2, b=0.75).scores(Document("q", "mill barley"), index)
        assert scores.tolist() == [rsj * 1 / (1 + 1.2), 0.0]


def test_refit_needs_a_fitted_encoder_and_documents(folder: Path) -> None:
    plug_in()
    with Writer(build(folder / "a.rprs", COLLECTION)) as opened, pytest.raises(UsageError, match="not fitted to a"):
        opened.refit()
    with Writer(build(folder / "b.rprs", [], "learned")) as opened, pytest.raises(UsageError, match="add some first"):
        opened.refit()


def test_a_small_collection_uses_the_teacher_until_it_has_grown(folder: Path) -> None:
    plug_in()
    path = build(folder / "a.rprs", COLLECTION[:1], "learned")
    with Writer(path) as opened:
        assert opened.catalog.rows("SELECT spec FROM encoders") == [("hashed(dimension=16)",)]
        opened.add(COLLECTION)
        assert opened.catalog.rows("SELECT spec FROM encoders") == [("hashed(dimension=16)",)]
        opened.refit()
        assert opened.catalog.rows("SELECT generation, report FROM encoders") == [(2, '{"sentences": 12}')]
        assert opened.add([invented("later", 0, 4)]).added == 1
    assert verify(path) == []


def test_the_default_kind_of_encoder_after_a_history_and_at_once(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path / "cache"))
    teacher = make_bert(tmp_path / "tiny", positions=64)
    encoder = f'fitted(teacher=onnx(model="{teacher}",precision=fp32),sample=100)'
    documents = [invented(f"d{number}", 0, 8) for number in range(40)]
    path = build(folder / "history.rprs", documents[10:], encoder, batch=2000)
    with Index(path) as index:
        assert len(index.segments) > 3
    with Writer(path, batch=2000) as opened:
        assert opened.catalog.one("SELECT spec FROM encoders").startswith("fitted(")
        opened.remove(["d39", "d12"])
        opened.add([documents[12], *documents[:10]])
        opened.refit()
        opened.remove(["nobody"])
        opened.compact()
    assert verify(path) == []
    assert rankings(path) == rankings(build(folder / "fresh.rprs", documents[:39], encoder))


# ---------------------------------------------------------------------------- snapshots


def test_a_reader_keeps_its_snapshot_whatever_a_writer_does(folder: Path) -> None:
    plug_in()
    path = build(folder / "a.rprs", COLLECTION, "learned")
    before = rankings(path)
    with Index(path) as old:
        assert old.encoder.dimension == 16
        texts = [old.document(id) for id in old.ids]
        vectors = [old.sentences(id).vectors.copy() for id in old.ids]
        with Writer(path) as opened:
            opened.remove(["d00", "d01"])
            opened.add([invented("d02", 1, 5), invented("new", 0, 6)])
            opened.compact()
            opened.refit()
            opened.add([invented("newer", 0, 2)])
        assert len(list((path / "segments").iterdir())) == 2
        with patch("tests.support.crash.Index", lambda _path: _Borrowed(old)):
            assert rankings(path) == before
        assert [old.document(id) for id in old.ids] == texts
        for id, rows in zip(old.ids, vectors, strict=True):
            assert np.array_equal(old.sentences(id).vectors, rows)
    assert rankings(path) != before


class _Borrowed:
    """An index that stays open after the `with` block it is used in."""

    def __init__(self, index: Index) -> None:
        self.index = index

    def __enter__(self) -> Index:
        return self.index

    def __exit__(self, *_: object) -> None:
        pass


def test_a_reader_that_loads_its_encoder_after_a_refit_says_so(folder: Path) -> None:
    plug_in()
    path = build(folder / "a.rprs", COLLECTION, "learned")
    with Index(path) as old:
        with Writer(path) as opened:
            opened.refit()
        with pytest.raises(Exception, match="open the index again if it was refitted meanwhile"):
            old.encode(COLLECTION[0])
