"""Birch: worked by hand, against a literal oracle, and at the edges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rprs.document import Candidates, Document, Ranking, Sentences, Truncation
from rprs.encode.pairs import load_pairs
from rprs.errors import EmptyQuery, UsageError
from rprs.rank import TwoStepReranker, load_candidates
from rprs.rank import birch as birch_module
from rprs.rank.birch import Birch
from rprs.scoring.vectors import to_grid
from rprs.search import Searcher
from rprs.spec import parse
from rprs.testing.rankers import check_reranker, make_candidates
from tests.support.indexes import index_of
from tests.support.tiny_models import make_cross


def sentences(*vectors: Sequence[float], dimension: int = 2) -> Sentences:
    spans = np.array([[10 * place, 10 * place + 9] for place in range(len(vectors))], dtype=np.int64).reshape(-1, 2)
    rows = to_grid(np.array(vectors, dtype=np.float64).reshape(-1, dimension))
    return Sentences(spans, np.zeros(len(vectors), dtype=np.int32), rows)


def candidates(scores: Sequence[float], *documents: Sentences) -> Candidates:
    ids = tuple(f"d{number}" for number in range(1, len(documents) + 1))
    return Candidates(Ranking(ids, np.array(scores, dtype=np.float64)), documents, 2.0)


def scored(ranking: Ranking) -> dict[str, float]:
    return dict(zip(ranking.ids, ranking.scores.tolist(), strict=True))


# ---------------------------------------------------------------------------- worked by hand

QUERY = sentences((1, 0), (0, 1))
POOL = candidates(
    [10, 6, 2],
    sentences((0.6, 0.8), (-1, 0)),  # cosines to the query: (.6, .8) and (−1, 0), so S = .8, 0 and no third
    sentences((0, -1), (0.8, 0.6), (1, 0), (0.6, 0.8)),  # 0, .8, 1, .8, so S = 1, .8, .8
    sentences((0, 1)),  # S = 1
)


def test_worked_by_hand() -> None:
    """The first stage's 10, 6, 2 are 1, .5, 0 on a scale from 0 to 1.

    d1: .4 · 1  + .6 · (.8 + .5 · 0  + .25 · 0 ) = .4 + .48 =  .88
    d2: .4 · .5 + .6 · (1  + .5 · .8 + .25 · .8) = .2 + .96 = 1.16
    d3: .4 · 0  + .6 · (1  + .5 · 0  + .25 · 0 ) =             .6
    """
    ranking = Birch(a=0.4, w2=0.5, w3=0.25).rerank(QUERY, POOL)
    assert ranking.ids == ("d2", "d1", "d3")
    assert ranking.scores == pytest.approx([1.16, 0.88, 0.6], abs=1e-3)  # .6 and .8 are rounded to the grid
    assert ranking.parts["first"].tolist() == [0.5, 1, 0]
    assert ranking.parts["best_sentences"] == pytest.approx([1.6, 0.8, 1], abs=1e-3)


def test_one_sentence_worked_by_hand() -> None:
    """d1: .4 · 1 + .6 · .8 = .88; d2: .4 · .5 + .6 · 1 = .8; d3: .6."""
    ranking = Birch(a=0.4, top=1).rerank(QUERY, POOL)
    assert ranking.ids == ("d1", "d2", "d3")
    assert ranking.scores == pytest.approx([0.88, 0.8, 0.6], abs=1e-3)


def test_the_ends_of_a() -> None:
    assert scored(Birch(a=1).rerank(QUERY, POOL)) == {"d1": 1, "d2": 0.5, "d3": 0}
    alone = Birch(a=0, w2=0, w3=0).rerank(QUERY, POOL)
    assert alone.ids == ("d2", "d3", "d1")  # both have a sentence of the query: the first stage decides
    assert alone.scores[0] == alone.scores[1] == 1


# ---------------------------------------------------------------------------- a literal oracle


def oracle(birch: Birch, query: Sentences, pool: Candidates) -> dict[str, float]:
    """The formula of Birch, literally, in plain Python numbers."""
    first = [score for score in pool.ranking.scores.tolist() if score == score]
    scores = {}
    for id, score, document in zip(pool.ranking.ids, pool.ranking.scores.tolist(), pool.sentences, strict=True):
        each = []
        for vector in document.vectors.astype(float).tolist():
            query_vectors = query.vectors.astype(float).tolist()
            each.append(max(sum(x * y for x, y in zip(vector, other, strict=True)) for other in query_vectors))
        best = [*sorted(each, reverse=True), 0.0, 0.0, 0.0][: birch.top]
        scale = max(first) - min(first) if first else 0
        whole = 0.0 if score != score else (score - min(first)) / scale if scale else 1.0
        evidence = sum(w * s for w, s in zip((1, birch.w2, birch.w3), best, strict=False))
        scores[id] = birch.a * whole + (1 - birch.a) * evidence
    return scores


SHARE = st.integers(0, 10).map(lambda tenth: tenth / 10)


@settings(max_examples=60)
@given(
    st.integers(0, 10_000), SHARE, SHARE, SHARE, st.integers(1, 3), st.sampled_from(["as it is", "equal", "missing"])
)
def test_equals_the_formula(seed: int, a: float, w2: float, w3: float, top: int, first: str) -> None:
    birch = Birch(a, w2, w3, top)
    query, pool = make_candidates(seed)
    scores = pool.ranking.scores.copy()
    if first == "equal":
        scores[:] = 3.0
    elif first == "missing":
        scores[-1] = np.nan  # as for a document that the first stage did not retrieve
    pool = replace(pool, ranking=Ranking(pool.ranking.ids, scores))
    expected = oracle(birch, query, pool)
    ranking = birch.rerank(query, pool)
    full = {id: len(each) for id, each in zip(pool.ranking.ids, pool.sentences, strict=True)}
    least = min((score for id, score in expected.items() if full[id]), default=np.inf)
    lowered = {id: score if full[id] else min(score, least) for id, score in expected.items()}
    assert scored(ranking) == pytest.approx(lowered, abs=1e-12)
    assert list(ranking.scores) == sorted(ranking.scores, reverse=True)


@pytest.mark.parametrize("birch", [Birch(), Birch(0, 0.9, 0.1), Birch(1), Birch(0.9, 0, 0, top=1), Birch(top=2)])
def test_fulfils_the_contract(birch: Birch) -> None:
    check_reranker(birch, rounds=10)


# ---------------------------------------------------------------------------- the edges


def test_a_document_without_sentences_comes_last() -> None:
    pool = candidates([9, 1], sentences(), sentences((-1, 0)))
    ranking = Birch(a=0.9).rerank(sentences((1, 0)), pool)
    assert ranking.ids == ("d2", "d1")
    assert ranking.scores[0] == pytest.approx(-0.1)


def test_no_candidates_one_and_no_query() -> None:
    assert Birch().rerank(QUERY, candidates([])).ids == ()
    one = Birch(a=0.5, top=1).rerank(QUERY, candidates([7], sentences((1, 0))))
    assert one.scores.tolist() == [1.0]
    with pytest.raises(EmptyQuery):
        Birch().rerank(sentences(), POOL)


def test_candidates_are_prepared_once_for_all_weights() -> None:
    """Scoring prepared candidates is re-ranking, to the last bit."""
    for seed in range(5):
        query, pool = make_candidates(seed)
        prepared = Birch().prepare(query, pool)
        for birch in (Birch(), Birch(0.1, 0.9, 0.3), Birch(0.9, 0, 0)):
            scored, ranking = birch.score(prepared, pool), birch.rerank(query, pool)
            assert scored.ids == ranking.ids
            assert scored.scores.tobytes() == ranking.scores.tobytes()
    assert isinstance(Birch(), TwoStepReranker)
    assert {name: len(values) for name, values in Birch.grid.items()} == {"a": 10, "w2": 10, "w3": 10}
    assert Birch.grid["a"] == tuple(round(0.1 * tenth, 1) for tenth in range(10))


def test_its_text() -> None:
    assert str(parse("reranker", "birch(0.3, 0.1)")) == "birch(a=0.3,w2=0.1)"
    assert parse("reranker", "birch") == Birch()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("birch(a=1.5)", "The 'a' parameter of birch must be a number in [0, 1]. Got 1.5 instead."),
        ("birch(w2=-1)", "The 'w2' parameter of birch must be a number in [0, inf). Got -1.0 instead."),
        ("birch(top=4)", "The 'top' parameter of birch must be an integer in [1, 3]. Got 4 instead."),
        ("birch(scorer=dot)", "The 'scorer' parameter of birch must be 'cosine' or 'cross'. Got 'dot' instead."),
        ("birch(scorer=cross)", "birch needs a model for scorer=cross, and for that alone"),
        ("birch(model=x)", "birch needs a model for scorer=cross, and for that alone"),
    ],
)
def test_mistakes(text: str, line: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse("reranker", text)
    assert line in str(caught.value)


# ---------------------------------------------------------------------------- with a cross-encoder


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path / "cache"))
    return make_cross(tmp_path / "cross")


TEXTS = {
    "a": "The tenant pays rent. The court dismissed the appeal. A cat. A dog of steel.",
    "b": "A laser welds the steel. The first month of rent.",
    "c": "The cat pays.",
    "d": " ",
}
ASKED = Document("q", "The tenant pays the first rent. A court and a cat. The laser welds a mat of steel.")


def test_the_sentences_of_a_cross_encoder(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every pair of sentences alone, as a probability; the greatest over the query's sentences."""
    birch = Birch(a=0.3, w2=0.5, w3=0.2, scorer="cross", model=str(model))
    scorer = load_pairs(str(model))
    with index_of([Document(id, text) for id, text in TEXTS.items()]) as index:
        pool = load_candidates(index, ASKED, Ranking(tuple("cabd"), np.array([8.0, 4.0, 3.0, 0.0])))
        query = index.encode(ASKED)
        ranking = birch.rerank(query, pool)
        monkeypatch.setattr(birch_module, "PAIRS", 4)  # pairs go to the model in pieces
        advances: list[int] = []
        again = birch.rerank(query, pool, advances.append)
    query_texts, expected = query.texts(ASKED.text), {}
    for id, document, first in zip("cab", pool.sentences, (1, 0.5, 0.375), strict=False):
        each = [
            max(1 / (1 + math.exp(-scorer.score([one], [other]).scores[0])) for one in query_texts)
            for other in document.texts(TEXTS[id])
        ]
        best = [*sorted(each, reverse=True), 0.0, 0.0]
        expected[id] = 0.3 * first + 0.7 * (best[0] + 0.5 * best[1] + 0.2 * best[2])
    assert {id: score for id, score in scored(ranking).items() if id != "d"} == pytest.approx(expected, abs=1e-5)
    assert ranking.ids[-1] == "d"
    assert ranking.truncation.cut == 0 < ranking.truncation.inputs
    assert (again.ids, sum(advances)) == (ranking.ids, sum(map(len, pool.sentences)))
    assert again.scores == pytest.approx(ranking.scores, abs=1e-6)


def test_truncation_by_a_cross_encoder_is_reported(model: Path) -> None:
    birch = parse("reranker", f'birch(scorer=cross,model="{model}")')
    long = Document("l", "The court dismissed " + "the appeal of the tenant and " * 4 + "the dog.")
    with index_of([Document(id, text) for id, text in TEXTS.items()]) as index:
        pool = load_candidates(index, long, Ranking(("a", "c"), np.array([2.0, 1.0])))
        ranking = birch.rerank(index.encode(long), pool)
        results = Searcher(index, rerank=birch).search(long)
    assert ranking.truncation == Truncation(4, 4, 24)
    assert any("inputs truncated to 24 tokens" in line for line in results.notes)
    assert results[0].pairs


def test_a_cross_encoder_needs_texts(model: Path) -> None:
    with pytest.raises(UsageError, match="reads the texts of the candidates, which are missing"):
        Birch(scorer="cross", model=str(model)).rerank(QUERY, POOL)
