"""Results as JSON and back: nothing is lost, bit by bit, whatever the re-ranker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from rprs import __version__
from rprs.document import Document
from rprs.index import Index
from rprs.results import serialize
from rprs.search import Searcher
from tests.support.indexes import built

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
    with built(DOCUMENTS) as made:
        yield made


def sent(value: dict[str, Any]) -> Any:
    """Over a wire and back."""
    return json.loads(json.dumps(value, allow_nan=False))


@pytest.mark.parametrize("rerank", ["rprs", "sdr", "birch", "maxsim", None])
def test_results_come_back_as_they_were(index: Index, rerank: str | None) -> None:
    results = Searcher(index, rerank=rerank).search(QUERY, where="year < 2003")
    assert len(results) == 3
    assert serialize.results_from(sent(serialize.results_object(results, QUERY.id))) == results


def test_an_explanation_comes_back_as_it_was(index: Index) -> None:
    found = Searcher(index).explain(QUERY, "d1")
    back = serialize.explanation_from(sent(serialize.explanation_object(found, 3)), QUERY, index.document("d1"))
    assert back == found
    assert len(found.hit.pairs) > 1


def test_what_is_not_a_number_is_null_and_comes_back(index: Index) -> None:
    outside = Searcher(index, depth=1).explain(QUERY, "d2")
    told = sent(serialize.explanation_object(outside, 3))
    assert told["first_score"] is None
    back = serialize.explanation_from(told, QUERY, index.document("d2"))
    assert back.hit.first_score != back.hit.first_score
    assert replace(back, hit=replace(back.hit, first_score=0.0)) == replace(
        outside, hit=replace(outside.hit, first_score=0.0)
    )


def test_what_a_search_depends_on(index: Index) -> None:
    searcher = Searcher(index, rerank="rprs(n=3)", depth=7)
    about = searcher.about(QUERY, 5, where="year < 2003", keep_self=True)
    assert (about.version, about.index, about.documents) == (__version__, "made.rprs", 4)
    assert (about.first, about.rerank, about.depth, about.k) == ("bm25", "rprs(n=3)", 7, 5)
    assert (about.fingerprint, about.query_hash) == (index.fingerprint, QUERY.content_hash)
    assert serialize.about_from(sent(about.object())) == about
