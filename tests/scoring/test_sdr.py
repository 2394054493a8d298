"""SDR against numbers worked by hand and a literal transcription; and the properties of one pass over documents."""

from __future__ import annotations

import tempfile
import tracemalloc
from collections.abc import Sequence
from fractions import Fraction
from itertools import repeat
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rprs.document import Document, Ranking, Sentences
from rprs.errors import UsageError
from rprs.rank import load_candidates
from rprs.rank.sdr import SDR
from rprs.scoring.aligned import DEFAULT_PLAN, Block, Plan, scan
from rprs.scoring.maxsim import best_sentences, maxsim, meanpool
from rprs.scoring.sdr import Normalise, sdr, statistics
from rprs.scoring.vectors import VECTOR_TYPES, VectorType, precision_of, to_grid
from rprs.spec import parse
from rprs.testing.rankers import SAMPLE, check_ranker, check_reranker
from tests.support import oracle_systems as oracle
from tests.support.indexes import MEMORY, index_of
from tests.support.oracle_systems import HALF, A, B, G, H
from tests.support.vectors import integers, plane_vectors

NORMALISE: tuple[Normalise, ...] = ("none", "zscore")


def document(paragraphs: Any, vector_type: VectorType = "float16") -> Sentences:
    """Paragraphs of vectors as the sentences of a document; the number of every paragraph is the one before plus 2."""
    rows = oracle.flat(paragraphs)
    vectors = np.array(rows, dtype=np.float64).reshape(len(rows), -1 if rows else 0).astype(vector_type)
    numbers = np.repeat(np.arange(len(paragraphs)) * 2, [len(paragraph) for paragraph in paragraphs])
    return Sentences(np.zeros((len(rows), 2), dtype=np.int64), numbers.astype(np.int32), vectors)


def random_sentences(
    rng: np.random.Generator, sentences: int, dimension: int = 16, vector_type: VectorType = "float16"
) -> Sentences:
    """A document of random sentences in random paragraphs."""
    numbers = np.cumsum(rng.random(sentences) < 0.3).astype(np.int32)
    vectors = to_grid(rng.standard_normal((sentences, dimension)), vector_type)
    return Sentences(np.zeros((sentences, 2), dtype=np.int64), numbers, vectors)


# ---------------------------------------------------------------------------- by hand


def test_by_hand() -> None:
    """A·B = H·G = 0 and A·H = A·G = B·H = B·G = 1/2 (A and B are axes; H and G have four halves), so that P[i, j] is

                          first document         second document
                          {A}        {G, B}      {H}        {−A}
    query paragraph {A, B}  (1 + 0)/2  (½ + 1)/2   (½ + ½)/2  (−1 + 0)/2
                          = ½        = ¾         = ½        = −½
    query paragraph {H}     ½          max(0, ½)   1          −½

    scores:  (¾ + ½) / 2 = 0.625  and  (½ + 1) / 2 = 0.75
    """
    query = document([[A, B], [H]])
    documents = [document([[A], [G, B]]), document([[H], [(-1, 0, 0, 0)]])]
    assert sdr(query, documents).tolist() == [0.625, 0.75]
    stats = statistics(query, documents)
    assert stats.mean.tolist() == [(1 / 2 + 3 / 4 + 1 / 2 - 1 / 2) / 4, (1 / 2 + 1 / 2 + 1 - 1 / 2) / 4]


def test_zscore_by_hand() -> None:
    """P of the query paragraph {A} is 1, 0, 0, 1 and that of {B} is 0, 1, 1, 0: both have mean ½ and deviation ½.

    So 1 becomes 1, 0 becomes −1, and the −1 of the document without sentences becomes −3:

                   {A}   {B}   {B} {A}   none
        {A}         1    −1      1        −3
        {B}        −1     1      1        −3
        score       0     0      1        −3
    """
    query = document([[A], [B]])
    documents = [document([[A]]), document([[B]]), document([[B], [A]]), document([])]
    assert sdr(query, documents, "zscore").tolist() == [0, 0, 1, -3]
    assert sdr(query, documents).tolist() == [0.5, 0.5, 1, -1]


def test_a_row_without_spread_is_0() -> None:
    """P of {A} is ½ throughout. P of {B} is ½, 0, 0, 0 in the second half: mean 1/8, deviation √(3/64)."""
    documents = [document([[H], [H, G]]), document([[G]]), document([])]
    assert sdr(document([[A]]), documents, "zscore").tolist() == [0, 0, 0]
    short = (HALF, 0, 0, 0)
    documents = [document([[(HALF, HALF, 0, 0)], [short]]), document([[short], [short]])]
    z = np.array([1 / 2 - 1 / 8, 0 - 1 / 8]) / np.sqrt(3 / 64)
    scores = sdr(document([[A], [B]]), documents, "zscore")
    assert scores.tolist() == pytest.approx(((0 + z) / 2).tolist(), rel=1e-15)


