"""RPRS without parameters against numbers worked by hand and a literal transcription."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction
from math import exp, log, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rprs import Searcher
from rprs.document import Document, Sentences
from rprs.errors import UsageError
from rprs.rank.soft import SoftRPRS
from rprs.scoring.aligned import Plan
from rprs.scoring.soft import soft
from rprs.scoring.vectors import VECTOR_TYPES, VectorType, to_grid
from rprs.spec import parse
from rprs.testing.rankers import SAMPLE, check_reranker, make_candidates
from tests.support import oracle_soft
from tests.support.indexes import index_of
from tests.support.oracle_systems import A, B
from tests.support.vectors import plane_vectors

ZERO = (0, 0, 0, 0)
OPPOSITE = (-1, 0, 0, 0)


def document(rows: Any, vector_type: VectorType = "float16") -> Sentences:
    vectors = np.array(rows, dtype=np.float64).reshape(len(rows), -1 if rows else 0).astype(vector_type)
    return Sentences(np.zeros((len(rows), 2), dtype=np.int64), np.zeros(len(rows), dtype=np.int32), vectors)


def scores_of(query: Any, *documents: Any, vectors: VectorType = "float16") -> Any:
    return soft(document(query, vectors).vectors, [document(rows, vectors) for rows in documents])


class TestByHand:
    """The cosines of A with A and B are 1 and 0: mean ½, standard deviation ½, so β = 4 · √(2 ln 2)."""

    p = 1 / (1 + exp(-4 * sqrt(2 * log(2))))  # A draws A, of A and B: 0.991

    def test_one_sentence_each(self) -> None:
        """By chance each document is drawn half of the time; its only sentence is drawn with it."""
        p, scored = self.p, scores_of([A], [A], [B])
        assert scored.qp.tolist() == pytest.approx([p / (p + 1 / 2), (1 - p) / (3 / 2 - p)])
        assert scored.dp.tolist() == pytest.approx([p, 1 - p])
        assert scored.score.tolist() == (scored.qp * scored.dp).tolist()

    def test_a_sentence_that_all_match_equally_well_has_no_weight(self) -> None:
        """It draws A or B with a chance of ½ each: QP is unchanged, and DP has two chances."""
        p, alone, scored = self.p, scores_of([A], [A], [B]), scores_of([A, ZERO], [A], [B])
        assert scored.qp.tolist() == pytest.approx(alone.qp.tolist())
        assert scored.dp.tolist() == pytest.approx([1 - (1 - p) / 2, 1 - p / 2])

    def test_a_longer_document_must_be_drawn_more_often(self) -> None:
        """Cosines 1, 0, 1, 0: β as before. Two of four sentences in each document, and the same draws: QP is ½."""
        scored = scores_of([A], [A, B], [A, B])
        assert scored.qp.tolist() == pytest.approx([1 / 2, 1 / 2])
        assert scored.dp[0] == scored.dp[1]

    def test_one_candidate(self) -> None:
        """Its chance to be drawn is 1, with or without similarity."""
        scored = scores_of([A, B], [A, OPPOSITE, B])
        assert scored.qp.tolist() == [1 / 2]
        assert 0 < scored.dp[0] < 1
        assert scores_of([A], [B]).dp.tolist() == [1]

    def test_equal_sentences(self) -> None:
        """Nothing can be told from them: every draw is by chance, and QP is ½ for long and short documents."""
        scored = scores_of([A, A], [B, B, B], [B], [])
        assert scored.qp.tolist() == pytest.approx([1 / 2, 1 / 2, 0])
        assert scored.dp.tolist() == pytest.approx([7 / 16, 7 / 16, 0])  # 1 − (3/4)²

    def test_no_sentences(self) -> None:
        assert scores_of([A], [], []).score.tolist() == [0, 0]
        assert scores_of([A]).score.tolist() == []


@pytest.mark.parametrize("vectors", VECTOR_TYPES)
@settings(max_examples=80)
@given(data=st.data())
def test_equals_the_oracle(vectors: VectorType, data: st.DataObject) -> None:
    query: Any = data.draw(st.lists(plane_vectors(vectors), min_size=1, max_size=6))
    pool: Any = data.draw(st.lists(st.lists(plane_vectors(vectors), max_size=6), max_size=5))
    scored = scores_of(query, *pool, vectors=vectors)
    query, *pool = ([tuple(map(Fraction, row)) for row in rows] for rows in (query, *pool))
    expected = oracle_soft.soft(query, pool)
    for actual, values in ((scored.qp, expected.qp), (scored.dp, expected.dp), (scored.score, expected.score)):
        assert actual.tolist() == pytest.approx(values, rel=1e-6, abs=1e-9)
        assert ((actual >= 0) & (actual <= 1)).all()


@pytest.mark.parametrize("vectors", VECTOR_TYPES)
@pytest.mark.parametrize("seed", range(4))
def test_blocks_and_threads_change_nothing(seed: int, vectors: VectorType) -> None:
    query, candidates = make_candidates(seed, vectors=vectors)
    plans = [Plan(1, 1000, 1000, 1000), Plan(3, 2, 3, 1), Plan(2, 1, 1, 7), Plan(1, 4, 13, 50)]
    results = [soft(query.vectors, candidates.sentences, plan=plan) for plan in plans]
    for scored in results[1:]:
        for name in ("qp", "dp", "score"):
            assert getattr(scored, name).tobytes() == getattr(results[0], name).tobytes()


def test_equal_documents_have_equal_scores() -> None:
    query, candidates = make_candidates(3)
    scored = soft(query.vectors, [*candidates.sentences, *candidates.sentences])
    assert scored.score[: len(candidates.sentences)].tolist() == scored.score[len(candidates.sentences) :].tolist()


def test_memory_does_not_hold_all_similarities() -> None:
    random = np.random.default_rng(0)
    pool = [document(to_grid(random.standard_normal((2000, 8))).tolist()) for _ in range(20)]
    query = to_grid(random.standard_normal((300, 8)))
    soft(query[:1], pool[:1])  # compiles
    tracemalloc.start()
    try:
        soft(query, pool, plan=Plan(threads=1))
        assert tracemalloc.get_traced_memory()[1] < 300 * 40_000 * 4 / 10  # bytes of all similarities as float32
    finally:
        tracemalloc.stop()


def test_progress_counts_every_sentence_once() -> None:
    query, candidates = make_candidates(1)
    rows: list[int] = []
    SoftRPRS().rerank(query, candidates, rows.append)
    assert sum(rows) == sum(map(len, candidates.sentences))


def test_it_fulfils_the_contract() -> None:
    check_reranker(SoftRPRS())


def test_it_has_no_parameters() -> None:
    assert str(parse("reranker", "soft")) == "soft"
    with pytest.raises(UsageError, match="soft has no parameter"):
        parse("reranker", "soft(n=5)")


@pytest.mark.parametrize("rerank", ["soft", "fuse(first,soft,method=zscore,weight=0.3)"])
def test_a_search_shows_both_proportions_and_evidence(rerank: str) -> None:
    query = Document("query", "Rent is due at dusk.\n\nThe landlord lights the lamp. Ships pay no rent.")
    with index_of(SAMPLE) as index:
        best = Searcher(index, rerank=rerank).search(query)[0]
    assert {"qp", "dp"} <= set(best.parts)
    assert best.pairs
