"""RPRS as a first stage: the ranking that re-ranking every document would give."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rprs import Searcher
from rprs.document import Document, Ranking
from rprs.index import Index
from rprs.progress import Advance, stopper
from rprs.rank import RPRS, Mask, load_candidates
from rprs.scoring.neighbours import Ties
from rprs.scoring.rprs import Form
from rprs.spec import parse
from rprs.testing.rankers import SAMPLE, check_ranker
from tests.support.indexes import MEMORY, index_of

FEW = tuple(each for each in SAMPLE if each.id in ("lamp", "copy", "Zulu", "one", "dots", "long"))
WORDS = ["rent", "lamp", "reef", "valve", "dusk"]


@pytest.fixture(autouse=True)
def _in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", MEMORY)


def reranked(component: RPRS, query: Document, index: Index, allowed: Mask) -> Ranking:
    """Every allowed document as a candidate, in the order of the ids; those with a positive score."""
    ids = tuple(id for id, kept in zip(index.ids, allowed, strict=True) if kept)
    candidates = load_candidates(index, query, Ranking(ids, np.zeros(len(ids))))
    ranking = component.rerank(index.query_sentences(query), candidates)
    return ranking.top(int(np.count_nonzero(ranking.scores > 0)))


def require_same(actual: Ranking, expected: Ranking) -> None:
    assert actual.ids == expected.ids
    assert actual.scores.tobytes() == expected.scores.tobytes()
    assert {name: values.tobytes() for name, values in actual.parts.items()} == {
        name: values.tobytes() for name, values in expected.parts.items()
    }


@pytest.mark.parametrize("text", ["rprs", "rprs(n=1,k1=0)", "rprs(n=300,k1=2.8,b=1)", "rprs(ties=worst)"])
def test_it_keeps_the_contract(text: str) -> None:
    check_ranker(parse("ranker", text), FEW)


@pytest.mark.parametrize("form", get_args(Form))
@pytest.mark.parametrize("ties", get_args(Ties))
def test_equals_re_ranking_every_document(form: Form, ties: Ties) -> None:
    """Over segments with a gap, under a filter, with an empty document, to the last bit."""
    query = Document("query", "Rent is due at dusk.\n\nThe landlord lights the lamp. Ships pay no rent.")
    with index_of(SAMPLE[:6], (*SAMPLE[6:], Document("blank", " \n ")), removed=["valve"]) as index:
        allowed = np.array([id != "phare" for id in index.ids])
        for options in ({"n": 2, "k1": 0.0}, {"n": 5}, {"n": 1000, "k1": 2.8, "b": 1.0, "avgdl": "candidates"}):
            component = RPRS(**options, form=form, ties=ties)
            expected = reranked(component, query, index, allowed)
            assert len(expected)
            for depth in (3, 100):
                require_same(component.rank(query, index, depth, allowed), expected.top(depth))


def texts(size: int) -> Any:
    sentence = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(lambda words: " ".join(words) + ".")
    return st.lists(sentence, max_size=size).map("\n\n".join)


@settings(max_examples=30, deadline=None)
@given(
    bodies=st.lists(texts(4), min_size=1, max_size=8),
    query=texts(4),
    n=st.integers(1, 30),
    k1=st.sampled_from([0.0, 1.5]),
    avgdl=st.sampled_from(["collection", "candidates", 2.5]),
    ties=st.sampled_from(get_args(Ties)),
    chance=st.randoms(use_true_random=False),
)
def test_history_changes_nothing(
    bodies: list[str], query: str, n: int, k1: float, avgdl: Any, ties: Ties, chance: random.Random
) -> None:
    """Five words make equal sentences the rule; documents are added in any order, some removed or replaced."""
    documents = [Document(f"d{chance.randrange(10**6):06}-{place}", body) for place, body in enumerate(bodies)]
    shuffled = chance.sample(documents, len(documents))
    cut = chance.randrange(len(documents) + 1)
    extra = [Document("gone", "rent lamp. reef."), Document(documents[0].id, "valve.")]
    component = RPRS(n=n, k1=k1, avgdl=avgdl, ties=ties)
    document = Document("query", query)
    mask = np.array([chance.random() < 0.8 for _ in documents])
    with index_of(documents) as one, index_of(extra, shuffled[:cut], shuffled[cut:], removed=["gone"]) as many:
        assert one.ids == many.ids
        ranking = component.rank(document, one, 100, mask)
        require_same(ranking, component.rank(document, many, 100, mask))
        if len(one.query_sentences(document)):
            require_same(ranking, reranked(component, document, one, mask))
        else:
            assert not len(ranking)


def test_only_documents_with_a_near_sentence_are_ranked() -> None:
    documents = [Document(name, f"{name}.") for name in WORDS]
    with index_of(documents) as index:
        everything = np.ones(len(index), dtype=bool)
        ranking = RPRS(n=1, k1=0).rank(Document("q", "Reef.\n\nDusk."), index, 10, everything)
        assert dict(zip(ranking.ids, ranking.scores.tolist(), strict=True)) == {"dusk": 0.5, "reef": 0.5}
        assert ranking.ids == ("dusk", "reef")  # equal scores: by id
        assert ranking.parts["qp"].tolist() == [0.5, 0.5]
        assert ranking.parts["dp"].tolist() == [1, 1]
        assert ranking.neighbours is None


def test_a_search_has_parts_and_the_same_evidence_as_with_a_reranker() -> None:
    with index_of(SAMPLE) as index:
        alone = Searcher(index, first="rprs(n=3)", rerank=None).search(SAMPLE[0])
        again = Searcher(index, first="rprs(n=3)", rerank="rprs(n=3)").search(SAMPLE[0])
        assert {"qp", "dp"} == set(alone[0].parts)
        assert {hit.id: hit.pairs for hit in alone} == {hit.id: hit.pairs for hit in again}


def test_fused_with_words() -> None:
    query = Document("q", "Fog hides the reef. The tenant pays.")
    with index_of(SAMPLE) as index:
        everything = np.ones(len(index), dtype=bool)
        words, vectors, fused = (
            parse("ranker", text).rank(query, index, 20, everything)
            for text in ("bm25", "rprs(n=2)", "fuse(bm25, rprs(n=2))")
        )
    assert set(fused.ids) == {*words.ids, *vectors.ids}
    assert words.ids != vectors.ids
    shares = [{id: 1 / (60 + rank) for rank, id in enumerate(each.ids, 1)} for each in (words, vectors)]
    expected = [(shares[0].get(id, 0) + shares[1].get(id, 0)) / 2 for id in fused.ids]
    assert fused.scores.tolist() == pytest.approx(expected)


class Recorded:
    """A progress that records its tasks."""

    def __init__(self) -> None:
        self.tasks: list[tuple[str, int | None, str]] = []
        self.done: dict[str, int] = {}

    @contextmanager
    def __call__(self, what: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
        self.tasks.append((what, total, unit))
        self.done.setdefault(what, 0)

        def advance(amount: int) -> None:
            self.done[what] += amount

        yield advance


@pytest.mark.parametrize("first", ["rprs", "sdr", "maxsim", "meanpool", "sdr(normalise=zscore)"])
def test_a_search_shows_the_progress_of_the_scan(first: str) -> None:
    with index_of(SAMPLE) as index:
        progress = Recorded()
        Searcher(index, first=first, rerank=None, progress=progress).search(Document("q", "Rent is due."))
        total = int(index.sentence_counts.sum())
        assert ("comparing all sentences", total, "sentences") in progress.tasks
        assert progress.done["comparing all sentences"] == total


def test_a_scan_can_be_stopped() -> None:
    stop = Event()

    def check() -> None:
        if stop.is_set():
            raise InterruptedError("cancelled")

    with index_of(SAMPLE) as index:
        token = stopper.set(check)
        try:
            component, everything = RPRS(), np.ones(len(index), dtype=bool)
            assert len(component.rank(SAMPLE[0], index, 5, everything))
            stop.set()
            with pytest.raises(InterruptedError, match="cancelled"):
                component.rank(SAMPLE[0], index, 5, everything)
        finally:
            stopper.reset(token)


def test_an_index_without_sentences() -> None:
    nothing: Sequence[Document] = [Document("blank", " "), Document("dots", "")]
    with index_of(nothing) as index:
        assert RPRS().rank(Document("q", "Rent."), index, 5, np.ones(2, dtype=bool)).ids == ()
