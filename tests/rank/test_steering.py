"""Steered rankings: marks on documents and on sentences, against a literal oracle."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import fmean, pstdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs.document import Document, Ranking
from rprs.errors import EmptyQuery, NoDocument, UsageError
from rprs.index import Index, Writer
from rprs.rank import load_candidates
from rprs.rank.steering import NO_MARKS, Marks, Range, as_marks, query_parts
from rprs.rank.system import System
from rprs.scoring import steering
from rprs.search import Searcher
from tests.support.indexes import index_of
from tests.support.tales import tale, tales

TALES = tales(24)
QUERY = Document("query", tale(random.Random(99), 9))
SYSTEMS = [
    System(),
    System("bm25", None),
    System("cosine", "rprs(n=3,k1=1.5)", depth=12),
    System("fuse(bm25,maxsim)", "sdr", depth=12),
    System("maxsim", "meanpool", depth=12),
]


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    with index_of(TALES[:11], TALES[11:]) as opened:
        yield opened


def spans(index: Index) -> list[Range]:
    """The ranges of the query's sentences."""
    return [(start, end) for start, end in index.query_sentences(QUERY).spans.tolist()]


# ---------------------------------------------------------------------------- the oracle


def oracle_z(scores: dict[str, float], ids: list[str]) -> dict[str, float]:
    """The standard scores of the logarithms, or of the scores themselves where one is below 0."""
    if min(scores.values(), default=0.0) < 0:
        filled = {id: scores.get(id, min(scores.values())) for id in ids}
    else:
        least = min((score for score in scores.values() if score > 0), default=None)
        if least is None:
            return dict.fromkeys(ids, 0.0)
        filled = {id: math.log(scores[id] if scores.get(id, 0) > 0 else least) for id in ids}
    mean, deviation = fmean(filled.values()), pstdev(filled.values())
    return {id: (value - mean) / deviation if deviation > 0 else 0.0 for id, value in filled.items()}


def oracle_sum(lists: list[dict[str, float]], weights: list[float], ids: list[str]) -> dict[str, float]:
    standard = [oracle_z(scores, ids) for scores in lists]
    total = sum(weights)
    return {
        id: math.exp(sum(weight * each[id] for weight, each in zip(weights, standard, strict=True)) / total)
        for id in ids
    }


def oracle(
    index: Index, system: System, documents: list[Document], weights: list[float], out: set[str]
) -> dict[str, float]:
    """Both stages by their definition: every part ranks by itself, and standard scores are added up."""
    allowed = np.array([id not in out for id in index.ids])
    lists = []
    for document in documents:
        ranking = system.first.rank(document, index, len(index), allowed)
        lists.append(dict(zip(ranking.ids, ranking.scores.tolist(), strict=True)))
    found = sorted({id for each in lists for id in each})
    totals = oracle_sum(lists, weights, found)
    best = sorted(found, key=lambda id: (-totals[id], id))[: system.depth]
    if system.rerank is None:
        return {id: totals[id] for id in best}
    reranked = []
    first = Ranking(tuple(best), np.array([totals[id] for id in best]))
    for document in documents:
        ranking = system.rerank.rerank(index.query_sentences(document), load_candidates(index, document, first))
        reranked.append(dict(zip(ranking.ids, ranking.scores.tolist(), strict=True)))
    return oracle_sum(reranked, weights, best)


@pytest.mark.parametrize("system", SYSTEMS, ids=str)
def test_marks_rank_as_the_oracle_does(index: Index, system: System) -> None:
    every, text = spans(index), QUERY.text
    key, ignored = every[2:4], [every[0], every[5]]
    ranking = Searcher(index, system).rank(QUERY, like=["t03", "t07"], unlike=["t05"], key=key, ignore=ignored)
    kept = text[every[1][0] : every[4][1]] + "\n\n" + text[every[6][0] : every[-1][1]]
    parts = [Document("query", kept), Document("key", text[every[2][0] : every[3][1]])]
    parts += [index.document(id) for id in ("t03", "t07")]
    expected = oracle(index, system, parts, [1, steering.KEY, steering.LIKE, steering.LIKE], {"t03", "t05", "t07"})
    assert dict(zip(ranking.ids, ranking.scores.tolist(), strict=True)) == pytest.approx(expected, rel=1e-9)
    assert ranking.scores.tolist() == sorted(ranking.scores.tolist(), reverse=True)


@pytest.mark.parametrize("system", SYSTEMS, ids=str)
def test_without_marks_rankings_are_bit_identical(index: Index, system: System) -> None:
    searcher = Searcher(index, system)
    plain, marked = searcher.rank(QUERY), searcher.rank(QUERY, like=[], unlike=(), key=[], ignore=[])
    assert plain.ids == marked.ids
    assert plain.scores.tobytes() == marked.scores.tobytes()
    assert searcher.search(QUERY).hits == searcher.search(QUERY, like=(), key=()).hits


# ---------------------------------------------------------------------------- documents


