"""The values that all parts of the package exchange."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import pickle
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs.document import Candidates, Document, Neighbours, Ranking, Sentences, Value
from rprs.errors import UsageError


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
def test_content_hash_accepts_any_text(text: str) -> None:
    """Even half a surrogate pair, as read from a broken file."""
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
def test_a_document_can_be_pickled(document: Document) -> None:
    assert pickle.loads(pickle.dumps(document)) == document


# ---------------------------------------------------------------------------- values that are accepted


class Court(enum.StrEnum):
    NINTH = "ca9"


@pytest.mark.parametrize(("id", "text"), [("a", "a"), (7, "7"), (np.int64(-3), "-3"), (np.str_("x"), "x"), (0, "0")])
def test_ids_are_text_or_integers(id: Any, text: str) -> None:
    document = Document(id, "Text.")
    assert document.id == text
    assert type(document.id) is str


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (2015, 2015),
        (True, True),
        (None, None),
        (np.float32(0.5), 0.5),
        (np.int16(7), 7),
        (np.bool_(False), False),
        (np.str_("ca9"), "ca9"),
        (Court.NINTH, "ca9"),
        (date(2016, 1, 31), "2016-01-31"),
        (datetime(2016, 1, 31, 12, 30, tzinfo=UTC), "2016-01-31T12:30:00+00:00"),
        (np.datetime64("2016-01-31"), "2016-01-31"),
        (np.datetime64("NaT"), None),
    ],
)
def test_metadata_become_plain_values(value: Any, stored: object) -> None:
    (kept,) = Document("a", "Text.", metadata={"field": value}).metadata.values()
    assert kept == stored
    assert type(kept) is type(stored)


def test_metadata_of_plain_values_are_kept_as_they_are() -> None:
    metadata: dict[str, Value] = {"court": "ca9", "pages": 3, "score": float("nan"), "open": True, "note": None}
    assert Document("a", "Text.", metadata=metadata).metadata is metadata


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((None, "Text."), "The id of a document must be a string or an integer. Got None"),
        ((1.5, "Text."), "The id of a document must be a string or an integer. Got 1.5"),
        ((True, "Text."), "The id of a document must be a string or an integer. Got True"),
        ((["a"], "Text."), r"The id of a document must be a string or an integer. Got \['a'\]"),
        (("a", None), "The text of the document 'a' must be a string. Got None"),
        (("a", b"bytes"), "The text of the document 'a' must be a string. Got b'bytes'"),
        (("a", "Text.", None), "The title of the document 'a' must be a string. Got None"),
        (("a", "Text.", "", None), "The metadata of the document 'a' must be a dict. Got None"),
        (("a", "Text.", "", ["x"]), r"The metadata of the document 'a' must be a dict. Got \['x'\]"),
        (("a", "Text.", "", {3: "x"}), "The metadata fields of the document 'a' must have names. Got 3"),
        (("a", "Text.", "", {"f": ["x"]}), r"The metadata field 'f' of the document 'a' must be text.* Got \['x'\]"),
        (("a", "Text.", "", {"f": Decimal(1)}), "The metadata field 'f' of the document 'a' must be text, a number"),
        (("a", "Text.", "", {"f": np.arange(2)}), "The metadata field 'f' of the document 'a' must be text"),
        (("a", "Text.", "", {"f": np.complex64(1)}), "The metadata field 'f' of the document 'a' must be text"),
        (("a", "Text.", "", {"f": object}), "The metadata field 'f' of the document 'a' must be text"),
    ],
)
def test_other_values_are_one_line_that_names_the_field_and_the_value(values: tuple[Any, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        Document(*values)
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------------------- representations


def test_the_repr_of_a_document_is_short() -> None:
    assert repr(Document("a", "Short.")) == "Document('a', 'Short.')"
    long = Document("a", "word " * 10_000, "Lease", {"court": "ca9", "year": 2015})
    words = "word " * 11 + "word"
    assert repr(long) == f"Document('a', '{words}…' (50,000 characters), title='Lease', metadata=court, year)"


def test_a_notebook_shows_title_id_metadata_and_the_beginning_of_the_text() -> None:
    html = Document("a<b", "<script>alert(1)</script> " * 100, "Lease & Co", {"court": "<ca9>"})._repr_html_()
    assert "<strong>Lease &amp; Co</strong> <code>a&lt;b</code>, 2,600 characters" in html
    assert "<tr><th>court</th><td>&lt;ca9&gt;</td></tr>" in html
    assert "<script>" not in html
    assert html.count("alert(1)") == 38
    assert Document("a", "Text.")._repr_html_().startswith("<div><strong>a</strong>")


# ---------------------------------------------------------------------------- sentences, neighbours, rankings


def test_sentences_slice_back_to_the_text() -> None:
    text = "First one.  Then — «zwei»! 🙂 three"
    parts = sentences((0, 10), (12, 26), (27, 34))
    assert parts.texts(text) == ["First one.", "Then — «zwei»!", "🙂 three"]
    assert len(parts) == 3


def test_no_sentences() -> None:
    assert len(sentences()) == 0
    assert sentences().texts("") == []


def test_neighbours_have_the_documents_of_their_sentences() -> None:
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
