"""Searching with a whole document: exclusions, hits, and correct evidence."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from threading import Event, current_thread, main_thread
from time import sleep
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

from rprs.alignment.values import KINDS
from rprs.cli import evidence, output
from rprs.document import Candidates, Document, Ranking, Sentences, combine, query_documents
from rprs.errors import EmptyQuery, UsageError
from rprs.index import Index
from rprs.rank import BM25, RPRS
from rprs.rank.birch import Birch
from rprs.rank.fuse import First
from rprs.rank.stages import order_candidates
from rprs.results import serialize
from rprs.scoring.threads import cores
from rprs.scoring.vectors import to_grid
from rprs.search import Searcher
from rprs.spec import Component, Kind
from tests.support.indexes import documents, index_of
from tests.support.tales import QUERY, TALES, tale


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    with index_of(TALES[:11], TALES[11:]) as opened:
        yield opened


class Neighbour(NamedTuple):
    id: str
    query_span: tuple[int, int]
    span: tuple[int, int]
    similarity: float
    place: int


def nearest(index: Index, query: Document, pool: tuple[str, ...], n: int) -> list[Neighbour]:
    """R_n by brute force: all similarities, sorted, from sentences that were split and encoded anew."""
    sides = []
    for document in [query, *map(index.document, pool)]:
        spans = [(int(start), int(end)) for start, end in index.splitter.split(document.text).spans]
        vectors = to_grid(index.encoder.encode([document.text[start:end] for start, end in spans]))
        sides.append([(document.id, span, vector.astype(float)) for span, vector in zip(spans, vectors, strict=True)])
    query_side, sentences = sides[0], list(chain(*sides[1:]))
    neighbours = []
    for _, query_span, left in query_side:
        row = [(-float(left @ right), number) for number, (_, _, right) in enumerate(sentences)]
        for place, (similarity, number) in enumerate(sorted(row)[:n], 1):
            neighbours.append(
                Neighbour(sentences[number][0], query_span, sentences[number][1], min(-similarity, 1), place)
            )
    return neighbours


def overlap(span: tuple[int, int], other: tuple[int, int]) -> bool:
    return span[0] < other[1] and other[0] < span[1]


# ---------------------------------------------------------------------------- several documents


class TestSeveralDocuments:
    def test_equal_the_combined_document(self, index: Index) -> None:
        """Its sentences are those of each document in order; none crosses a border."""
        seeds = [TALES[4], QUERY, TALES[9]]
        joined = combine(seeds)
        assert joined.text == "\n\n".join(seed.text for seed in seeds)
        sentences = [text for seed in seeds for text in index.splitter.split(seed.text).texts(seed.text)]
        assert index.splitter.split(joined.text).texts(joined.text) == sentences
        searcher = Searcher(index)
        alone = searcher.search(joined, k=30, where="id != t04 and id != t09")
        assert replace(searcher.search(seeds, k=30), seconds={}) == replace(alone, seconds={})
        assert searcher.explain(seeds, "t17") == searcher.explain(joined, "t17", where="id != t04 and id != t09")

    def test_are_all_left_out(self, index: Index) -> None:
        seeds = [TALES[4], Document("copy", TALES[9].text)]
        ids = Searcher(index, depth=30).rank(seeds).ids
        assert not {"t04", "t09"} & set(ids)
        assert set(Searcher(index, depth=30).rank(seeds, keep_self=True).ids) == {*ids, "t04", "t09"}

    def test_one_is_itself(self, index: Index) -> None:
        assert combine([QUERY]) is combine(query_documents(QUERY)) is QUERY
        assert Searcher(index).search([QUERY])[0] == Searcher(index).search(QUERY)[0]

    def test_none_is_no_query(self, index: Index) -> None:
        with pytest.raises(EmptyQuery):
            Searcher(index).search([])


# ---------------------------------------------------------------------------- exclusions and filters


class TestTheQueryItself:
    def test_is_left_out_by_its_id(self, index: Index) -> None:
        newer = Document("t03", TALES[3].text + " Fog.")
        assert "t03" not in Searcher(index).rank(newer).ids

    def test_is_left_out_by_its_text(self, index: Index) -> None:
        assert "t03" not in Searcher(index).rank(Document("renamed.txt", TALES[3].text)).ids

    def test_all_copies_are_left_out(self) -> None:
        with index_of(documents(a="Fog hides the pier.", b="Fog hides the pier.", c="Fog hides the quay.")) as index:
            assert Searcher(index).rank(Document("c", "Fog hides the pier.")).ids == ()
            assert Searcher(index).rank(Document("x", "Fog hides the pier.")).ids == ("c",)

    def test_can_be_kept(self, index: Index) -> None:
        results = Searcher(index).search(Document("renamed.txt", TALES[3].text), keep_self=True)
        assert results[0].id == "t03"
        assert {pair.query for pair in results[0].pairs} == {pair.document for pair in results[0].pairs}
        assert all(1 >= pair.similarity > 0.999 for pair in results[0].pairs)

    def test_is_kept_beside_all_others(self, index: Index) -> None:
        searcher = Searcher(index, rerank=None)
        kept, left_out = searcher.rank(TALES[3], keep_self=True).ids, searcher.rank(TALES[3]).ids
        assert [id for id in kept if id != "t03"] == list(left_out)


class TestFilter:
    def test_only_documents_that_pass(self, index: Index) -> None:
        results = Searcher(index).search(QUERY, k=100, where="year < 1990")
        assert {hit.metadata["year"] for hit in results} == set(range(1980, 1990))

    def test_the_depth_is_filled_after_filtering(self, index: Index) -> None:
        results = Searcher(index, depth=5).search(QUERY, where="year >= 2000")
        assert results.candidates == len(results) == 5

    def test_nothing_passes(self, index: Index) -> None:
        assert list(Searcher(index).search(QUERY, where="year > 3000")) == []

    def test_filter_and_self(self, index: Index) -> None:
        assert "t03" not in Searcher(index).rank(TALES[3], where="year < 1985").ids


# ---------------------------------------------------------------------------- hits


class TestHits:
    def test_come_from_the_first_stage(self, index: Index) -> None:
        first = BM25(k1=2, b=0.3).rank(QUERY, index, 12, index.select(None))
        results = Searcher(index, first="bm25(k1=2,b=0.3)", depth=12).search(QUERY, k=12)
        places = {id: (place, score) for place, (id, score) in enumerate(zip(first.ids, first.scores, strict=True), 1)}
        assert {hit.id: (hit.first_rank, hit.first_score) for hit in results} == places
        assert [hit.rank for hit in results] == list(range(1, 13))
        assert [hit.id for hit in results] != list(first.ids)  # the re-ranker has done something

    def test_scores_are_those_of_the_counts(self, index: Index) -> None:
        """QP and DP from the neighbours found by brute force, with the average length of the collection."""
        n, k1, b, depth = 4, 1.5, 0.5, 12
        pool = BM25(k1=2.8, b=1.0).rank(QUERY, index, depth, index.select(None)).ids
        everything = nearest(index, QUERY, pool, n)
        query_length = len(index.splitter.split(QUERY.text))
        sizes = {document.id: len(index.splitter.split(document.text)) for document in TALES}
        results = Searcher(index, first="bm25", rerank=RPRS(n=n, k1=k1, b=b), depth=depth).search(QUERY, k=depth)
        for hit in results:
            saturation = k1 * (1 - b + b * sizes[hit.id] / (sum(sizes.values()) / len(sizes)))
            mine = [each for each in everything if each.id == hit.id]
            c = [sum(each.query_span == span for each in mine) for span in {each.query_span for each in mine}]
            f = [sum(each.span == span for each in mine) for span in {each.span for each in mine}]
            assert hit.qp == pytest.approx(sum(x / (x + saturation) for x in c) / query_length, rel=1e-12)
            assert hit.dp == pytest.approx(sum(x / (x + saturation) for x in f) / sizes[hit.id], rel=1e-12)
            assert hit.score == pytest.approx(hit.qp * hit.dp, rel=1e-12)
        assert [hit.score for hit in results] == sorted((hit.score for hit in results), reverse=True)

    def test_have_the_documents_of_the_index(self, index: Index) -> None:
        for hit in Searcher(index).search(QUERY):
            assert (hit.title, dict(hit.metadata)) == (TALES[int(hit.id[1:])].title, TALES[int(hit.id[1:])].metadata)

    def test_are_the_same_each_time(self, index: Index) -> None:
        assert Searcher(index).search(QUERY).hits == Searcher(index).search(QUERY).hits

    def test_do_not_depend_on_how_the_index_was_built(self, index: Index) -> None:
        shuffled = random.Random(5).sample(TALES, len(TALES))
        gone = Document("gone", QUERY.text + " Keel.")
        with index_of(shuffled) as one, index_of(*([tale] for tale in [*shuffled, gone]), removed=["gone"]) as many:
            expected = Searcher(index).search(QUERY, k=100)
            assert Searcher(one).search(QUERY, k=100).hits == expected.hits
            assert Searcher(one).explain(QUERY, "t07") == Searcher(index).explain(QUERY, "t07")
            # removing a document keeps the bar for the same idea, which was measured with it; ranks do not depend on it
            ranked = [(hit.rank, hit.id, hit.score, hit.parts) for hit in Searcher(many).search(QUERY, k=100)]
            assert ranked == [(hit.rank, hit.id, hit.score, hit.parts) for hit in expected]

    def test_of_an_indexed_document_are_those_of_its_text(self, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
        fresh = Searcher(index).search(Document("renamed.txt", TALES[3].text), k=100)

        def fail(*_: object) -> None:
            raise AssertionError("encoded again")

        monkeypatch.setattr(Index, "encode", fail)
        assert Searcher(index).search(TALES[3], k=100).hits == fresh.hits

    def test_k_and_depth(self, index: Index) -> None:
        searcher = Searcher(index, depth=7)
        results = searcher.search(QUERY, k=100)
        assert len(results) == results.candidates == len(searcher.rank(QUERY)) == 7
        assert searcher.search(QUERY, k=2).hits == results.hits[:2]
        assert searcher.search(QUERY, k=0).hits == ()
        assert searcher.rank(QUERY).ids == tuple(hit.id for hit in results)

    def test_without_a_reranker(self, index: Index) -> None:
        first = BM25(k1=2.8, b=1.0).rank(QUERY, index, 10, index.select(None))
        results = Searcher(index, first="bm25", rerank=None, depth=10).search(QUERY)
        assert [(hit.id, hit.score, hit.rank) for hit in results] == [
            (id, score, place) for place, (id, score) in enumerate(zip(first.ids, first.scores, strict=True), 1)
        ]
        assert all(math.isnan(hit.qp) and hit.first_rank == hit.rank for hit in results)

    def test_results_are_a_sequence(self, index: Index) -> None:
        results = Searcher(index).search(QUERY, k=3)
        assert list(results) == [results[0], results[1], results[-1]] == list(results[:3])
        assert results.query_sentences == len(index.splitter.split(QUERY.text))
        assert set(results.seconds) == {"sentences", "first stage", "candidates", "re-ranking", "evidence"}


class TestPairs:
    def test_are_real(self, index: Index) -> None:
        for hit in Searcher(index).search(QUERY, k=100, pairs=5):
            text = TALES[int(hit.id[1:])].text
            for pair in hit.pairs:
                assert pair.query == QUERY.text[slice(*pair.query_span)]
                assert pair.document == text[slice(*pair.document_span)]
                left, right = to_grid(index.encoder.encode([pair.query, pair.document])).astype(np.float64)
                assert pair.similarity == min(left @ right, 1)

    def test_are_those_of_the_alignment_without_a_word_twice(self, index: Index) -> None:
        searcher = Searcher(index)
        for hit in searcher.search(QUERY, k=100, pairs=2):
            everything = searcher.explain(QUERY, hit.id).hit.pairs
            assert set(hit.pairs) <= set(everything)
            assert len(hit.pairs) <= 2
            for side in ("query_span", "document_span"):
                spans = sorted(getattr(pair, side) for pair in hit.pairs)
                assert all(before[1] <= after[0] for before, after in pairwise(spans))

    def test_headings_are_no_evidence_but_are_explained(self) -> None:
        sentence = "The pilot brings the ferry through the channel at dusk."
        text = f"THE HARBOUR RULES\n\n{sentence}"
        with index_of(documents(a=text.replace("dusk", "dawn"))) as index:
            searcher, query = Searcher(index), Document("q", text)
            shown, explained = searcher.search(query)[0].pairs, searcher.explain(query, "a").alignment.pairs
        assert [(pair.query, pair.kind) for pair in shown] == [(sentence, "reworded")]
        assert [(pair.query, pair.kind, pair.boilerplate) for pair in explained] == [
            ("THE HARBOUR RULES", "identical", True),
            (sentence, "reworded", False),
        ]

    def test_can_be_left_out(self, index: Index) -> None:
        assert all(hit.pairs == () for hit in Searcher(index).search(QUERY, pairs=0))


@dataclass(frozen=True)
class Shortest(Component):
    """A re-ranker that looks at no sentence: the shorter the better."""

    name: ClassVar[str] = "shortest"
    kinds: ClassVar[tuple[Kind, ...]] = ("reranker",)

    def rerank(self, query: Sentences, candidates: Candidates, advance: object = None) -> Ranking:
        return order_candidates(candidates, -np.array([len(each) for each in candidates.sentences], dtype=np.float64))


class TestEvidenceOfAnyReranker:
    """Evidence is that of the two documents, whatever ranks them; scores are the re-ranker's."""

    @pytest.mark.parametrize("reranker", [Shortest(), Birch(), First(), None])
    def test_is_the_same(self, index: Index, reranker: Any) -> None:
        depth = 12
        searcher = Searcher(index, first="bm25", rerank=reranker, depth=depth)
        ranking, results = searcher.rank(QUERY), searcher.search(QUERY, k=depth)
        assert [(hit.id, hit.score) for hit in results] == list(zip(ranking.ids, ranking.scores.tolist(), strict=True))
        aligned = Searcher(index, "paper", depth=depth).search(QUERY, k=depth)  # RPRS with n = 5
        assert {hit.id: hit.pairs for hit in results} == {hit.id: hit.pairs for hit in aligned}
        for hit in results[:4]:
            assert searcher.explain(QUERY, hit.id).alignment == searcher.align(QUERY, hit.id)
        assert all(math.isnan(hit.qp) and math.isnan(hit.dp) for hit in results)

    def test_is_not_computed_if_it_is_not_used(self, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("rprs.evidence.find_matches", None)
        searcher = Searcher(index, rerank=Shortest())
        assert len(searcher.rank(QUERY)) == 30
        assert all(hit.pairs == () and hit.query_coverage is None for hit in searcher.search(QUERY, pairs=0))

    @pytest.mark.skipif(cores() < 2, reason="with one core, there is no other thread")
    def test_no_thread_reads_the_index_after_an_error(self, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
        began, ended = Event(), Event()

        def compare(*_: object) -> None:
            if current_thread() is main_thread():
                assert began.wait(10)
                raise UsageError("I cannot compare")
            began.set()
            sleep(0.2)  # the search fails meanwhile
            ended.set()

        monkeypatch.setattr("rprs.evidence.find_matches", compare)
        with pytest.raises(UsageError, match="cannot compare"):
            Searcher(index).search(QUERY)
        assert ended.is_set()

    def test_on_the_terminal_and_as_json(self, index: Index, capsys: pytest.CaptureFixture[str]) -> None:
        for reranker in ("birch", "first"):
            searcher = Searcher(index, rerank=reranker, depth=5)
            results = searcher.search(QUERY)
            outside = searcher.explain(QUERY, Searcher(index, rerank=None).rank(QUERY).ids[-1])
            output.print_json(serialize.hit_object(results[0], "query"))
            output.print_json(serialize.explanation_object(outside))
            hit, explained = map(json.loads, capsys.readouterr().out.splitlines())
            assert (hit["qp"], hit["dp"], explained["first_score"]) == (None, None, None)
            assert len(hit["pairs"]) == len(results[0].pairs)
            sentences = len(index.sentences(outside.document.id))
            assert ("best_sentences" in hit, explained["sentences"]) == (reranker == "birch", sentences)
            evidence.print_hits(results, details=True)
            evidence.print_explanation(outside, KINDS, all_pairs=False)
            printed = capsys.readouterr().out
            assert "nan" not in printed
            assert "QP" not in printed
            assert ("best sentences " in printed) == (reranker == "birch")


# ---------------------------------------------------------------------------- unusual queries


class TestUnusualQueries:
    @pytest.mark.parametrize("text", ["", " \n\t ", "\f"])
    @pytest.mark.parametrize("rerank", ["rprs", None])
    def test_no_sentences(self, index: Index, text: str, rerank: str | None) -> None:
        with pytest.raises(EmptyQuery, match="The query 'nothing' has no sentences"):
            Searcher(index, rerank=rerank).search(Document("nothing", text))

    @pytest.mark.parametrize("text", ["Xylophone zither.", "灯台守は夕暮れに灯をともす。", "?!", "…"])
    def test_no_shared_term(self, index: Index, text: str) -> None:
        results = Searcher(index).search(Document("stranger", text))
        assert list(results) == []
        assert results.candidates == 0

    def test_an_index_without_documents(self) -> None:
        with index_of() as index:
            assert list(Searcher(index).search(QUERY)) == []

    def test_one_word(self, index: Index) -> None:
        results = Searcher(index).search(Document("word", "wreck"), k=100)
        assert {hit.id for hit in results} == {each.id for each in TALES if "wreck" in each.text.lower()}

    def test_another_language(self) -> None:
        texts = {
            "fr": "Le phare éclaire le récif. La brume cache le phare.",
            "ja": "船は岩礁の沖を進む。",
            "en": "Fog.",
        }
        with index_of(documents(**texts), analyzer="words") as index:
            assert Searcher(index).rank(Document("q", "Où est le PHARE ?")).ids == ("fr",)
            assert Searcher(index).rank(Document("q", "岩礁に灯台がある。")).ids == ("ja",)

    def test_a_hundred_thousand_words(self, index: Index) -> None:
        text = tale(random.Random(1), 14_000)
        assert len(text.split()) > 100_000 * 0.99
        results = Searcher(index).search(Document("long", text))
        assert len(results) == 10
        assert results.query_sentences > 10_000
        assert results[0].pairs[0].query_span[1] <= len(text)

    @pytest.mark.parametrize(("system", "score"), [("paper", 0), ("default", 1)])  # a fusion of equal scores is exp(0)
    def test_a_document_without_sentences_comes_last(self, system: str, score: float) -> None:
        run = documents(a="", b="Fog hides the pier.", c="")
        with index_of(run) as index:
            outcome = Searcher(index, system).explain(Document("q", "Fog hides the quay."), "a")
        assert (outcome.hit.score, outcome.hit.rank, outcome.hit.pairs, outcome.in_pool) == (score, 2, (), False)

    def test_a_wrong_depth(self, index: Index) -> None:
        with pytest.raises(
            UsageError, match=r"The depth of re-ranking must be an integer in \[1, inf\)\. Got 0 instead"
        ):
            Searcher(index, depth=0)