def test_relevant_documents_join_the_query_and_are_no_hits(index: Index) -> None:
    searcher = Searcher(index)
    plain, steered = searcher.rank(QUERY), searcher.rank(QUERY, like=["t03"])
    assert "t03" in plain.ids
    assert "t03" not in steered.ids
    assert steered.ids != tuple(id for id in plain.ids if id != "t03")
    assert "t03" in searcher.rank(QUERY, like=["t03"], keep_self=True).ids


def test_copies_of_a_relevant_document_are_left_out_too() -> None:
    with index_of([*TALES, Document("copy", TALES[3].text)]) as index:
        assert "copy" in Searcher(index).rank(QUERY).ids
        assert "copy" not in Searcher(index).rank(QUERY, like=["t03"]).ids


def test_documents_that_are_not_relevant_are_left_out_and_change_nothing_else(index: Index) -> None:
    searcher = Searcher(index, "bm25")
    plain, steered = searcher.rank(QUERY), searcher.rank(QUERY, unlike=["t05"])
    assert steered.ids == tuple(id for id in plain.ids if id != "t05")
    assert searcher.rank(QUERY, unlike=["t05"], keep_self=True).ids == steered.ids


def test_all_relevant_documents_together_count_as_much_as_the_query(index: Index) -> None:
    for size in range(1, 12):
        ids = tuple(index.ids[:size])
        parts = query_parts(QUERY, index.query_sentences(QUERY), Marks(like=ids), index)
        assert parts[0].weight == 1.0
        assert sum(part.weight for part in parts[1:]) == pytest.approx(min(size * steering.LIKE, steering.MOST))


# ---------------------------------------------------------------------------- sentences


def test_ignored_sentences_are_left_out_of_the_query(index: Index) -> None:
    every = spans(index)
    searcher = Searcher(index)
    start, end = every[-3][0], every[-1][1]
    shorter = Document(QUERY.id, QUERY.text[: every[-4][1]])
    steered = searcher.rank(QUERY, ignore=[(start, end)])
    assert steered.scores.tobytes() == searcher.rank(shorter).scores.tobytes()
    touched = searcher.rank(QUERY, ignore=[(start + 1, start + 2), (every[-2][0], end)])  # a part marks the sentence
    assert touched.ids == steered.ids


def test_a_key_sentence_brings_up_documents_that_have_it() -> None:
    filler = "The pilot left the harbour at dusk. The ferry kept to the channel. Fog lay over the quay all night."
    documents = [
        Document("all", filler.replace("night", "day")),
        Document("other", "The deposit was never returned. A lamp on the mast burned."),
        *tales(6),
    ]
    query = Document("query", f"{filler} The deposit was never returned.")
    start = query.text.index("The deposit")
    with index_of(documents) as index:
        searcher = Searcher(index, "bm25")
        plain, steered = searcher.rank(query), searcher.rank(query, key=[(start, len(query.text))])
        gap = {name: dict(zip(r.ids, r.scores, strict=True)) for name, r in (("plain", plain), ("key", steered))}
        assert steered.ids.index("other") <= plain.ids.index("other")
        assert gap["key"]["other"] / gap["key"]["all"] > gap["plain"]["other"] / gap["plain"]["all"]


def test_evidence_is_that_of_the_whole_query(index: Index) -> None:
    every = spans(index)
    searcher = Searcher(index)
    steered = {hit.id: hit for hit in searcher.search(QUERY, 20, ignore=every[:3], group=False)}
    assert steered
    for hit in searcher.search(QUERY, 20, group=False):
        if hit.id in steered:
            assert steered[hit.id].pairs == hit.pairs
            assert steered[hit.id].query_coverage == hit.query_coverage


def test_an_explanation_has_the_rank_of_the_steered_search(index: Index) -> None:
    marks = {"like": ["t03"], "unlike": ["t05"], "key": spans(index)[:1]}
    searcher = Searcher(index)
    for hit in searcher.search(QUERY, 30, group=False, **marks):  # type: ignore[arg-type]
        explained = searcher.explain(QUERY, hit.id, **marks).hit  # type: ignore[arg-type]
        assert (explained.rank, explained.score, explained.first_rank) == (hit.rank, hit.score, hit.first_rank)
    assert not searcher.explain(QUERY, "t03", **marks).in_pool  # type: ignore[arg-type]
    assert not searcher.explain(QUERY, "t05", **marks).in_pool  # type: ignore[arg-type]


def test_marks_are_part_of_the_provenance(index: Index) -> None:
    searcher = Searcher(index)
    about = searcher.about(QUERY, 5, like=["t03"], unlike=["é"], key=[(0, 9)], ignore=[(20, 30), (10, 15)])
    assert (about.like, about.unlike, about.key, about.ignore) == (
        '["t03"]',
        '["é"]',
        "[[0, 9]]",
        "[[10, 15], [20, 30]]",
    )
    assert searcher.about(QUERY, 5).like is None


