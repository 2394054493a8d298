"""First stages and re-rankers: run files, and the contracts that all of them fulfil."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from rprs.document import Candidates, Document, Ranking, Sentences
from rprs.errors import ReadError, UsageError
from rprs.index import Index
from rprs.rank import BM25, RPRS, Mask, Ranker, Reranker, RunFile
from rprs.scoring.rprs import Form
from rprs.search import Searcher
from rprs.spec import parse
from rprs.testing.rankers import SAMPLE, check_ranker, check_reranker, make_candidates
from tests.support.indexes import MEMORY, documents, index_of


@pytest.fixture(autouse=True)
def _in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", MEMORY)


# ---------------------------------------------------------------------------- run files

COLLECTION = documents(a="Tides rise.", b="Reefs stay.", c="Buoys drift.", d="Moorings hold.")


@pytest.fixture
def run(tmp_path: Path) -> RunFile:
    path = tmp_path / "other.trec"
    lines = ["d 5", "ghost 4", "b 3", "a 2.5", "spectre 2", "c -1"]
    path.write_text("".join(f"q Q0 {line.split()[0]} 1 {line.split()[1]} other\n" for line in lines))
    return RunFile(str(path))


def ranked(run: RunFile, depth: int = 10, without: str = "", query: str = "q") -> Ranking:
    with index_of(COLLECTION) as index:
        allowed = np.array([id not in without for id in index.ids])
        return run.rank(Document(query, "Anything."), index, depth, allowed)


class TestRunFile:
    def test_its_order_and_scores_are_kept(self, run: RunFile) -> None:
        ranking = ranked(run)
        assert ranking.ids == ("d", "b", "a", "c")
        assert ranking.scores.tolist() == [5, 3, 2.5, -1]

    def test_documents_that_the_index_lacks_are_noted(self, run: RunFile) -> None:
        assert ranked(run).notes == ("2 of 6 documents of the run are not in the index",)

    def test_nothing_to_note(self, tmp_path: Path) -> None:
        (tmp_path / "run").write_text("q Q0 a 1 1.0 x\n")
        assert ranked(RunFile(str(tmp_path / "run"))).notes == ()

    def test_depth_counts_allowed_documents(self, run: RunFile) -> None:
        assert ranked(run, depth=2, without="d").ids == ("b", "a")
        assert ranked(run, depth=3).ids == ("d", "b", "a")
        assert ranked(run, without="abcd").ids == ()

    def test_equal_scores_keep_the_order_of_the_file(self, tmp_path: Path) -> None:
        (tmp_path / "run").write_text("q Q0 c 1 1.0 x\nq Q0 a 2 1.0 x\n")
        assert ranked(RunFile(str(tmp_path / "run"))).ids == ("c", "a")

    def test_a_query_missing_from_the_file(self, run: RunFile) -> None:
        with pytest.raises(UsageError, match=r"The run .*other\.trec has no ranking for the query 'r'"):
            ranked(run, query="r")

    def test_no_such_file(self, tmp_path: Path) -> None:
        with pytest.raises(ReadError, match="no such run file"):
            ranked(RunFile(str(tmp_path / "missing.trec")))

    def test_a_changed_file_is_read_again(self, run: RunFile) -> None:
        before = Path(run.path).stat()
        assert ranked(run).ids[0] == "d"
        Path(run.path).write_text("q Q0 c 1 1.0 x\n")
        os.utime(run.path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
        assert ranked(run).ids == ("c",)

    def test_its_text_parses_back(self, run: RunFile) -> None:
        assert parse("ranker", str(run)) == run

    @pytest.mark.parametrize("rerank", ["rprs", None])
    def test_as_the_first_stage_of_a_search(self, run: RunFile, rerank: str | None) -> None:
        with index_of(COLLECTION) as index:
            results = Searcher(index, first=run, rerank=rerank).search(Document("q", "Reefs stay."))
            ranking = Searcher(index, first=run, rerank=rerank).rank(Document("q", "Reefs stay."))
        assert sorted(hit.id for hit in results) == ["a", "c", "d"]  # b has the query's text
        assert {hit.id: (hit.first_rank, hit.first_score) for hit in results} == {
            "d": (1, 5),
            "a": (2, 2.5),
            "c": (3, -1),
        }
        note = "2 of 6 documents of the run are not in the index"
        assert results.notes == ranking.notes == (note,)


# ---------------------------------------------------------------------------- the contract of first stages


@pytest.mark.parametrize(
    "text",
    ["bm25", "bm25(k1=0)", "bm25(k1=2.8,b=1.0)", "bm25(kli=0.1)", "bm25(lengths=lucene)", "bm25(kli=0.5,ngrams=2)"],
)
def test_bm25_fulfils_the_contract(text: str) -> None:
    check_ranker(parse("ranker", text), analyzer="words(ngrams=2)")


@pytest.mark.parametrize("tied", [False, True])
def test_runfile_fulfils_the_contract(tmp_path: Path, tied: bool) -> None:
    lines = [
        f"{query.id} Q0 {document.id} 1 {1.0 if tied else -place} other\n"
        for query in SAMPLE
        for place, document in enumerate((*SAMPLE[3:], Document("ghost", ""), *SAMPLE[:3]))
    ]
    (tmp_path / "run").write_text("".join(lines))
    check_ranker(RunFile(str(tmp_path / "run")), ties_by_id=not tied)


@dataclass(frozen=True)
class Spoilt:
    """BM25 with a fault."""

    fault: Callable[[Ranking, Index, Mask], Ranking]

    def rank(self, query: Document, index: Index, depth: int, allowed: Mask) -> Ranking:
        return self.fault(BM25().rank(query, index, depth, allowed), index, allowed)


def turned(ranking: Ranking) -> Ranking:
    return Ranking(ranking.ids[::-1], ranking.scores[::-1])


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda r, index, _: Ranking(tuple(index.ids), np.zeros(len(index))), "documents at depth"),
        (lambda r, index, a: Ranking(tuple(index.ids[:1]), np.zeros(min(1, len(index)))), "not among the allowed"),
        (lambda r, *_: Ranking(r.ids * 2, np.zeros(2 * len(r))), "twice"),
        (lambda r, *_: turned(r), "increase"),
        (lambda r, *_: Ranking(turned(r).ids, np.zeros(len(r))), "is before"),
        (lambda r, *_: replace(r, scores=r.scores + np.nan), "not finite"),
        (lambda r, *_: replace(r, scores=r.scores[1:]), "shape"),
        (lambda r, *_: replace(r, scores=r.scores - np.random.default_rng().random()), "differ|change"),
        (lambda r, index, _: replace(r, scores=r.scores - len(index.segments)), "segments"),
        (lambda r, _, a: (np.logical_not(a, out=a), r)[1], "changed the mask"),
    ],
)
def test_the_contract_detects_a_faulty_ranker(fault: Callable[..., Ranking], message: str) -> None:
    ranker: Ranker = Spoilt(fault)
    with pytest.raises(AssertionError, match=message):
        check_ranker(ranker)


# ---------------------------------------------------------------------------- the contract of re-rankers


@pytest.mark.parametrize("form", get_args(Form))
@pytest.mark.parametrize(
    "reranker", [RPRS(), RPRS(n=1, k1=0), RPRS(n=4, k1=2.8, b=1, avgdl="candidates"), RPRS(n=1000)]
)
def test_rprs_fulfils_the_contract(reranker: RPRS, form: Form) -> None:
    check_reranker(replace(reranker, form=form), rounds=10)


def test_the_contract_covers_ties_and_documents_without_sentences() -> None:
    """Otherwise it would prove nothing about them."""
    tied = hollow = 0
    for seed in range(20):
        query, candidates = make_candidates(seed)
        tied += len(set(RPRS(k1=0).rerank(query, candidates).scores.tolist())) < len(candidates.ranking)
        hollow += any(len(sentences) == 0 for sentences in candidates.sentences[:-2])
    assert tied > 10
    assert hollow > 10


@dataclass(frozen=True)
class SpoiltReranker:
    """RPRS with a fault."""

    fault: Callable[[Ranking, Candidates], Ranking]

    def rerank(
        self, query: Sentences, candidates: Candidates, advance: Callable[[int], None] = lambda _rows: None
    ) -> Ranking:
        return self.fault(RPRS(k1=0).rerank(query, candidates), candidates)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda r, c: Ranking(r.ids[1:], r.scores[1:]), "not the candidates"),
        (lambda r, c: turned(r), "increase"),
        (lambda r, c: Ranking(turned(r).ids, r.scores), "without sentences"),
        (lambda r, c: Ranking(c.ranking.ids, np.zeros(len(r))), "without sentences"),
        (lambda r, c: Ranking(r.ids, np.zeros(len(r))), "first-stage order"),
        (lambda r, c: replace(r, scores=r.scores + np.random.default_rng().random()), "differ"),
        (lambda r, c: replace(r, parts={"qp": np.zeros(len(r) + 1)}), "qp has the shape"),
        (lambda r, c: (np.negative(c.sentences[1].vectors, out=c.sentences[1].vectors), r)[1], "changed|differ"),
    ],
)
def test_the_contract_detects_a_faulty_reranker(fault: Callable[..., Ranking], message: str) -> None:
    reranker: Reranker = SpoiltReranker(fault)
    with pytest.raises(AssertionError, match=message):
        check_reranker(reranker)
