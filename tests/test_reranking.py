"""`rprs.rerank`: all given documents, in the order of a search over them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rprs
from rprs import Document, Index, Searcher, UsageError
from rprs.spec import DEFAULT
from tests.support.crash import COLLECTION, HASHED, QUERIES, invented

TEXTS = ["The landlord repairs the roof.", "Rent is due in advance. The tenant pays rent.", "Zebras graze.", ""]
QUERY = "The tenant pays rent each month."


def test_all_documents_are_ranked_with_scores_and_evidence() -> None:
    results = rprs.rerank(QUERY, TEXTS, encoder=HASHED)
    assert sorted(hit.id for hit in results) == ["0", "1", "2", "3"]
    assert results.candidates == 4
    scores = [hit.score for hit in results]
    assert scores == sorted(scores, reverse=True)
    assert results[-1].id == "3"  # without sentences
    hit = next(hit for hit in results if hit.id == "1")
    assert (hit.pairs[0].query, hit.pairs[0].document) == ("The tenant pays rent", "The tenant pays rent.")


def test_k_and_pairs_limit_the_results() -> None:
    everything = rprs.rerank(QUERY, TEXTS, encoder=HASHED)
    top = rprs.rerank(QUERY, TEXTS, encoder=HASHED, k=2, pairs=0)
    assert [hit.id for hit in top] == [hit.id for hit in everything[:2]]
    assert all(not hit.pairs for hit in top)


@pytest.mark.parametrize("system", ["rprs", "rprs(n=3,k1=0)", "soft", "sdr", "maxsim", "meanpool", "fuse(first,rprs)"])
def test_scores_are_those_of_a_search_over_the_same_documents(system: str) -> None:
    with rprs.Index.in_memory(COLLECTION, encoder=HASHED) as index:
        search_results = rprs.Searcher(index, rerank=system).search(QUERIES[0], len(COLLECTION), keep_self=True)
    assert len(search_results) == len(COLLECTION)  # each shares a word with the query
    results = rprs.rerank(QUERIES[0], COLLECTION, encoder=HASHED, rerank=system)
    assert results.hits == search_results.hits


@settings(max_examples=20)
@given(order=st.permutations(range(6)))
def test_the_order_given_does_not_matter_where_all_share_a_word(order: list[int]) -> None:
    results = rprs.rerank(QUERIES[1], [COLLECTION[number] for number in order], encoder=HASHED)
    assert results.hits == rprs.rerank(QUERIES[1], COLLECTION[:6], encoder=HASHED).hits


def test_documents_without_a_common_word_follow_in_the_order_given() -> None:
    texts = {"z": "Zebras graze.", "m": QUERY, "a": "Owls hoot."}
    results = rprs.rerank(QUERY, texts, encoder=HASHED, rerank=None)
    assert [(hit.id, hit.first_rank) for hit in results] == [("m", 1), ("z", 2), ("a", 3)]
    assert [hit.score for hit in results[1:]] == [0.0, 0.0]


def test_another_first_stage_is_used_where_one_is_chosen() -> None:
    results = rprs.rerank(QUERIES[0], COLLECTION, encoder=HASHED, first="meanpool", rerank=None)
    with rprs.Index.in_memory(COLLECTION, encoder=HASHED) as index:
        search_results = rprs.Searcher(index, first="meanpool", rerank=None).search(QUERIES[0], 9)
    assert [(hit.id, hit.score) for hit in results] == [(hit.id, hit.score) for hit in search_results]


def test_the_query_itself_is_not_left_out() -> None:
    query = invented("q", 0, 4)
    assert rprs.rerank(query, [query, *COLLECTION], encoder=HASHED, rerank="sdr")[0].id == "q"


@pytest.mark.parametrize(
    "documents",
    [
        {"a": TEXTS[0], "b": TEXTS[1]},
        [{"id": "a", "text": TEXTS[0], "year": 2015}, {"id": "b", "text": TEXTS[1]}],
        [Document("a", TEXTS[0]), Document("b", TEXTS[1])],
    ],
)
def test_documents_keep_their_ids(documents: Any) -> None:
    assert {hit.id for hit in rprs.rerank(QUERY, documents, encoder=HASHED)} == {"a", "b"}


def test_a_list_holds_texts_even_where_they_look_like_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lease.txt").write_text("Something else.")
    monkeypatch.chdir(tmp_path)
    results = rprs.rerank("The lease.txt file.", ["lease.txt", "missing.txt"], encoder=HASHED, rerank="rprs")
    with Index.in_memory({"0": "lease.txt", "1": "missing.txt"}, encoder=HASHED) as index:
        expected = Searcher(index, rerank="rprs").search("The lease.txt file.")
    assert {hit.id: hit.score for hit in expected}.items() <= {hit.id: hit.score for hit in results}.items()


def test_no_documents_give_no_hits() -> None:
    assert len(rprs.rerank(QUERY, [], encoder=HASHED)) == 0


def test_components_may_be_given_instead_of_their_texts() -> None:
    from rprs.encode.hashed import Hashed

    results = rprs.rerank(QUERIES[0], COLLECTION, encoder=Hashed(16), rerank=rprs.RPRS(n=3), first=rprs.BM25())
    texts = rprs.rerank(QUERIES[0], COLLECTION, encoder=HASHED, rerank="rprs(n=3)", first="bm25")
    assert results.hits == texts.hits


def test_the_encoder_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from rprs.encode.hashed import Hashed

    loads: list[Hashed] = []
    load = Hashed.load

    def counted(component: Hashed, *arguments: Any) -> Any:
        loads.append(component)
        return load(component, *arguments)

    monkeypatch.setattr(Hashed, "load", counted)
    for encoder in ("hashed(dimension=40)", "hashed(dimension=40)", "hashed(dimension=48)"):
        rprs.rerank(QUERY, TEXTS, encoder=encoder)
    assert loads == [Hashed(40), Hashed(48)]


@pytest.mark.parametrize(
    ("query", "documents", "options", "message"),
    [
        (5, TEXTS, {}, "A query is a text"),
        (QUERY, 5, {}, "Expected a path, a list of texts"),
        (QUERY, "cases/", {}, r"read files with rprs.read_all\(path\)"),
        (QUERY, [5], {}, "Item 0 must be"),
        (QUERY, [{"title": "Untitled"}], {}, "text"),
        (QUERY, [Document("a", "One."), Document("a", "Two.")], {}, "Documents 0 and 1 have the same id"),
        (QUERY, TEXTS, {"k": -1}, "k must be an integer"),
        (QUERY, TEXTS, {"k": "3"}, "k must be an integer"),
        (QUERY, TEXTS, {"pairs": None}, "pairs must be an integer"),
        (QUERY, TEXTS, {"encoder": 5}, "The encoder must be a text"),
        (QUERY, TEXTS, {"splitter": ["tokens"]}, "The splitter must be a text"),
        (QUERY, TEXTS, {"analyzer": rprs.RPRS()}, "The analyzer must be a text"),
        (QUERY, TEXTS, {"vectors": "float64"}, "vectors must be float16 or float32. Got 'float64' instead."),
        (QUERY, TEXTS, {"rerank": 5}, "5 is not a re-ranker"),
        (QUERY, TEXTS, {"rerank": "rprz"}, "did you mean 'rprs'"),
        (QUERY, TEXTS, {"first": "birch"}, "no ranker named 'birch'"),
        (QUERY, TEXTS, {"progress": "yes"}, "progress must be True, False or a callable"),
    ],
)
def test_a_wrong_argument_is_one_line(query: Any, documents: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        rprs.rerank(query, documents, **{"encoder": HASHED, **options})
    assert "\n" not in str(caught.value)


def test_few_sentences_are_compared_with_fewer_neighbours() -> None:
    """With n = 5, every sentence of so few would be among the nearest of every other."""
    texts = {"lease": "The landlord heats the flat. Rent is due each month.", "cargo": "The fish thawed on the ship."}
    query = "The landlord heats no flat."
    results = rprs.rerank(query, texts, encoder="hashed")
    assert [hit.id for hit in results] == ["lease", "cargo"]
    assert (results[0].pairs[0].document, results[1].dp, results[1].pairs) == ("The landlord heats the flat.", 0, ())
    default = DEFAULT["reranker"]
    fewer = default.replace("rprs(", "rprs(n=1,")
    assert results.hits == rprs.rerank(query, texts, encoder="hashed", rerank=fewer).hits
    assert results.hits != rprs.rerank(query, texts, encoder="hashed", rerank=default).hits
    many = [" ".join(f"Sentence {number} of text {text}." for number in range(10)) for text in range(6)]
    assert (
        rprs.rerank(query, many, encoder="hashed").hits
        == rprs.rerank(query, many, encoder="hashed", rerank=default).hits
    )
