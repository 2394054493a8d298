"""The values that everything else passes around."""

from __future__ import annotations

import dataclasses
import hashlib
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs.document import Candidates, Document, Neighbours, Ranking, Sentences


def sentences(*spans: tuple[int, int]) -> Sentences:
    where = np.array(spans, dtype=np.int64).reshape(-1, 2)
    return Sentences(where, np.zeros(len(spans), dtype=np.int32))


def test_content_hash_is_sha256_of_the_text_alone() -> None:
    lease = Document("a", "The tenant pays.", title="Lease", metadata={"year": 2015})
    assert lease.content_hash == hashlib.sha256(b"The tenant pays.").hexdigest()
    assert Document("b", "The tenant pays.").content_hash == lease.content_hash
    assert Document("a", "The tenant paid.").content_hash != lease.content_hash


def test_content_hash_of_the_known_empty_text() -> None:
    assert Document("x", "").content_hash == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@given(st.text(st.characters(exclude_categories=()), max_size=40))
def test_content_hash_takes_any_text(text: str) -> None:
    """Half a surrogate pair, as a broken file gives it, has a hash too."""
    assert len(Document("x", text).content_hash) == 64


def test_a_document_is_a_frozen_hashable_value() -> None:
    first = Document("a", "Text.", metadata={"court": "Aberdeen"})
    assert first == Document("a", "Text.", metadata={"court": "Aberdeen"})
    assert first != Document("a", "Text.", metadata={"court": "Leeds"})
    assert len({first, Document("a", "Text.", metadata={"court": "Leeds"})}) == 2
    assert hash(first) == hash(Document("a", "Text.", metadata={"court": "Leeds"}))
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.text = "Other."  # type: ignore[misc]


def test_documents_without_metadata_share_nothing() -> None:
    assert Document("a", "").metadata == {}
    assert Document("a", "").metadata is not Document("a", "").metadata


@pytest.mark.parametrize("document", [Document("a", "Text."), Document("b", "Text.", "Title", {"year": 2015})])
def test_a_document_crosses_to_another_process(document: Document) -> None:
    assert pickle.loads(pickle.dumps(document)) == document


def test_sentences_slice_back_to_the_text() -> None:
    text = "First one.  Then — «zwei»! 🙂 three"
    found = sentences((0, 10), (12, 26), (27, 34))
    assert found.texts(text) == ["First one.", "Then — «zwei»!", "🙂 three"]
    assert len(found) == 3


def test_no_sentences() -> None:
    assert len(sentences()) == 0
    assert sentences().texts("") == []


def test_neighbours_know_their_documents() -> None:
    """Candidates of 2, 0, 3 and 1 sentences: the pool is 0 0 2 2 2 3."""
    neighbours = Neighbours(
        similarity=np.array([[0.9, 0.5, 0.1], [0.8, 0.8, 0.8]], dtype=np.float32),
        sentence=np.array([[1, 2, 5], [0, 3, 4]], dtype=np.int64),
        offsets=np.array([0, 2, 2, 5, 6], dtype=np.int64),
    )
    assert neighbours.document.tolist() == [[0, 2, 3], [0, 2, 2]]
    assert neighbours.document.dtype == np.int64


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12).filter(sum))
def test_every_sentence_of_the_pool_has_the_document_that_holds_it(lengths: list[int]) -> None:
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    pool = np.arange(offsets[-1], dtype=np.int64)[None, :]
    neighbours = Neighbours(np.zeros(pool.shape, dtype=np.float32), pool, offsets)
    assert neighbours.document[0].tolist() == [d for d, length in enumerate(lengths) for _ in range(length)]


def test_rankings_and_candidates_are_plain_values() -> None:
    ranking = Ranking(("b", "a"), np.array([2.0, 1.0]))
    assert len(ranking) == 2
    assert dict(ranking.parts) == {}
    assert ranking.neighbours is None
    shorter = dataclasses.replace(Candidates(ranking, [sentences((0, 1))] * 2, 1.0), mean_sentences=7.5)
    assert shorter.ranking is ranking
    assert shorter.mean_sentences == 7.5
