"""Results as JSON and back: exact for every re-ranker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from rprs import Alignment, __version__
from rprs.document import Document, Sentences
from rprs.index import Index
from rprs.results import serialize
from rprs.search import Searcher
from tests.support.indexes import index_of

TEXTS = [
    "The tenant paid the rent late. The landlord kept the deposit. A court was asked.",
    "The deposit was kept by the landlord. The rent was paid late by the tenant. 𝔘nder protest 🙂.",
    "A river flooded the fields. The dam gave way. Nobody paid.",
    "The court was asked about the dam. The landlord of the fields paid.",
]
DOCUMENTS = [
    Document(f"d{number}", text, f"Title {number}", {"year": 2000 + number}) for number, text in enumerate(TEXTS)
]
QUERY = Document(
    "query", "The landlord kept the deposit. The tenant had paid the rent. Bread is baked at dawn.", "Mine"
)


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    with index_of(DOCUMENTS) as index:
        yield index


def round_trip(value: dict[str, Any]) -> Any:
    """To JSON and back."""
    return json.loads(json.dumps(value, allow_nan=False))


def sentences(alignment: Alignment) -> tuple[Sentences, Sentences]:
    return alignment.query_sentences, alignment.document_sentences


@pytest.mark.parametrize("rerank", ["rprs", "sdr", "birch", "maxsim", None])
def test_results_are_read_back_exactly(index: Index, rerank: str | None) -> None:
    results = Searcher(index, rerank=rerank).search(QUERY, where="year < 2003")
    assert len(results) == 3
    assert serialize.results_from(round_trip(serialize.results_object(results, QUERY.id))) == results


def test_an_explanation_is_read_back_exactly(index: Index) -> None:
    explanation = Searcher(index).explain(QUERY, "d1")
    values = round_trip(serialize.explanation_object(explanation))
    back = serialize.explanation_from(values, QUERY, index.document("d1"), sentences(explanation.alignment))
    assert back == explanation
    assert explanation.hit.pairs


def test_an_alignment_is_read_back_exactly(index: Index) -> None:
    alignment = Searcher(index).align(QUERY, "d1")
    values = round_trip(serialize.alignment_object(alignment))
    assert serialize.alignment_from(values, QUERY, index.document("d1"), sentences(alignment)) == alignment
    assert values["query_coverage"]["share"] == alignment.query_coverage.share > 0
    assert values["document_uncovered"] == [
        {"span": [*span], "text": alignment.document.text[slice(*span)]} for span in alignment.document_unmatched
    ]


def test_nan_is_written_as_null_and_read_back(index: Index) -> None:
    outside = Searcher(index, depth=1).explain(QUERY, "d2")
    values = round_trip(serialize.explanation_object(outside))
    assert values["first_score"] is None
    back = serialize.explanation_from(values, QUERY, index.document("d2"), sentences(outside.alignment))
    assert back.hit.first_score != back.hit.first_score
    assert replace(back, hit=replace(back.hit, first_score=0.0)) == replace(
        outside, hit=replace(outside.hit, first_score=0.0)
    )


def test_the_provenance_of_a_search(index: Index) -> None:
    searcher = Searcher(index, first="bm25", rerank="rprs(n=3)", depth=7)
    about = searcher.about(QUERY, 5, where="year < 2003", keep_self=True)
    assert (about.version, about.index, about.documents) == (__version__, "made.rprs", 4)
    assert (about.first, about.rerank, about.depth, about.k) == ("bm25", "rprs(n=3)", 7, 5)
    assert (about.fingerprint, about.query_hash) == (index.fingerprint, QUERY.content_hash)
    assert serialize.about_from(round_trip(about.object())) == about
