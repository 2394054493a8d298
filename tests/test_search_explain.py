"""Explanations of hits, one search worked by hand, queries as texts, and runs of many queries."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from rprs.document import Candidates, Document, Ranking, Sentences
from rprs.errors import EmptyQuery, UsageError
from rprs.index import Index
from rprs.rank import BM25, RPRS
from rprs.results.hits import Pair
from rprs.search import Searcher
from tests.support.indexes import documents, index_of
from tests.support.tales import QUERY, TALES
from tests.test_search import overlap


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    with index_of(TALES[:11], TALES[11:]) as opened:
        yield opened


# ---------------------------------------------------------------------------- explain


class TestExplain:
    def test_is_the_alignment_and_the_place_in_the_search(self, index: Index) -> None:
        searcher = Searcher(index, "paper", depth=12)
        query_spans = [(int(start), int(end)) for start, end in index.splitter.split(QUERY.text).spans]
        for hit in searcher.search(QUERY, k=12, group=False):
            explanation = searcher.explain(QUERY, hit.id)
            assert explanation.alignment == searcher.align(QUERY, hit.id)
            assert explanation.hit.pairs == explanation.alignment.pairs
            assert (explanation.hit.rank, explanation.hit.score) == (hit.rank, hit.score)
            assert explanation.hit.query_coverage == hit.query_coverage
            assert explanation.hit.document_coverage == hit.document_coverage
            matched = {span for pair in explanation.hit.pairs for span in query_spans if overlap(span, pair.query_span)}
            assert list(explanation.uncovered) == [span for span in query_spans if span not in matched]
            assert explanation.sentences == len(query_spans)
            assert explanation.in_pool
            assert explanation.document == index.document(hit.id)

    def test_agrees_with_the_search(self, index: Index) -> None:
        searcher = Searcher(index, depth=9)
        for where in (None, "year < 2000"):
            for hit in searcher.search(QUERY, where=where):
                explained = searcher.explain(QUERY, hit.id, where=where).hit
                facts = [(h.rank, h.score, h.parts, h.first_rank, h.first_score) for h in (hit, explained)]
                assert facts[0] == facts[1]
                assert set(hit.pairs) <= set(explained.pairs)

    def test_a_document_outside_the_pool_joins_at_its_end(self, index: Index) -> None:
        depth = 5
        first = BM25(k1=2.8, b=1.0).rank(QUERY, index, 100, index.select(None)).ids
        outside = first[depth + 3]
        explanation = Searcher(index, "paper", depth=depth).explain(QUERY, outside)
        assert not explanation.in_pool
        assert explanation.hit.first_rank == depth + 1
        assert math.isnan(explanation.hit.first_score)
        assert explanation.alignment == Searcher(index).align(QUERY, outside)

    def test_a_document_that_the_filter_leaves_out(self, index: Index) -> None:
        explanation = Searcher(index).explain(QUERY, "t20", where="year < 1990")
        assert (explanation.in_pool, explanation.hit.first_rank) == (False, 11)

    def test_a_document_without_any_word_of_the_query(self, index: Index) -> None:
        explanation = Searcher(index).explain(Document("stranger", "Xylophone zither."), "t03")
        assert not explanation.in_pool
        assert explanation.hit.rank == 1

    def test_itself(self, index: Index) -> None:
        """The pool is that of the search, which leaves the query out; it joins at the end."""
        pool = Searcher(index, "bm25", depth=10).rank(TALES[3]).ids
        searcher = Searcher(index, "paper", depth=10)
        explanation = searcher.explain(TALES[3], "t03")
        assert not explanation.in_pool
        assert explanation.hit.rank == 1
        assert explanation.uncovered == ()
        assert explanation.hit.first_rank == len(pool) + 1
        assert explanation.alignment.relation == "identical"
        assert searcher.explain(TALES[3], "t03", keep_self=True).in_pool

    def test_an_unknown_id(self, index: Index) -> None:
        with pytest.raises(UsageError, match=r"There is no document 'nowhere' in .*made\.rprs"):
            Searcher(index).explain(QUERY, "nowhere")

    def test_without_a_reranker(self, index: Index) -> None:
        searcher = Searcher(index, rerank=None)
        assert searcher.explain(QUERY, "t03").alignment == Searcher(index).explain(QUERY, "t03").alignment

    def test_no_sentences(self, index: Index) -> None:
        with pytest.raises(EmptyQuery):
            Searcher(index).explain(Document("nothing", ""), "t03")


def test_worked_by_hand() -> None:
    """Two query sentences, n = 1, k1 = 0: a holds both (QP 2/2, DP 2/2), b one of them (but a, ranked higher, has it).

    Each query sentence has one nearest neighbour and finds itself in a; b has neither, so QP(b) = DP(b) = 0.
    """
    texts = {
        "a": "Fog hides the northern pier. The pilot waits for daylight.",
        "b": "The pilot waits for daylight. Sand.",
    }
    query = Document("q", "The pilot waits for daylight. Fog hides the northern pier.")
    with index_of(documents(**texts)) as index:
        best, other = Searcher(index, rerank="rprs(n=1,k1=0)").search(query)
    assert (best.id, best.qp, best.dp, best.score) == ("a", 1, 1, 1)
    assert (other.id, other.qp, other.dp, other.score) == ("b", 0, 0, 0)
    assert {(pair.query, pair.document) for pair in best.pairs} == {
        ("The pilot waits for daylight.", "The pilot waits for daylight."),
        ("Fog hides the northern pier.", "Fog hides the northern pier."),
    }
    assert isinstance(best.pairs[0], Pair)
    assert [(pair.kind, pair.document) for pair in other.pairs] == [("identical", "The pilot waits for daylight.")]


# ---------------------------------------------------------------------------- strings, runs, exclusions


class TestText:
    def test_a_string_is_a_query(self, index: Index) -> None:
        results = Searcher(index).search(QUERY.text, k=5)
        assert [(hit.id, hit.score, hit.pairs) for hit in results] == [
            (hit.id, hit.score, hit.pairs) for hit in Searcher(index).search(QUERY, k=5)
        ]

    def test_a_string_that_is_a_document_of_the_index_is_left_out(self, index: Index) -> None:
        assert "t03" not in Searcher(index).rank(TALES[3].text).ids

    def test_an_index_by_its_path(self, index: Index) -> None:
        assert Searcher(index.path).rank(QUERY).ids == Searcher(str(index.path)).rank(QUERY).ids

    @pytest.mark.parametrize("query", [5, None, b"bytes", [1, 2], {"a": "text"}, [TALES[0], None]])
    def test_a_wrong_query_is_one_line(self, index: Index, query: Any) -> None:
        with pytest.raises(UsageError, match="A query is a text, a Document or a list of them"):
            Searcher(index).search(query)

    @pytest.mark.parametrize("k", [-1, 2.5, "3", None, True])
    def test_a_wrong_k_is_one_line(self, index: Index, k: Any) -> None:
        with pytest.raises(UsageError, match="k must be an integer in"):
            Searcher(index).search(QUERY, k)

    def test_a_wrong_system_is_one_line(self, index: Index) -> None:
        with pytest.raises(UsageError, match=r"The system must be a rprs\.System"):
            Searcher(index, BM25())  # type: ignore[arg-type]


class TestRun:
    QUERIES: ClassVar = [QUERY, TALES[3], Document("empty", " ")]

    def test_a_run_has_the_ranking_of_every_query(self, index: Index) -> None:
        searcher = Searcher(index, "paper", depth=8, cutoff="ratio(p=0.5,l=1,h=5)")
        run = searcher.run(self.QUERIES)
        assert list(run) == [QUERY.id, "t03"]
        assert run.failures == {"empty": "The query 'empty' has no sentences: there is nothing to compare"}
        for query in self.QUERIES[:2]:
            expected = searcher.rank(query)
            assert run[query.id].ids == expected.ids
            assert run[query.id].scores.tobytes() == expected.scores.tobytes()
        assert (run.tag, searcher.run([QUERY], tag="mine").tag) == ("rprs", "mine")
        assert [len(ranking) for ranking in searcher.run(self.QUERIES, k=1).values()] == [1, 1]
        with pytest.raises(EmptyQuery):
            searcher.run(self.QUERIES, strict=True)
        with pytest.raises(UsageError, match="None of the 1 queries could be answered: The query 'empty'"):
            searcher.run(self.QUERIES[2:])

    def test_texts_by_id_and_files(self, index: Index, tmp_path: Path) -> None:
        expected = Searcher(index).rank(QUERY).ids
        assert Searcher(index).run({"q": QUERY.text})["q"].ids == expected
        (tmp_path / "queries.jsonl").write_text(json.dumps({"id": "q", "text": QUERY.text}) + "\n")
        assert Searcher(index).run(tmp_path / "queries.jsonl")["q"].ids == expected

    def test_the_exclusions_of_a_collection_are_not_ranked(self, index: Index, tmp_path: Path) -> None:
        searcher = Searcher(index, depth=30)
        best, second = searcher.rank(QUERY).ids[:2]
        assert best not in [hit.id for hit in searcher.search(QUERY, k=30, exclude=[best])]
        assert best not in searcher.rank(QUERY, exclude=[best, "unknown"]).ids
        assert not {best, second} & set(searcher.run([QUERY], exclude={QUERY.id: [best, second]})[QUERY.id].ids)
        (tmp_path / "corpus.jsonl").write_text("")
        (tmp_path / "queries.jsonl").write_text(json.dumps({"_id": QUERY.id, "text": QUERY.text}) + "\n")
        (tmp_path / "exclude.tsv").write_text(f"query-id\tcorpus-id\n{QUERY.id}\t{best}\n")
        for queries in (tmp_path, tmp_path / "queries.jsonl"):
            assert best not in searcher.run(queries)[QUERY.id].ids
        assert searcher.run(tmp_path, exclude={})[QUERY.id].ids[0] == best

    def test_an_interrupted_run_resumes(self, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        searcher, queries = Searcher(index, depth=9), [QUERY, *TALES[:4]]
        expected = searcher.run(queries)
        rerank = RPRS.rerank
        ranked: list[tuple[str, ...]] = []

        def stop_after_two(self: RPRS, query: Sentences, candidates: Candidates, advance: Any = None) -> Ranking:
            if len(ranked) == 2:
                raise KeyboardInterrupt
            ranked.append(candidates.ranking.ids)
            return rerank(self, query, candidates, advance)

        monkeypatch.setattr(RPRS, "rerank", stop_after_two)
        with pytest.raises(KeyboardInterrupt):
            searcher.run(queries, cache=tmp_path)
        monkeypatch.undo()
        calls: list[int] = []

        def count(*arguments: Any) -> Ranking:
            calls.append(1)
            return rerank(*arguments)

        monkeypatch.setattr(RPRS, "rerank", count)
        resumed = searcher.run(queries, cache=tmp_path)
        assert len(calls) == 3
        assert {query: ranking.ids for query, ranking in resumed.items()} == {
            query: ranking.ids for query, ranking in expected.items()
        }
        assert resumed.text == expected.text
        Searcher(index, depth=8).run(queries, cache=tmp_path)  # another system shares nothing
        assert len(calls) == 3 + 5

    def test_a_wrong_filter_is_one_error(self, index: Index) -> None:
        with pytest.raises(UsageError, match="filter"):
            Searcher(index).run(self.QUERIES, where="year <")

    def test_excluded_documents_are_part_of_what_a_result_depends_on(self, index: Index) -> None:
        searcher = Searcher(index)
        assert searcher.about(QUERY, 5).exclude is None
        assert searcher.about(QUERY, 5, exclude=["t09", "t01", "t09"]).exclude == '["t01", "t09"]'