# ---------------------------------------------------------------------------- wrong marks


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        ({"like": "t03"}, "like must be a list of document ids. Got 't03'"),
        ({"unlike": 7}, "unlike must be a list of document ids. Got 7"),
        ({"like": [1.5]}, "The id of a document must be a string or an integer. Got 1.5 instead."),
        ({"like": ["t03"], "unlike": ["t03"]}, "'t03' is marked as relevant and as not relevant: choose one"),
        ({"key": [(5, 5)]}, "A range of key must have 0 <= start < end. Got (5, 5)"),
        ({"key": [(-1, 5)]}, "A range of key must have 0 <= start < end. Got (-1, 5)"),
        ({"ignore": [(1, 2, 3)]}, "ignore must be a list of (start, end) in the query's text. Got (1, 2, 3)"),
        ({"ignore": (1, 2)}, "ignore must be a list of (start, end) in the query's text. Got 1"),
        ({"ignore": "3-4"}, "ignore must be a list of (start, end) in the query's text. Got '3-4'"),
        ({"key": [(0, True)]}, "key must be a list of (start, end) in the query's text. Got (0, True)"),
    ],
)
def test_wrong_marks_are_one_line(index: Index, marks: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Searcher(index).search(QUERY, **marks)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_marks_that_do_not_fit_the_query_or_the_index(index: Index) -> None:
    searcher, every, size = Searcher(index), spans(index), len(QUERY.text)
    with pytest.raises(NoDocument, match=r"There is no document 'nowhere' in .*: remove the mark, or correct the id"):
        searcher.search(QUERY, like=["nowhere"])
    with pytest.raises(NoDocument, match="There is no document 'nowhere'"):
        searcher.search(QUERY, unlike=["nowhere"])
    with pytest.raises(UsageError, match=f"ends beyond the query, which has {size} characters"):
        searcher.search(QUERY, key=[(0, size + 1)])
    with pytest.raises(UsageError, match="A sentence is marked as key and as ignored: "):
        searcher.search(QUERY, key=every[:2], ignore=every[1:3])
    with pytest.raises(EmptyQuery, match=f"All {len(every)} sentences of the query 'query' are ignored"):
        searcher.search(QUERY, ignore=[(0, size)])


def test_a_steered_search_keeps_the_note_that_phrases_are_missing(tmp_path: Path) -> None:
    with Writer(tmp_path / "old.rprs", create=True, encoder="hashed(dimension=32)", phrases=False) as writer:
        writer.add(TALES)
    with Index(tmp_path / "old.rprs") as old:
        searcher = Searcher(old)
        plain, steered = searcher.search(QUERY), searcher.search(QUERY, like=[TALES[0].id])
        assert [note for note in plain.notes if "has no phrases" in note]
        assert steered.notes == plain.notes
        assert searcher.rank(QUERY, like=[TALES[0].id]).notes == searcher.rank(QUERY).notes


# ---------------------------------------------------------------------------- the formula


def test_a_worked_example() -> None:
    # ln s is 0, 1, 2 for one part and 2, 1, 0 for the other: z is -√1.5, 0, √1.5 and the reverse
    a, b, z = np.exp([0.0, 1.0, 2.0]), np.exp([2.0, 1.0, 0.0]), math.sqrt(1.5)
    assert steering.combined([a, b], [1.0, 1.0]) == pytest.approx([1.0, 1.0, 1.0])
    assert steering.combined([a, b], [1.0, 0.25]) == pytest.approx(np.exp([-0.6 * z, 0.0, 0.6 * z]))


scores = st.lists(st.floats(0, 1e6), min_size=3, max_size=3).map(np.array)


@given(st.lists(st.tuples(scores, st.floats(0.01, 10)), min_size=1, max_size=4), st.floats(0.1, 10))
def test_scores_do_not_depend_on_the_scale_of_a_part_or_of_all_weights(
    parts: list[tuple[object, float]], by: float
) -> None:
    rows, weights = [np.asarray(row, dtype=np.float64) for row, _ in parts], [weight for _, weight in parts]
    total = steering.combined(rows, weights)
    assert np.all(total > 0)
    assert steering.combined(rows, [weight * by for weight in weights]) == pytest.approx(total, rel=1e-6)


@given(st.lists(st.one_of(st.floats(-100, 100), st.just(math.nan)), min_size=1, max_size=6))
def test_standard_scores_keep_the_order(values: list[float]) -> None:
    standard = steering.standardised(np.array(values))
    assert np.all(np.isfinite(standard))
    for (x, y), (p, q) in zip(pairwise(values), pairwise(standard.tolist()), strict=True):
        if x <= y:
            assert p <= q + 1e-9


def test_no_marks() -> None:
    assert as_marks() == NO_MARKS
    assert not NO_MARKS
    assert as_marks(like=["a", "a"], key=[(3, 4), (1, 2), (3, 4)]) == Marks(like=("a",), key=((1, 2), (3, 4)))