# ---------------------------------------------------------------------------- the literal transcription


@pytest.mark.parametrize("vectors", VECTOR_TYPES)
@settings(max_examples=80)
@given(data=st.data())
def test_equals_the_oracle(vectors: VectorType, data: st.DataObject) -> None:
    """Documents may be without sentences, of one sentence, equal, all alike to the query, and opposite to it."""
    paragraphs = st.lists(plane_vectors(vectors), min_size=1, max_size=3)
    query = data.draw(st.lists(paragraphs, min_size=1, max_size=4))
    pool = data.draw(st.lists(st.lists(paragraphs, max_size=4), max_size=5))
    exact = [[[tuple(map(Fraction, row)) for row in rows] for rows in text] for text in (query, *pool)]
    documents = [document(text, vectors) for text in pool]
    scores = sdr(document(query, vectors), documents)
    assert scores.tolist() == pytest.approx(oracle.sdr(exact[0], exact[1:]), rel=1e-14, abs=1e-15)
    scores = sdr(document(query, vectors), documents, "zscore")
    assert scores.tolist() == pytest.approx(oracle.sdr_zscore(exact[0], exact[1:]), rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("vectors", VECTOR_TYPES)
def test_the_statistics_of_a_long_query_are_exact(vectors: VectorType) -> None:
    """Sums of 3,000 similarities leave the range where float32 is exact, and their squares that of float64."""
    rng = np.random.default_rng(1)
    query, *documents = (random_sentences(rng, size, vector_type=vectors) for size in (3000, 40, 1, 0, 25))
    query = Sentences(query.spans, np.repeat([0, 1], [2900, 100]).astype(np.int32), query.vectors)
    stats = statistics(query, documents)
    for i, rows in enumerate((slice(0, 2900), slice(2900, 3000))):
        p = [
            Fraction(
                int((integers(query.vectors[rows]) @ integers(each.vectors[each.paragraphs == j]).T).max(axis=1).sum()),
                precision_of(query.vectors).per_unit * (rows.stop - rows.start),
            )
            for each in documents
            for j in np.unique(each.paragraphs)
        ]
        centre = oracle.mean(p)
        assert stats.mean[i] == float(centre)
        assert stats.deviation[i] == pytest.approx(
            np.sqrt(float(oracle.mean([(x - centre) ** 2 for x in p]))), rel=1e-15
        )


# ---------------------------------------------------------------------------- one pass over documents


def everything(
    query: Sentences, documents: Sequence[Sentences], plan: Plan = DEFAULT_PLAN
) -> list[NDArray[np.float64]]:
    """The scores of every method that passes over documents."""
    return [
        sdr(query, documents, "none", plan=plan),
        sdr(query, documents, "zscore", plan=plan),
        maxsim(query.vectors, documents, "query", plan=plan),
        maxsim(query.vectors, documents, "document", plan=plan),
        maxsim(query.vectors, documents, "both", plan=plan),
        meanpool(query.vectors, documents, plan=plan),
        best_sentences(query.vectors, documents, 3, plan=plan),
    ]


@settings(max_examples=40)
@given(
    query=st.integers(1, 40),
    sizes=st.lists(st.integers(0, 1) | st.integers(0, 50), max_size=12),
    plan=st.builds(Plan, st.integers(1, 4), st.integers(1, 50), st.integers(1, 30), st.integers(1, 90)),
    seed=st.integers(0, 9),
    vectors=st.sampled_from(VECTOR_TYPES),
)
def test_blocks_chunks_and_threads_change_no_bit(
    query: int, sizes: list[int], plan: Plan, seed: int, vectors: VectorType
) -> None:
    rng = np.random.default_rng(seed)
    query_sentences, *documents = (random_sentences(rng, size, vector_type=vectors) for size in (query, *sizes))
    for usual, other in zip(
        everything(query_sentences, documents), everything(query_sentences, documents, plan), strict=True
    ):
        assert np.array_equal(usual, other)


@pytest.mark.parametrize(("query", "size"), [(9000, 3), (3, 9000)])
def test_sums_too_long_to_be_exact_are_added_in_the_order_of_the_sentences(query: int, size: int) -> None:
    """8,192 similarities of float32 vectors add up exactly in float64; of more than that, the order matters."""
    rng = np.random.default_rng(0)
    sentences = [random_sentences(rng, rows, 2, "float32") for rows in (query, size, 5)]  # nearly all similarities > ½
    long, *documents = (Sentences(each.spans, np.zeros_like(each.paragraphs), each.vectors) for each in sentences)
    usual = everything(long, documents)
    for plan in (Plan(1, 700, 300, 1), Plan(2, 5000, 5000, 100), Plan(1, 1, 9000, 1)):
        for one, other in zip(usual, everything(long, documents, plan), strict=True):
            assert np.array_equal(one, other)


@settings(max_examples=30)
@given(st.integers(0, 99))
def test_permuted_documents_have_their_scores_permuted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    query, documents = (
        random_sentences(rng, 9),
        [random_sentences(rng, int(size)) for size in rng.choice([0, 1, 2, 30], 9)],
    )
    order = rng.permutation(len(documents))
    for before, after in zip(
        everything(query, documents), everything(query, [documents[place] for place in order]), strict=True
    ):
        assert np.array_equal(before[order], after)


def test_one_paragraph_each_is_maxsim() -> None:
    rng = np.random.default_rng(0)
    query, documents = random_sentences(rng, 30), [random_sentences(rng, size) for size in (1, 600, 0, 17)]
    whole = [Sentences(each.spans, np.zeros(len(each), dtype=np.int32), each.vectors) for each in (query, *documents)]
    assert np.array_equal(sdr(whole[0], whole[1:]), maxsim(query.vectors, documents))


def test_no_documents() -> None:
    query = random_sentences(np.random.default_rng(0), 3)
    assert [scores.shape for scores in everything(query, [])] == [(0,)] * 6 + [(0, 3)]


@pytest.mark.parametrize("normalise", NORMALISE)
def test_progress_counts_every_sentence_once(normalise: Normalise) -> None:
    rng, advances = np.random.default_rng(0), list[int]()
    documents = [random_sentences(rng, size) for size in (3, 0, 8, 1, 5)]
    sdr(random_sentences(rng, 4), documents, normalise, plan=Plan(2, chunk=4), advance=advances.append)
    assert sum(advances) == 17


def test_zscore_needs_documents_that_can_be_iterated_twice() -> None:
    documents = iter([document([[A]])])
    with pytest.raises(UsageError, match="goes through the documents twice"):
        sdr(document([[A]]), documents, "zscore")


def test_an_error_ends_the_pass_in_all_threads() -> None:
    """The documents never end, so this would run for ever."""

    def fail(block: Block, values: NDArray[np.float64]) -> None:
        raise ValueError("spoilt")

    with pytest.raises(ValueError, match="spoilt"):
        scan(repeat(document([[A]])), [lambda *_: None, fail], 1, plan=Plan(chunk=1), advance=lambda _rows: None)


def test_memory_does_not_grow_with_the_documents() -> None:
    """They come from a generator, so that memory would grow with anything kept of them."""
    rng = np.random.default_rng(0)
    query, stock = random_sentences(rng, 300, 64), random_sentences(rng, 200, 64)

    def peak(count: int) -> int:
        fresh = (Sentences(stock.spans, stock.paragraphs, stock.vectors.copy()) for _ in range(count))
        tracemalloc.start()
        try:
            sdr(query, fresh, plan=Plan(2))
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(10)
    assert peak(400) < peak(100) + 200 * 64 * 2 * 10  # 10 of the 300 more
    assert peak(400) < 12_000_000  # 80,000 sentences are 20 MB as float32, and their products 96 MB


# ---------------------------------------------------------------------------- components


@pytest.fixture(autouse=True)
def _in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", MEMORY)


FEW = tuple(each for each in SAMPLE if each.id in ("lamp", "copy", "Zulu", "one", "dots", "long"))


@pytest.mark.parametrize("normalise", NORMALISE)
def test_the_contracts(normalise: Normalise) -> None:
    check_reranker(SDR(normalise))
    check_ranker(SDR(normalise), FEW)


def test_the_whole_collection_is_ranked_as_candidates_are() -> None:
    """Over segments with a gap, under a filter, to the last bit."""
    query = Document("query", "Rent is due at dusk.\n\nThe landlord lights the lamp. Ships pay no rent.")
    with index_of(SAMPLE[:6], (*SAMPLE[6:], Document("blank", " \n ")), removed=["valve"]) as index:
        assert not len(index.sentences("blank"))
        allowed = np.array([id != "phare" for id in index.ids])
        ids = tuple(id for id in index.ids if id not in ("phare", "blank"))
        candidates = load_candidates(index, query, Ranking(ids, np.zeros(len(ids))))
        for text in ("sdr", "sdr(zscore)", "maxsim", "maxsim(document)", "maxsim(both)", "meanpool"):
            expected = parse("reranker", text).rerank(index.encode(query), candidates)
            for depth in (4, 100):
                ranking = parse("ranker", text).rank(query, index, depth, allowed)
                assert ranking.ids == expected.ids[:depth]
                assert np.array_equal(ranking.scores, expected.scores[:depth])


@pytest.mark.parametrize("kind", ["ranker", "reranker"])
def test_parameters(kind: Any) -> None:
    assert parse(kind, "sdr") == parse(kind, "sdr(normalise=none)")
    assert str(parse(kind, "sdr(zscore)")) == "sdr(normalise=zscore)"
    with pytest.raises(UsageError, match="The 'normalise' parameter of sdr must be 'none' or 'zscore'"):
        type(parse(kind, "sdr"))("all")
