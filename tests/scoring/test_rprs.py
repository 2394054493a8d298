"""RPRS against hand-worked numbers and a literal transcription of the paper's equations."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rprs.document import Candidates, Neighbours, Ranking, Sentences
from rprs.errors import EmptyQuery, UsageError
from rprs.rank import RPRS
from rprs.scoring.neighbours import Ties, neighbours, tie_priority
from rprs.scoring.rprs import Form, order, rprs
from rprs.scoring.vectors import PRECISIONS
from rprs.spec import parse
from tests.support import oracle


def vectors(rows: Any) -> NDArray[np.float16]:
    """Rows of whole numbers as vectors in units of the grid."""
    return np.asarray(
        np.asarray(rows, dtype=np.float64).reshape(len(rows), -1) * PRECISIONS["float16"].grid, dtype=np.float16
    )


@pytest.fixture
def worked() -> Neighbours:
    """Two query sentences, n = 3; document A has sentences 0 and 1, document B has 2, 3 and 4.

    r_3(q_1) = {A1, A2, B1} and r_3(q_2) = {A2, B1, B2}, so

        c        A  B         f   A1 A2   B1 B2 B3
        q_1      2  1              1  2    2  1  0
        q_2      1  2
    """
    similarity = np.array([[0.9, 0.8, 0.7], [0.6, 0.5, 0.4]], dtype=np.float32)
    sentence = np.array([[0, 1, 2], [1, 2, 3]], dtype=np.int64)
    return Neighbours(similarity, sentence, np.array([0, 2, 5], dtype=np.int64))


class TestByHand:
    def test_plain(self, worked: Neighbours) -> None:
        """QP: both query sentences touch both documents. DP: 2 of 2 sentences of A, 2 of 3 of B."""
        scores = rprs(worked, n=3, k1=0, b=0.5, avgdl=2.5)
        assert scores.qp.tolist() == [1, 1]
        assert scores.dp.tolist() == pytest.approx([1, 2 / 3])
        assert scores.score.tolist() == pytest.approx([1, 2 / 3])

    def test_with_frequency(self, worked: Neighbours) -> None:
        """k1 = 1, b = 1, avgdl = 2.5: K_A = 2/2.5 = 0.8, K_B = 3/2.5 = 1.2.

        QP(A) = (2/2.8 + 1/1.8) / 2        DP(A) = (1/1.8 + 2/2.8) / 2
        QP(B) = (1/2.2 + 2/3.2) / 2        DP(B) = (2/3.2 + 1/2.2 + 0) / 3
        """
        scores = rprs(worked, n=3, k1=1, b=1, avgdl=2.5)
        assert scores.qp.tolist() == pytest.approx([(2 / 2.8 + 1 / 1.8) / 2, (1 / 2.2 + 2 / 3.2) / 2])
        assert scores.dp.tolist() == pytest.approx([(1 / 1.8 + 2 / 2.8) / 2, (2 / 3.2 + 1 / 2.2) / 3])
        assert scores.score.tolist() == pytest.approx([0.4031, 0.1942], abs=5e-5)

    def test_smaller_n_from_the_same_neighbours(self, worked: Neighbours) -> None:
        """n = 1: r_1(q_1) = {A1}, r_1(q_2) = {A2}: B is never near."""
        scores = rprs(worked, n=1, k1=0, b=0, avgdl=2.5)
        assert scores.qp.tolist() == [1, 0]
        assert scores.dp.tolist() == [1, 0]

    @pytest.mark.parametrize(
        ("form", "expected"),
        [
            ("no_qp", [1, 2 / 3]),  # DP alone
            ("no_dp", [1, 1]),  # QP alone
            ("no_min", [3 / 2 * 3 / 2, 3 / 2 * 3 / 3]),  # counts as they are: 3 and 3 over m = 2, over |S_d| = 2 and 3
            ("no_b_k1", [1 / (2 * 2), 1 / (2 * 3)]),  # as printed: 1 / (m · |S_d|)
        ],
    )
    def test_ablations(self, worked: Neighbours, form: Form, expected: list[float]) -> None:
        scores = rprs(worked, n=3, k1=0, b=0, avgdl=2.5, form=form)
        assert scores.score.tolist() == pytest.approx(expected)


small = st.integers(-2, 2)
documents = st.lists(st.lists(st.tuples(small, small, small), max_size=5), min_size=1, max_size=6)
queries = st.lists(st.tuples(small, small, small), min_size=1, max_size=5)
tenths = st.integers(0, 30).map(lambda tenth: Fraction(tenth, 10))


@settings(max_examples=600, deadline=None)
@given(
    query=queries,
    pool=documents,
    n=st.integers(1, 12),
    k1=tenths,
    b=st.integers(0, 10).map(lambda tenth: Fraction(tenth, 10)),
    avgdl=st.integers(1, 80).map(lambda tenth: Fraction(tenth, 10)),
    form=st.sampled_from(get_args(Form)),
)
def test_equals_the_oracle(
    query: Any, pool: Any, n: int, k1: Fraction, b: Fraction, avgdl: Fraction, form: Form
) -> None:
    """Small whole numbers make ties the rule; documents may be empty, equal, alone, and n beyond the pool."""
    nearest = neighbours(vectors(query), [vectors(d) if d else np.empty((0, 3), np.float16) for d in pool], n)
    flat = [(d, s) for d, document in enumerate(pool) for s in range(len(document))]
    assert [[flat[s] for s in row] for row in nearest.sentence.tolist()] == oracle.nearest(query, pool, n)
    scored = rprs(nearest, n=n, k1=float(k1), b=float(b), avgdl=float(avgdl), form=form)
    expected = oracle.score(query, pool, n, k1, b, avgdl, form)
    for column, values in enumerate((scored.score, scored.qp, scored.dp)):
        assert values.tolist() == pytest.approx([float(row[column]) for row in expected], rel=1e-12, abs=1e-15)
    if k1 == 0 or form in ("no_min", "no_b_k1"):  # whole counts: what is equal on paper is equal in floats
        lengths = [len(document) for document in pool]
        assert order(scored, nearest).tolist() == oracle.ranking([row[0] for row in expected], lengths)


@settings(max_examples=300, deadline=None)
@given(
    query=queries,
    pool=documents,
    names=st.permutations("ABCDEF"),
    n=st.integers(1, 12),
    k1=tenths,
    ties=st.sampled_from(get_args(Ties)),
)
def test_ties_equal_the_oracle(query: Any, pool: Any, names: list[str], n: int, k1: Fraction, ties: Ties) -> None:
    """Whole numbers between -2 and 2 in three dimensions: nearly every list of neighbours ends in a tie."""
    ids = names[: len(pool)]
    empty = np.empty((0, 3), np.float16)
    arrays = [vectors(d) if d else empty for d in pool]
    nearest = neighbours(vectors(query), arrays, n, priority=tie_priority(ids, ties))
    flat = [(d, s) for d, document in enumerate(pool) for s in range(len(document))]
    expected = oracle.nearest(query, pool, n, ties, ids)
    assert [[flat[s] for s in row] for row in nearest.sentence.tolist()] == expected
    component = RPRS(n=n, k1=float(k1), b=0.3, avgdl=2.5, ties=ties)
    sentences = Sentences(np.zeros((len(query), 2), np.int64), np.zeros(len(query), np.int32), vectors(query))
    ranking = component.rerank(sentences, replace(candidates(*arrays), ranking=Ranking(tuple(ids), np.zeros(len(ids)))))
    scores = oracle.score(query, pool, n, k1, Fraction(3, 10), Fraction(5, 2), ties=ties, ids=ids)
    actual = dict(zip(ranking.ids, ranking.scores.tolist(), strict=True))
    assert [actual[id] for id in ids] == pytest.approx([float(row[0]) for row in scores], rel=1e-12, abs=1e-15)


def test_a_tie_at_the_boundary_by_hand() -> None:
    """One query sentence, n = 1, and the same sentence in three candidates, ranked c, a, b."""
    same = vectors([(1, 0, 0)])
    query = Sentences(np.zeros((1, 2), np.int64), np.zeros(1, np.int32), same)
    pool = replace(candidates(same, same, same), ranking=Ranking(("c", "a", "b"), np.array([3.0, 2.0, 1.0])))
    best = {ties: RPRS(n=1, k1=0, ties=ties).rerank(query, pool) for ties in get_args(Ties)}
    assert {ties: ranking.ids[0] for ties, ranking in best.items()} == {"first": "c", "id": "a", "worst": "b"}
    assert all(ranking.scores.tolist() == [1, 0, 0] for ranking in best.values())


def test_identical_documents_tie_in_first_stage_order() -> None:
    same = vectors([(1, 0, 0), (0, 1, 0)])
    query = vectors([(1, 0, 0), (0, 1, 0)])
    nearest = neighbours(query, [same, same, same], 6)
    scored = rprs(nearest, n=6, k1=1.5, b=0.5, avgdl=2)
    assert len(set(scored.score.tolist())) == 1
    assert order(scored, nearest).tolist() == [0, 1, 2]


def test_a_document_without_sentences_comes_last() -> None:
    empty, far = np.empty((0, 3), np.float16), vectors([(0, 0, 1)])
    nearest = neighbours(vectors([(1, 0, 0)]), [empty, vectors([(1, 0, 0)]), far], 1)
    scored = rprs(nearest, n=1, k1=1.5, b=0.5, avgdl=1)
    assert scored.score.tolist()[0] == 0
    assert scored.score.tolist()[2] == 0
    assert order(scored, nearest).tolist() == [1, 2, 0]


@given(query=queries, pool=documents, n=st.integers(1, 5), k1=tenths)
def test_proportions_are_proportions(query: Any, pool: Any, n: int, k1: Fraction) -> None:
    nearest = neighbours(vectors(query), [vectors(d) if d else np.empty((0, 3), np.float16) for d in pool], n)
    scored = rprs(nearest, n=n, k1=float(k1), b=0.5, avgdl=3)
    for values in (scored.score, scored.qp, scored.dp):
        assert ((values >= 0) & (values <= 1)).all()


def candidates(*pool: NDArray[np.float16]) -> Candidates:
    ids = tuple("abcdefgh"[: len(pool)])
    sentences = [Sentences(np.zeros((len(v), 2), np.int64), np.zeros(len(v), np.int32), v) for v in pool]
    return Candidates(Ranking(ids, np.arange(len(pool), 0, -1, dtype=np.float64)), sentences, 2.0)


class TestComponent:
    def test_ranks_candidates_with_evidence(self) -> None:
        query = Sentences(np.zeros((1, 2), np.int64), np.zeros(1, np.int32), vectors([(1, 0, 0)]))
        ranking = RPRS(n=1).rerank(query, candidates(vectors([(0, 1, 0)]), vectors([(1, 0, 0)])))
        assert ranking.ids == ("b", "a")
        assert ranking.parts["qp"].tolist() == pytest.approx([1 / (1 + 1.5 * 0.75), 0])  # dl = 1, avgdl = 2
        assert ranking.neighbours is not None
        assert ranking.neighbours.document.tolist() == [[1]]

    def test_average_length_of_the_candidates(self) -> None:
        query = Sentences(np.zeros((1, 2), np.int64), np.zeros(1, np.int32), vectors([(1, 0, 0)]))
        ranking = RPRS(n=1, k1=1, b=1, avgdl="candidates").rerank(query, candidates(vectors([(1, 0, 0)])))
        assert ranking.parts["qp"].tolist() == [0.5]  # dl = avgdl = 1

    def test_average_length_as_a_number(self) -> None:
        query = Sentences(np.zeros((1, 2), np.int64), np.zeros(1, np.int32), vectors([(1, 0, 0)]))
        pool = candidates(vectors([(1, 0, 0)]))
        for component in (RPRS(n=1, k1=1, b=1, avgdl=0.25), parse("reranker", "rprs(n=1,k1=1,b=1,avgdl=0.25)")):
            assert component.rerank(query, pool).parts["qp"].tolist() == [1 / (1 + 4)]  # dl / avgdl = 4

    def test_the_text_of_a_numeric_average(self) -> None:
        assert str(RPRS(avgdl=120)) == "rprs(avgdl=120)"
        assert parse("reranker", "rprs(avgdl=120)") == RPRS(avgdl=120)
        assert str(parse("ranker", "rprs(avgdl=candidates,ties=worst)")) == "rprs(avgdl=candidates,ties=worst)"

    @pytest.mark.parametrize("avgdl", [0, -3.0, float("inf"), float("nan"), True, None, "median"])
    def test_a_wrong_average(self, avgdl: Any) -> None:
        with pytest.raises(UsageError, match=r"must be 'collection' or 'candidates' or a number in \(0, inf\)"):
            RPRS(avgdl=avgdl)

    def test_a_wrong_choice_for_ties(self) -> None:
        with pytest.raises(UsageError, match="The 'ties' parameter of rprs must be 'first' or 'id' or 'worst'"):
            parse("reranker", "rprs(ties=best)")

    def test_no_query_sentences(self) -> None:
        nothing = Sentences(np.zeros((0, 2), np.int64), np.zeros(0, np.int32))
        with pytest.raises(EmptyQuery, match="no sentences"):
            RPRS().rerank(nothing, candidates(vectors([(1, 0, 0)])))

    def test_no_candidates(self) -> None:
        query = Sentences(np.zeros((1, 2), np.int64), np.zeros(1, np.int32), vectors([(1, 0, 0)]))
        assert RPRS().rerank(query, candidates()).ids == ()

    def test_a_wrong_parameter(self) -> None:
        with pytest.raises(UsageError) as caught:
            parse("reranker", "rprs(n=0)")
        assert str(caught.value) == "The 'n' parameter of rprs must be an integer in [1, inf). Got 0 instead."
