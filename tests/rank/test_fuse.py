"""Two rankings as one: worked by hand, against literal code, as first stage and as re-ranker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rprs.document import Candidates, Document, Ranking
from rprs.errors import EmptyQuery, UsageError
from rprs.index import Index
from rprs.rank import BM25, RPRS, Mask, TwoStepReranker
from rprs.rank.birch import Birch
from rprs.rank.fuse import First, Fuse, run_files, uses_vectors
from rprs.rank.sdr import SDR
from rprs.scoring.fuse import minmax, mix, shares
from rprs.search import Searcher
from rprs.spec import Component, Kind, parse, text
from rprs.testing.rankers import SAMPLE, check_ranker, check_reranker, make_candidates
from tests.support.indexes import documents, index_of

Floats = NDArray[np.float64]


def run(folder: Path, name: str, **scores: float) -> str:
    """A first stage that returns these documents with these scores for any query."""
    path = folder / name
    path.write_text("".join(f"q Q0 {id} 0 {score} {name}\n" for id, score in scores.items()))
    return f'runfile("{path}")'


def literal(lists: Sequence[Mapping[str, float]], method: str, weight: float, k: int) -> dict[str, float]:
    """The fused score of every document of two lists, best first."""
    totals: dict[str, float] = {}
    for share, listed in zip((1 - weight, weight), lists, strict=True):
        for rank, (id, score) in enumerate(listed.items(), 1):
            low, high = min(listed.values()), max(listed.values())
            scaled = (score - low) / (high - low) if high > low else 1.0
            totals[id] = totals.get(id, 0.0) + share * (1 / (k + rank) if method == "rrf" else scaled)
    return totals


# ---------------------------------------------------------------------------- worked by hand


class TestByHand:
    """The list a has x 9, y 6, z 1 and the list b has z 4, w 2."""

    @pytest.fixture
    def lists(self, tmp_path: Path) -> str:
        return f"{run(tmp_path, 'a', x=9, y=6, z=1)},{run(tmp_path, 'b', z=4, w=2)}"

    @pytest.mark.parametrize(
        ("how", "expected"),
        [
            # x = .5/2, y = .5/3, z = .5/4 + .5/2, w = .5/3: y and w are equal, so the smaller id comes first
            ("k=1", {"z": 0.375, "x": 0.25, "w": 1 / 6, "y": 1 / 6}),
            # a: x 1, y 5/8, z 0; b: z 1, w 0; three quarters for a
            ("method=minmax,weight=0.25", {"x": 0.75, "y": 0.46875, "z": 0.25, "w": 0}),
            ("k=1,weight=0", {"x": 1 / 2, "y": 1 / 3, "z": 1 / 4, "w": 0}),
            ("k=1,weight=1", {"z": 1 / 2, "w": 1 / 3, "x": 0, "y": 0}),
        ],
    )
    def test_a_first_stage(self, lists: str, how: str, expected: dict[str, float]) -> None:
        ranker = parse("ranker", f"fuse({lists},{how})")
        with index_of(documents(w="A.", x="B.", y="C.", z="D.", other="E.")) as index:
            ranking = ranker.rank(Document("q", "Q."), index, 10, np.ones(5, dtype=bool))
        assert dict(zip(ranking.ids, ranking.scores.tolist(), strict=True)) == pytest.approx(expected)
        assert list(ranking.ids) == list(expected)

    def test_depth_is_that_of_each_list_and_of_the_result(self, lists: str) -> None:
        """Two deep, the list a is x, y and z only in b: x = .5/61, z = .5/61, and x is the smaller id."""
        with index_of(documents(w="A.", x="B.", y="C.", z="D.")) as index:
            ranking = parse("ranker", f"fuse({lists})").rank(Document("q", "Q."), index, 2, np.ones(4, dtype=bool))
        assert ranking.ids == ("x", "z")
        assert ranking.scores.tolist() == [0.5 / 61, 0.5 / 61]

    def test_a_reranker(self) -> None:
        """Of three equal documents RPRS gives all to the first; first scores 3, 2, 1 are 1, .5, 0.

        n = 1: the query's sentence is found in p, so RPRS scores 1, 0, 0, which minmax keeps.
        With weight .3: p = .7 · 1 + .3 · 1 = 1; q = .7 · .5 = .35; r = 0.
        """
        sentence = "The pilot waits for daylight."
        run = Ranking(("p", "q", "r"), np.array([3.0, 2.0, 1.0]))
        with index_of(documents(p=sentence, q=sentence, r=sentence)) as index:
            query = index.encode(Document("x", sentence))
            pool = Candidates(run, [index.sentences(id) for id in run.ids], 1.0)
            ranking = parse("reranker", "fuse(first, rprs(n=1,k1=0), method=minmax, weight=0.3)").rerank(query, pool)
        assert ranking.ids == ("p", "q", "r")
        assert ranking.scores.tolist() == pytest.approx([1, 0.35, 0])
        assert ranking.parts["qp"].tolist() == [1, 0, 0]
        assert ranking.neighbours is not None


# ---------------------------------------------------------------------------- literal code

SCORES = st.dictionaries(
    st.sampled_from([f"d{number}" for number in range(8)]), st.integers(-3, 3).map(float), max_size=8
)


@dataclass(frozen=True)
class Given(Component):
    """A first stage that always returns the same list."""

    listed: Mapping[str, float] = field(hash=False)
    name: ClassVar[str] = "given"
    kinds: ClassVar[tuple[Kind, ...]] = ("ranker",)

    def rank(self, query: Document, index: Index, depth: int, allowed: Mask) -> Ranking:
        ids = tuple(self.listed)[:depth]
        scores = np.array([self.listed[id] for id in ids], dtype=np.float64)
        return Ranking(ids, scores, {"own": scores * 2}, notes=("a note",))


@settings(max_examples=80)
@given(SCORES, SCORES, st.sampled_from(["rrf", "minmax"]), st.integers(0, 10), st.integers(0, 60), st.integers(1, 9))
def test_a_first_stage_equals_the_formula(
    a: dict[str, float], b: dict[str, float], method: Any, tenth: int, k: int, depth: int
) -> None:
    ordered = [dict(sorted(one.items(), key=lambda pair: (-pair[1], pair[0]))[:depth]) for one in (a, b)]
    expected = literal(ordered, method, tenth / 10, k)
    fused = Fuse(Given(ordered[0]), Given(ordered[1]), method, tenth / 10, k)
    ranking = fused.rank(Document("q", ""), NO_INDEX, depth, np.ones(8, dtype=bool))
    order = sorted(expected, key=lambda id: (-round(expected[id], 12), id))[:depth]
    assert [round(score, 12) for score in ranking.scores] == [round(expected[id], 12) for id in order]
    assert ranking.scores.tolist() == pytest.approx([expected[id] for id in ranking.ids])
    own = [2 * ordered[0].get(id, np.nan) for id in ranking.ids]  # both have this part: the value of the first is used
    assert ranking.parts["own"].tolist() == pytest.approx(own, nan_ok=True)
    assert ranking.notes == ("a note",)


NO_INDEX: Any = None  # a fixed list does not use it


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.sampled_from(["rrf", "minmax"]), st.integers(0, 10), st.integers(0, 60))
def test_a_reranker_equals_the_formula(seed: int, method: Any, tenth: int, k: int) -> None:
    query, pool = make_candidates(seed)
    both = (Birch(), RPRS(k1=0.0))
    lists = [dict(zip(one.ids, one.scores.tolist(), strict=True)) for one in (r.rerank(query, pool) for r in both)]
    expected = literal(lists, method, tenth / 10, k)
    ranking = Fuse(*both, method, tenth / 10, k).rerank(query, pool)
    full = [id for id, each in zip(pool.ranking.ids, pool.sentences, strict=True) if len(each)]
    mine = dict(zip(ranking.ids, ranking.scores.tolist(), strict=True))
    assert {id: mine[id] for id in full} == pytest.approx({id: expected[id] for id in full})
    assert {"qp", "dp", "first", "best_sentences"} == set(ranking.parts)
    plain = both[1].rerank(query, pool)
    assert dict(zip(ranking.ids, ranking.parts["qp"], strict=True)) == dict(
        zip(plain.ids, plain.parts["qp"], strict=True)
    )
    assert ranking.neighbours is not None
    assert plain.neighbours is not None
    assert np.array_equal(ranking.neighbours.sentence, plain.neighbours.sentence)


def test_scaling() -> None:
    assert minmax(np.array([4.0, 2.0, 1.0])).tolist() == pytest.approx([1, 1 / 3, 0])
    assert minmax(np.array([4.0, 4.0])).tolist() == [1, 1]
    assert minmax(np.array([4.0, np.nan, 2.0])).tolist() == [1, 0, 0]
    assert minmax(np.array([np.nan])).tolist() == [0]
    assert minmax(np.array([np.inf, 3.0, 1.0, -np.inf])).tolist() == [1, 1, 0, 0]
    assert minmax(np.empty(0)).tolist() == shares(np.empty(0), "rrf").tolist() == []
    assert shares(np.array([9.0, 9.0]), "rrf").tolist() == [1 / 61, 1 / 62]
    assert mix(np.array([1.0]), np.array([0.0]), 0.25).tolist() == [0.75]


# ---------------------------------------------------------------------------- contracts


@pytest.mark.parametrize(
    "how",
    [
        "bm25, sdr",
        "rprs(n=2), bm25",
        "bm25, bm25(b=0,kli=0.3), method=minmax, weight=0.2",
        "bm25, fuse(maxsim, bm25(k1=9))",
    ],
)
def test_a_first_stage_fulfils_the_contract(how: str) -> None:
    check_ranker(parse("ranker", f"fuse({how})"), SAMPLE[:7])


@pytest.mark.parametrize(
    "how",
    [
        "first",
        "fuse(first, rprs(k1=0))",
        "fuse(birch, first, method=minmax, weight=0.1)",
        "fuse(rprs, fuse(first, birch), weight=1)",
    ],
)
def test_a_reranker_fulfils_the_contract(how: str) -> None:
    check_reranker(parse("reranker", how), rounds=10)


# ---------------------------------------------------------------------------- the first stage's own order


class TestFirst:
    def test_keeps_the_order_of_the_first_stage(self) -> None:
        query, pool = make_candidates(3)
        ranking = First().rerank(query, pool)
        first_scores = dict(zip(pool.ranking.ids, pool.ranking.scores.tolist(), strict=True))
        full = [id for id, each in zip(pool.ranking.ids, pool.sentences, strict=True) if len(each)]
        assert [id for id in ranking.ids if id in full] == full
        assert all(
            first_scores[id] == score for id, score in zip(ranking.ids, ranking.scores, strict=True) if id in full
        )

    def test_documents_that_the_first_stage_did_not_retrieve_come_last(self) -> None:
        texts = {f"t{number}": f"Fog hides the pier number {number}." for number in range(4)}
        query = Document("q", "Fog hides the pier.")
        with index_of(documents(**texts, far="Rent is due.")) as index:
            for rerank in ("first", "fuse(first, first)", "fuse(first, first, method=minmax)", "birch(a=1)"):
                explained = Searcher(index, rerank=rerank).explain(query, "far")
                assert (explained.in_pool, explained.hit.rank) == (False, 5)
                assert np.isfinite(explained.hit.score)
            stranger = Searcher(index, rerank="fuse(first, rprs)").explain(Document("s", "Xylophone."), "far")
            assert stranger.hit.rank == 1
            assert np.isfinite(stranger.hit.score)

    def test_no_query(self) -> None:
        query, pool = make_candidates(0)
        nobody = type(query)(query.spans[:0], query.paragraphs[:0], query.vectors[:0])
        with pytest.raises(EmptyQuery):
            First().rerank(nobody, pool)


# ---------------------------------------------------------------------------- texts, tuning, progress


@pytest.mark.parametrize(
    ("kind", "source", "canonical"),
    [
        (
            "reranker",
            "fuse(first, rprs(n=4,k1=0), weight=0.3)",
            "fuse(a=first(),b=rprs(n=4,k1=0.0),weight=0.3)",
        ),
        ("reranker", "fuse(b=first, a=birch)", "fuse(a=birch(),b=first())"),
        ("ranker", "fuse(bm25, runfile('a b'), minmax)", 'fuse(a=bm25(),b=runfile(path="a b"),method=minmax)'),
        ("ranker", "fuse(fuse(bm25, bm25), bm25, k=1)", "fuse(a=fuse(a=bm25(),b=bm25()),b=bm25(),k=1)"),
    ],
)
def test_its_text_parses_back(kind: Kind, source: str, canonical: str) -> None:
    component = parse(kind, source)
    assert str(component) == canonical
    assert parse(kind, canonical) == component
    assert parse(kind, text(component, full=True)) == component


@pytest.mark.parametrize(
    ("kind", "source", "line"),
    [
        ("reranker", "fuse(first)", "fuse needs the parameter 'b': fuse(b=...)"),
        ("reranker", "fuse(first, bm25)", "There is no reranker named 'bm25'"),
        ("ranker", "fuse(bm25, first)", "There is no ranker named 'first'"),
        (
            "ranker",
            "fuse(bm25, bm25, weight=2)",
            "The 'weight' parameter of fuse must be none or a number in [0, 1]. Got 2.0",
        ),
        ("reranker", "fuse(first, rprs, borda)", "The 'method' parameter of fuse must be 'rrf' or 'minmax'"),
        ("reranker", "fuse(first, rprs, k=-1)", "The 'k' parameter of fuse must be an integer in [0, inf). Got -1"),
    ],
)
def test_mistakes(kind: Kind, source: str, line: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(kind, source)
    assert line in str(caught.value)


def test_candidates_are_prepared_once_for_all_weights() -> None:
    query, pool = make_candidates(4)
    fused = Fuse(First(), RPRS())
    prepared = fused.prepare(query, pool)
    for weight in Fuse.grid["weight"]:
        one = Fuse(First(), RPRS(), weight=weight)
        assert one.score(prepared, pool).scores.tobytes() == one.rerank(query, pool).scores.tobytes()
    assert isinstance(fused, TwoStepReranker)
    assert Fuse.grid["weight"] == tuple(round(tenth * 0.1, 1) for tenth in range(11))


def test_both_passes_together_count_every_sentence() -> None:
    query, pool = make_candidates(4)
    advances: list[int] = []
    Fuse(RPRS(), Fuse(First(), Birch())).rerank(query, pool, advances.append)
    assert sum(advances) == sum(map(len, pool.sentences))


def test_a_search_has_the_evidence_of_its_parts() -> None:
    texts = {f"t{number}": f"Fog hides the pier number {number}. Rent is due." for number in range(4)}
    with index_of(documents(**texts)) as index:
        query = Document("q", "Fog hides the pier. The pilot waits.")
        fused = Searcher(index, rerank="fuse(first, rprs(n=2))").search(query)
        plain = Searcher(index, rerank="rprs(n=2)").search(query)
        over = Searcher(index, first="fuse(bm25, bm25(k1=0))").search(query)
    assert {hit.id: (hit.parts["qp"], hit.pairs) for hit in fused} == {
        hit.id: (hit.parts["qp"], hit.pairs) for hit in plain
    }
    assert len(over) == 4


def test_a_ranker_of_bm25_alone_is_bm25() -> None:
    with index_of(SAMPLE) as index:
        mask = np.ones(len(index), dtype=bool)
        for query in SAMPLE:
            alone = BM25().rank(query, index, 5, mask)
            assert Fuse(BM25(), BM25()).rank(query, index, 5, mask).ids == alone.ids


def test_run_files_are_listed_at_any_depth() -> None:
    assert run_files(parse("ranker", "bm25")) == []
    fused = parse("ranker", "fuse(bm25, fuse(runfile(one), runfile(two)))")
    assert [file.path for file in run_files(fused)] == ["one", "two"]


def test_one_class_is_a_first_stage_and_a_reranker() -> None:
    """Its parts are parsed as first stages or as re-rankers, depending on its own use."""
    assert parse("ranker", "fuse(bm25, sdr)") == Fuse(BM25(), SDR())
    assert parse("reranker", "fuse(first, sdr)") == Fuse(First(), SDR())
    with pytest.raises(UsageError, match="There is no reranker named 'bm25'"):
        parse("reranker", "fuse(first, bm25)")
    with pytest.raises(UsageError, match="There is no ranker named 'birch'"):
        parse("ranker", "fuse(bm25, birch)")


def test_parts_that_do_not_fit_are_one_line() -> None:
    query, pool = make_candidates(1)
    with pytest.raises(UsageError, match="needs two re-rankers as its parts"):
        Fuse(BM25(), RPRS()).rerank(query, pool)
    with index_of(SAMPLE) as index, pytest.raises(UsageError, match="needs two first stages as its parts"):
        Fuse(BM25(), Birch()).rank(SAMPLE[0], index, 5, np.ones(len(index), dtype=bool))


def test_which_first_stages_depend_on_vectors() -> None:
    assert not uses_vectors(parse("ranker", "fuse(bm25, runfile(one))"))
    assert uses_vectors(parse("ranker", "fuse(bm25, maxsim)"))
    assert uses_vectors(object())
