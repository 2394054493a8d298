"""Tuning against brute force: every point is searched for as a user would, and the best is the same."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rprs
from rprs import spec
from rprs.document import EMPTY_RANKING, Candidates, Document, Ranking, Sentences
from rprs.errors import ReadError, UsageError
from rprs.evaluation.evaluate import evaluate
from rprs.evaluation.measures import parse_measure
from rprs.files.cache import Cache
from rprs.index import Index
from rprs.progress import no_op
from rprs.rank import BM25, RPRS, System
from rprs.rank.batch import allowed_documents, first_stage, rerank_run
from rprs.rank.birch import Birch
from rprs.rank.blend import Blend
from rprs.rank.cosine import WEIGHTS
from rprs.search import Searcher
from rprs.spec import Component, Kind
from rprs.tuning.choose import Problem, Tuned, choose, deal
from rprs.tuning.cutoffs import tune_cutoff
from rprs.tuning.first import rank_grid, tune_bm25
from rprs.tuning.grids import Axes, Bm25Grid, CutoffGrid, RprsGrid
from rprs.tuning.pools import pools_at_depths
from rprs.tuning.rerankers import reranker_axes, tune_reranker, tune_rprs
from tests.support.indexes import index_of

WORDS = "reef kelp buoy sail tide mast keel wave gull sand rope foam crab surf dock".split()
SMALL = RprsGrid(n=(1, 3, 4), k1=(0, 0.6, 2.8, 9), b=(0, 0.5, 1))


def texts(seed: int, count: int, longest: int = 9) -> list[str]:
    """Sentences of a few words, the first ones of the list more often."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(2, len(WORDS) + 2)
    return [
        " ".join(
            f"The {' '.join(rng.choice(WORDS, 5, p=share / share.sum()))} came."
            for _ in range(rng.integers(1, longest))
        )
        for _ in range(count)
    ]


DOCUMENTS = [Document(f"d{number:02d}", text) for number, text in enumerate(texts(1, 40))]
QUERIES = [Document(f"q{number}", text) for number, text in enumerate(texts(2, 9))]
QUERIES += [Document("twin", QUERIES[0].text), Document("mute", " "), DOCUMENTS[7], Document("unjudged", "A reef.")]
RNG = np.random.default_rng(5)
QRELS = {
    query.id: {str(id): int(RNG.integers(0, 3)) for id in RNG.choice([document.id for document in DOCUMENTS], 8)}
    for query in QUERIES[:-1]
}
JUDGED = [query for query in QUERIES if any(grade > 0 for grade in QRELS.get(query.id, {}).values())]
EXCLUDED = {"q1": frozenset({"d00", "d11"})}
PAPER = System.named("paper")
MEASURES = ["AP@100", "nDCG@5", "P@3", "micro_F1@4", "macro_F1@ratio(p=0.5,l=1,h=6)", "RR", "Bpref", "MPR"]


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    with index_of(DOCUMENTS[:25], DOCUMENTS[25:]) as opened:
        yield opened


def value(run: Mapping[str, Ranking], measure: str, qrels: Mapping[str, Mapping[str, int]] = QRELS) -> float:
    """The value of `rprs evaluate` for a run, over the judged queries."""
    judgements = {query.id: qrels[query.id] for query in JUDGED if query.id in qrels}
    return evaluate(run, judgements, [parse_measure(measure)]).total(parse_measure(measure))


def searched(index: Index, query: Document, component: Any, depth: int, first: str = "bm25") -> Ranking:
    if not query.text.strip():
        return Ranking((), np.empty(0))
    return Searcher(index, first=first, rerank=component, depth=depth).rank(query)


def same_totals(tuned: Tuned, expected: Mapping[tuple[Any, ...], float]) -> None:
    """Every point has the value of brute force, and the best is the preferred one among the best."""
    totals = {
        tuple(point.values()): total
        for point, total in zip(tuned.axes.points(), tuned.totals.ravel().tolist(), strict=True)
    }
    assert totals == pytest.approx(dict(expected), abs=1e-12)
    assert tuned.value == pytest.approx(max(expected.values()))
    assert totals[tuple(tuned.point.values())] == tuned.value


def same_run(left: Mapping[str, Ranking], right: Mapping[str, Ranking]) -> None:
    assert {query: one.ids for query, one in left.items()} == {query: one.ids for query, one in right.items()}
    assert all(left[query].scores.tobytes() == right[query].scores.tobytes() for query in left)


# ---------------------------------------------------------------------------- RPRS


Searches = Mapping[tuple[Any, ...], Mapping[str, Ranking]]


@pytest.fixture(scope="module")
def searches(index: Index) -> Searches:
    """The run of every point of a small grid, by searching."""
    return {
        (depth, n, k1, b): {query.id: searched(index, query, RPRS(n, k1, b), depth) for query in JUDGED}
        for depth, n, k1, b in product((6, 15), SMALL.n, SMALL.k1, SMALL.b)
    }


class TestRprs:
    @pytest.mark.parametrize("measure", MEASURES)
    def test_every_point_equals_a_search(self, index: Index, searches: Searches, measure: str) -> None:
        pools = pools_at_depths(index, QUERIES, first_stage(index, QUERIES, "bm25", 15), [6, 15])
        tuned = tune_rprs(pools, QRELS, measure, SMALL, base=System("bm25", "rprs", 15))
        expected = {point: value(run, measure) for point, run in searches.items()}
        same_totals(tuned, expected)
        assert tuned.queries == tuple(sorted(query.id for query in JUDGED))
        assert tuned.best == System("bm25", str(RPRS(*list(tuned.point.values())[1:])), tuned.point["depth"])  # type: ignore[arg-type]
        default = {query.id: searched(index, query, "rprs", 15) for query in JUDGED}
        assert tuned.before is None  # n = 5 has no neighbours in this grid
        again = tune_rprs(pools, QRELS, measure, replace(SMALL, n=(1, 5)), base=System("bm25", "rprs", 15))
        assert again.before == pytest.approx(value(default, measure))

    def test_queries_are_held_out(self, index: Index) -> None:
        pools = pools_at_depths(index, QUERIES, first_stage(index, QUERIES, "bm25", 10), [10])
        tuned = tune_rprs(pools, QRELS, "AP", SMALL, folds=4)
        dealt = deal({query.id: query.content_hash for query in JUDGED}, 4)
        assert dealt["twin"] == dealt["q0"]
        assert tuned.held_out is not None
        assert [set(fold.queries) for fold in tuned.folds] == [
            {query for query in dealt if dealt[query] == number} for number in range(4)
        ]
        held_out: dict[str, Ranking] = {}
        for fold in tuned.folds:
            others = {query: QRELS[query] for query in dealt if query not in fold.queries}
            alone = tune_rprs(pools, others, "AP", SMALL)
            assert (alone.best, alone.value) == (fold.best, fold.tuned)
            own = {
                query.id: searched(index, query, fold.best.rerank, 10) for query in JUDGED if query.id in fold.queries
            }
            assert fold.value == pytest.approx(value(own, "AP", {query: QRELS[query] for query in fold.queries}))
            held_out |= own
        same_run(tuned.held_out.run, held_out)
        assert tuned.held_out.value == pytest.approx(value(held_out, "AP"))
        assert tuned.held_out.values.mean() == pytest.approx(tuned.held_out.value)
        table = tuned.validation
        assert [row[0] for row in table.rows] == [1, 2, 3, 4]
        assert table.notes == (f"All {len(JUDGED)} queries, held out: {tuned.held_out.value:.4f}",)

    def test_among_equals_the_simplest_wins(self, index: Index) -> None:
        """No relevant document is a candidate: all points are equal."""
        pools = pools_at_depths(index, QUERIES, first_stage(index, QUERIES, "bm25", 10), [5, 10])
        tuned = tune_rprs(pools, {"q0": {"elsewhere": 1}}, "AP", SMALL)
        assert tuned.point == {"depth": 5, "n": 1, "k1": 0.0, "b": 0.0}
        assert tuned.value == 0

    def test_totals_that_are_equal_in_exact_arithmetic_are_equal(self) -> None:
        """Three queries change their values: added up in another order, the sum differs in its last bit."""
        parts = np.array([[[0.1], [0.3]], [[0.2], [0.2]], [[0.3], [0.1]]])
        assert parts.mean(axis=0)[0, 0] != parts.mean(axis=0)[1, 0]
        axes = Axes({"k1": (0.0, 1.0)}, ("k1",))
        for turned in (parts, parts[:, ::-1]):
            problem = Problem(axes, parse_measure("AP"), "abc", turned, lambda _: System(), lambda *_: EMPTY_RANKING)
            assert choose(problem).point == {"k1": 0.0}

    def test_the_mean_length_of_the_candidates(self, index: Index) -> None:
        pools = pools_at_depths(index, QUERIES, first_stage(index, QUERIES, "bm25", 10), [10])
        base = System("bm25", "rprs(avgdl=candidates)", 10)
        tuned = tune_rprs(pools, QRELS, "AP", SMALL, base=base)
        assert tuned.best.rerank is not None
        run = {query.id: searched(index, query, tuned.best.rerank, 10) for query in JUDGED}
        assert tuned.value == pytest.approx(value(run, "AP"))
        assert "avgdl=candidates" in str(tuned.best.rerank)

    def test_the_size_of_the_pieces_changes_nothing(self, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
        pools = pools_at_depths(index, QUERIES, first_stage(index, QUERIES, "bm25", 10), [10])
        whole = tune_rprs(pools, QRELS, "micro_F1@3", SMALL)
        monkeypatch.setattr("rprs.tuning.rerankers.CELLS", 50)
        assert np.array_equal(tune_rprs(pools, QRELS, "micro_F1@3", SMALL).totals, whole.totals)

    def test_sensitivity_and_points(self, index: Index) -> None:
        pools = pools_at_depths(index, QUERIES, first_stage(index, QUERIES, "bm25", 10), [10])
        tuned = tune_rprs(pools, QRELS, "AP", SMALL)
        totals = tuned.totals[0]
        best = [
            list(axis).index(tuned.point[name]) for name, axis in zip("n k1 b".split(), totals_axes(tuned), strict=True)
        ]
        rows = {(row[0], row[1]): [figure.value for figure in row[2:]] for row in tuned.sensitivity.rows}  # type: ignore[union-attr]
        assert [name for name, _ in rows] == ["n"] * 3 + ["k1"] * 4 + ["b"] * 3  # a depth alone has no sensitivity
        line = totals[best[0], :, best[2]]
        for place, k1 in enumerate(SMALL.k1):
            assert rows["k1", str(float(k1))] == pytest.approx(
                [line[place], totals[:, place].max(), totals[:, place].mean()]
            )
        assert len(tuned.points.rows) == 36
        assert max(row[-1].value for row in tuned.points.rows) == tuned.value  # type: ignore[union-attr]

    def test_mistakes(self, index: Index) -> None:
        pools = pools_at_depths(index, QUERIES, first_stage(index, QUERIES, "bm25", 10), [10], n=3)
        with pytest.raises(UsageError, match=r"needs n up to 4, but the pool of .* has 3 neighbours"):
            tune_rprs(pools, QRELS, "AP", SMALL)
        with pytest.raises(UsageError, match="None of the 13 queries has a relevant document"):
            tune_rprs(pools, {"other": {"d01": 1}}, "AP", RprsGrid(n=(3,)))
        with pytest.raises(UsageError, match="use tune_reranker"):
            tune_rprs(pools, QRELS, "AP", base=System(rerank="rprs(form=no_qp)"))
        with pytest.raises(UsageError, match="'q0' belongs to no fold"):
            tune_rprs(pools, {"q0": {"d01": 1}}, "AP", RprsGrid(n=(3,)), folds={})
        with pytest.raises(UsageError, match="All queries are in one fold"):
            tune_rprs(pools, {"q0": {"d01": 1}}, "AP", RprsGrid(n=(3,)), folds={"q0": 3})

    def test_missing_queries_are_noted(self, index: Index) -> None:
        pools = pools_at_depths(index, QUERIES[:2], first_stage(index, QUERIES[:2], "bm25", 10), [10])
        tuned = tune_rprs(pools, QRELS, "AP", SMALL)
        assert tuned.queries == ("q0", "q1")
        assert f"{len(JUDGED) - 2} of {len(JUDGED)} judged queries are not used for tuning" in tuned.notes


def totals_axes(tuned: Tuned) -> list[tuple[Any, ...]]:
    return [tuned.axes.values[name] for name in ("n", "k1", "b")]


# ---------------------------------------------------------------------------- BM25


class TestBm25:
    SHARES = (None, 0.1, 0.25, 0.5, 1.0)
    PAIRS = np.array([[0, 0.5], [1.2, 0.75], [2.8, 1], [2.8, 0], [9, 0.3]])

    @settings(max_examples=25)
    @given(st.integers(0, 2**32), st.sampled_from(["exact", "lucene"]), st.integers(1, 12))
    def test_every_point_is_that_of_the_ranker_to_the_last_bit(self, seed: int, lengths: Any, depth: int) -> None:
        rng = np.random.default_rng(seed)
        documents = [Document(str(number), text) for number, text in enumerate(texts(seed, 12))]
        cut, ranker = int(rng.integers(0, 12)), BM25(lengths=lengths)
        removed = [str(number) for number in rng.choice(12, int(rng.integers(0, 5)), replace=False)]
        with index_of(documents[:cut], documents[cut:], removed=removed) as index:
            for query in (*texts(seed + 1, 2), "", "unheard of"):
                mask = rng.random(len(index)) < 0.8
                self.agrees(index, ranker, Document("q", query), mask, depth)

    def agrees(self, index: Index, ranker: BM25, query: Document, mask: Any, depth: int) -> None:
        lists = rank_grid(
            ranker, query, index, depth, mask, self.PAIRS[:, 0].copy(), self.PAIRS[:, 1].copy(), self.SHARES
        )
        for (row, share), (point, (k1, b)) in product(enumerate(self.SHARES), enumerate(self.PAIRS.tolist())):
            one = replace(ranker, k1=k1, b=b, kli=share).rank(query, index, depth, mask)
            size = lists.sizes[row, point]
            assert tuple(index.ids[number] for number in lists.numbers[row, point, :size]) == one.ids
            assert lists.scores[row, point, :size].tobytes() == one.scores.tobytes()

    def test_more_documents_than_one_block(self) -> None:
        from rprs.scoring.bm25 import BLOCK

        rng = np.random.default_rng(3)
        documents = [Document(f"{number:05d}", " ".join(rng.choice(WORDS, 4))) for number in range(2 * BLOCK + 77)]
        with index_of(documents) as index:
            self.agrees(index, BM25(), Document("q", " ".join(WORDS)), np.ones(len(index), dtype=bool), 50)

    @pytest.mark.parametrize("measure", ["AP@100", "micro_F1@4", "MPR"])
    def test_every_point_equals_a_run(self, index: Index, measure: str, monkeypatch: pytest.MonkeyPatch) -> None:
        grid = Bm25Grid(k1=(0, 1.2, 8), b=(0.5, 1), kli=(None, 0.1, 0.4))
        tuned = tune_bm25(index, QUERIES, QRELS, measure, grid, base=PAPER.changed(depth=20), exclude=EXCLUDED, folds=3)
        expected = {
            (kli, k1, b): value(first_stage(index, JUDGED, BM25(k1, b, kli), 20, exclude=EXCLUDED), measure)
            for kli, k1, b in product((None, 0.1, 0.4), (0.0, 1.2, 8.0), (0.5, 1.0))
        }
        same_totals(tuned, expected)
        ranker = BM25(**{name: tuned.point[name] for name in ("k1", "b", "kli")})  # type: ignore[arg-type]
        assert tuned.best == System(str(ranker), "rprs", 20)
        default = first_stage(index, JUDGED, "bm25(k1=2.8,b=1.0)", 20, exclude=EXCLUDED)
        assert tuned.before == pytest.approx(value(default, measure))
        assert tuned.held_out is not None
        by_query = {query: fold.best.first for fold in tuned.folds for query in fold.queries}
        expected_run = {
            query.id: first_stage(index, [query], by_query[query.id], 20, exclude=EXCLUDED)[query.id]
            for query in JUDGED
        }
        same_run(tuned.held_out.run, expected_run)
        monkeypatch.setattr("rprs.tuning.first.CELLS", 70)
        again = tune_bm25(index, QUERIES, QRELS, measure, grid, base=PAPER.changed(depth=20), exclude=EXCLUDED)
        assert np.array_equal(again.totals, tuned.totals)

    def test_mistakes(self, index: Index) -> None:
        with pytest.raises(UsageError, match=r"The first stage runfile\(path=x\) has no grid"):
            tune_bm25(index, QUERIES, QRELS, "AP", base=System("runfile(x)"))
        with pytest.raises(UsageError, match="The 'b' parameter of bm25 must be a number in"):
            tune_bm25(index, QUERIES, QRELS, "AP", Bm25Grid(b=(0.5, 2)))

    def test_a_best_value_at_the_end_is_noted(self, index: Index) -> None:
        equal = tune_bm25(index, QUERIES, {"q0": {"elsewhere": 1}}, "AP", Bm25Grid((1,), (1,), (None, 0.2)))
        assert equal.notes == ()
        best = first_stage(index, QUERIES[:1], BM25(9.0, 1.0), 1)["q0"].ids[0]
        worse = BM25(0.0, 0.0).rank(QUERIES[0], index, 40, allowed_documents(index, QUERIES[:1]).mask).ids.index(best)
        assert worse > 0
        tuned = tune_bm25(index, QUERIES, {"q0": {best: 1}}, "RR", Bm25Grid((0, 9), (1,), (None,)))
        assert tuned.notes[-1:] == ("The best k1 is the last value of the grid: try larger values",)


# ---------------------------------------------------------------------------- any re-ranker


@dataclass(frozen=True)
class Mixed(Component):
    """The first stage's score mixed with the share of sentences that are long: a third-party re-ranker."""

    a: float = 0.5
    w: int = 1
    name: ClassVar[str] = "mixed"
    kinds: ClassVar[tuple[Kind, ...]] = ("reranker",)

    def rerank(self, query: Sentences, candidates: Candidates, advance: Any = None) -> Ranking:
        own = np.array([len(one) for one in candidates.sentences]) / len(query)
        scores = self.a * candidates.ranking.scores + (1 - self.a) * own * self.w
        order = np.argsort(-scores, kind="stable")
        return Ranking(tuple(candidates.ranking.ids[place] for place in order), scores[order])


@pytest.fixture
def mixed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(spec.BUILT_IN["reranker"], "mixed", f"{__name__}:Mixed")
    spec._targets.cache_clear()
    yield
    monkeypatch.undo()
    spec._targets.cache_clear()


@pytest.mark.usefixtures("mixed")
class TestAnyReranker:
    GRID: ClassVar = {"a": (0, 0.3, 1), "w": (1, 5), "depth": (4, 12)}

    def test_every_point_equals_a_search(self, index: Index) -> None:
        run = first_stage(index, QUERIES, "bm25", 12)
        tuned = tune_reranker(index, QUERIES, run, QRELS, "AP", self.GRID, base=System("bm25", "mixed", 12), folds=3)
        expected = {
            (depth, a, w): value(
                {query.id: searched(index, query, Mixed(float(a), w), depth) for query in JUDGED}, "AP"
            )
            for depth, a, w in product((4, 12), (0, 0.3, 1), (1, 5))
        }
        same_totals(tuned, expected)
        best = Mixed(float(tuned.point["a"]), int(tuned.point["w"]))  # type: ignore[arg-type]
        assert tuned.best == System("bm25", str(best), tuned.point["depth"])  # type: ignore[arg-type]
        assert tuned.held_out is not None
        settings = {query: fold.best for fold in tuned.folds for query in fold.queries}
        expected_run = {
            query.id: searched(index, query, settings[query.id].rerank, settings[query.id].depth) for query in JUDGED
        }
        same_run(tuned.held_out.run, expected_run)

    def test_rprs_is_one_of_them(self, index: Index) -> None:
        run = first_stage(index, QUERIES, "bm25", 10)
        grid = {"n": SMALL.n, "k1": SMALL.k1, "b": SMALL.b}
        slow = tune_reranker(index, QUERIES, run, QRELS, "AP", grid, base=PAPER.changed(depth=10))
        pools = pools_at_depths(index, QUERIES, run, [10])
        quick = tune_rprs(pools, QRELS, "AP", SMALL, base=PAPER.changed(depth=10))
        assert np.array_equal(slow.totals, quick.totals)
        forms = tune_reranker(index, QUERIES, run, QRELS, "AP", {"form": ("full", "no_qp", "no_dp")}, base=PAPER)
        assert forms.axes.values["form"] == ("full", "no_qp", "no_dp")

    def test_mistakes(self, index: Index) -> None:
        run = first_stage(index, QUERIES, "bm25", 12)
        base = System("bm25", "mixed", 12)
        with pytest.raises(UsageError, match="mixed has no parameter 'z' to tune: it has a, w and depth"):
            tune_reranker(index, QUERIES, run, QRELS, "AP", {"z": (1,)}, base=base)
        with pytest.raises(UsageError, match="There is no grid for mixed: give the values to try, as a="):
            tune_reranker(index, QUERIES, run, QRELS, "AP", {}, base=base)
        with pytest.raises(UsageError, match="The depth of re-ranking must be an integer"):
            tune_reranker(index, QUERIES, run, QRELS, "AP", {"depth": (0,)}, base=base)


class TestTwoSteps:
    """Re-rankers that prepare once and score many times, against ranking again at every point."""

    GRID: ClassVar = {"a": (0, 0.9), "w2": (0.5,), "w3": (0, 1), "top": (1, 3), "depth": (4, 12)}

    def test_every_point_of_birch_equals_a_search(self, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
        preparations: list[tuple[int, int]] = []
        prepare = Birch.prepare

        def counted(self: Birch, query: Sentences, candidates: Candidates, advance: Any = no_op) -> Any:
            preparations.append((self.top, len(candidates.ranking)))
            return prepare(self, query, candidates, advance)

        monkeypatch.setattr(Birch, "prepare", counted)
        run, base = first_stage(index, QUERIES, "bm25", 20), System("bm25", "birch", 12)
        tuned = tune_reranker(index, QUERIES, run, QRELS, "AP", self.GRID, base=base, folds=3)
        answerable = sum(1 for query in JUDGED if len(run[query.id]) and query.text.strip())
        assert len(preparations) == 4 * answerable  # not for 16 points, nor again for the queries held out
        monkeypatch.undo()
        expected = {
            (depth, a, 0.5, w3, top): value(
                {query.id: searched(index, query, Birch(float(a), 0.5, float(w3), top), depth) for query in JUDGED},
                "AP",
            )
            for depth, a, w3, top in product((4, 12), (0, 0.9), (0, 1), (1, 3))
        }
        same_totals(tuned, expected)
        assert tuned.held_out is not None
        best = {query: fold.best for fold in tuned.folds for query in fold.queries}
        expected_run = {
            query.id: searched(index, query, best[query.id].rerank, best[query.id].depth) for query in JUDGED
        }
        same_run(tuned.held_out.run, expected_run)

    def test_the_grid_of_the_paper_is_the_default(self, index: Index) -> None:
        run = first_stage(index, QUERIES, "bm25", 8)
        tuned = tune_reranker(index, QUERIES, run, QRELS, "nDCG@5", base=System("bm25", "birch", 8))
        tenths = tuple(tenth / 10 for tenth in range(10))
        assert tuned.axes.values == {"depth": (8,), "a": tenths, "w2": tenths, "w3": tenths}
        assert tuned.best.rerank is not None
        best = {query.id: searched(index, query, tuned.best.rerank, 8) for query in JUDGED}
        assert tuned.value == pytest.approx(value(best, "nDCG@5"))
        default = {query.id: searched(index, query, "birch", 8) for query in JUDGED}
        assert tuned.before == pytest.approx(value(default, "nDCG@5"))
        fixed = reranker_axes(Birch(), System(), {"w3": (0,), "depth": (5, 9)})
        assert fixed.values == {"depth": (5, 9), "a": tenths, "w2": tenths, "w3": (0,)}

    def test_the_weight_of_a_fusion(self, index: Index) -> None:
        run, text = first_stage(index, QUERIES, "bm25", 10), "fuse(first,rprs(n=3,k1=0),method=minmax)"
        tuned = tune_reranker(index, QUERIES, run, QRELS, "AP", base=System("bm25", text, 10))
        fused: Any = spec.parse("reranker", text)
        expected = {
            (10, tenth / 10): value(
                {query.id: searched(index, query, replace(fused, weight=tenth / 10), 10) for query in JUDGED}, "AP"
            )
            for tenth in range(11)
        }
        same_totals(tuned, expected)

    def test_finished_work_is_not_computed_again(
        self, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run, base, cache = first_stage(index, QUERIES, "bm25", 6), System("bm25", "birch", 6), Cache(tmp_path)
        grid = {"w2": (0,), "w3": (0,)}
        tuned = tune_reranker(index, QUERIES, run, QRELS, "AP", grid, base=base, cache=cache)

        def fail(*_: object) -> None:
            raise AssertionError("prepared again")

        monkeypatch.setattr(Birch, "prepare", fail)
        again = tune_reranker(index, QUERIES, run, QRELS, "AP", grid, base=base, cache=cache)
        assert np.array_equal(again.totals, tuned.totals)
        with pytest.raises(AssertionError, match="prepared again"):  # another mean length may change a ranking
            tune_reranker(index, QUERIES, run, QRELS, "AP", grid, base=base, cache=cache, mean_sentences=3.0)

    def test_one_without_parameters_has_its_depth(self, index: Index) -> None:
        run, base = first_stage(index, QUERIES, "bm25", 9), System("bm25", "first", 9)
        with pytest.raises(UsageError, match=r"There is no grid for first: give the values to try, as depth=15..100/5"):
            tune_reranker(index, QUERIES, run, QRELS, "AP", base=base)
        tuned = tune_reranker(index, QUERIES, run, QRELS, "AP", {"depth": (3, 9)}, base=base)
        assert tuned.value == pytest.approx(value(first_stage(index, QUERIES, "bm25", 9), "AP"))


# ---------------------------------------------------------------------------- cut-offs


class TestCutoff:
    GRID = CutoffGrid(p=(0, 0.4, 0.9, 1), l=(1, 3, 5), h=(2, 4))

    @pytest.mark.parametrize("measure", ["micro_F1", "macro_F1@4", "F1", "micro_P"])
    def test_every_rule_equals_evaluate(self, index: Index, measure: str) -> None:
        first = first_stage(index, JUDGED, "bm25", 12)
        run = rerank_run(index, JUDGED, first, "rprs")
        tuned = tune_cutoff(run, QRELS, measure, self.GRID, base=System(depth=12), folds=3)
        name = measure.partition("@")[0]
        rules = [(p, low, high) for p, low, high in product((0.0, 0.4, 0.9, 1.0), (1, 3, 5), (2, 4)) if low <= high]
        expected = {rule: value(run, f"{name}@ratio(p={rule[0]},l={rule[1]},h={rule[2]})") for rule in rules}
        totals = {
            tuple(point.values()): total
            for point, total in zip(tuned.axes.points(), tuned.totals.ravel().tolist(), strict=True)
            if not np.isnan(total)
        }
        assert totals == pytest.approx(expected, abs=1e-12)
        assert tuned.value == pytest.approx(max(expected.values()))
        p, low, high = tuned.point.values()
        assert tuned.best == System(depth=12, cutoff=f"ratio(p={p},l={low},h={high})")
        assert tuned.measure == name
        assert tuned.held_out is not None
        assert all(len(ranking) <= 4 for ranking in tuned.held_out.run.values())

    def test_mistakes(self, index: Index) -> None:
        run = first_stage(index, JUDGED, "bm25", 12)
        with pytest.raises(UsageError, match=r"A cut-off is tuned for F1, macro_ and micro_ P, R and F1. Got 'AP@5'"):
            tune_cutoff(run, QRELS, "AP@5")
        with pytest.raises(UsageError, match="The grid has no rule"):
            tune_cutoff(run, QRELS, "F1", CutoffGrid(l=(5,), h=(2,)))
        with pytest.raises(UsageError, match="The 'p' parameter of ratio must be"):
            tune_cutoff(run, QRELS, "F1", CutoffGrid(p=(2,)))


# ---------------------------------------------------------------------------- the cache


class TestCache:
    def test_finished_work_is_not_computed_again(
        self, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cache = Cache(tmp_path / "work")
        run = first_stage(index, QUERIES, BM25(), 12, exclude=EXCLUDED, cache=cache)
        same_run(run, first_stage(index, QUERIES, BM25(), 12, exclude=EXCLUDED))
        stored = pools_at_depths(index, QUERIES, run, [4, 12], cache=cache)
        grid = Bm25Grid((0, 2), (1,), (None,))
        tuned = tune_rprs(stored, QRELS, "AP", SMALL, folds=3)
        bm25 = tune_bm25(index, QUERIES, QRELS, "AP", grid, cache=cache)
        monkeypatch.setattr(BM25, "scores", None)  # nothing is computed a second time
        monkeypatch.setattr("rprs.tuning.pools.at_depths", None)
        monkeypatch.setattr("rprs.tuning.first.rank_grid", None)
        monkeypatch.setattr(BM25, "rank", None)
        again = first_stage(index, QUERIES, BM25(), 12, exclude=EXCLUDED, cache=cache)
        same_run(again, run)
        pools = pools_at_depths(index, QUERIES, again, [4, 12], cache=cache)
        repeated = tune_rprs(pools, QRELS, "AP", SMALL, folds=3)
        assert (repeated.best, repeated.folds) == (tuned.best, tuned.folds)
        assert np.array_equal(repeated.totals, tuned.totals)
        monkeypatch.setattr("rprs.tuning.choose._before", lambda *_: None)
        assert np.array_equal(tune_bm25(index, QUERIES, QRELS, "AP", grid, cache=cache).totals, bm25.totals)

    def test_changed_inputs_are_computed_again(self, index: Index, tmp_path: Path) -> None:
        cache = Cache(tmp_path)
        count = 0
        for query, depth, ranker in product(QUERIES[:2], (3, 4), (BM25(), BM25(k1=3.0))):
            changed = replace(query, text=query.text + " The reef came.")
            for each in (query, changed):
                run = first_stage(index, [each], ranker, depth, cache=cache)
                same_run(run, first_stage(index, [each], ranker, depth))
                count += 1
        assert len(list((tmp_path / "first-stage").iterdir())) == count

    def test_a_run_file_that_changed_is_read_again(self, index: Index, tmp_path: Path) -> None:
        cache, path = Cache(tmp_path / "work"), tmp_path / "some.trec"
        for id in ("d01", "d02"):
            path.write_text(f"q0 Q0 {id} 1 2.0 x\n")
            assert first_stage(index, QUERIES[:1], f"runfile({path})", 5, cache=cache)["q0"].ids == (id,)

    def test_a_damaged_cache_file_is_one_line(self, index: Index, tmp_path: Path) -> None:
        cache = Cache(tmp_path)
        first_stage(index, QUERIES[:1], "bm25", 5, cache=cache)
        (piece,) = (tmp_path / "first-stage").iterdir()
        piece.write_bytes(piece.read_bytes()[:50])
        with pytest.raises(ReadError, match="is damaged: delete it, and it is computed again"):
            first_stage(index, QUERIES[:1], "bm25", 5, cache=cache)


# ---------------------------------------------------------------------------- the function of the package


class TestTune:
    """`rprs.tune` reads queries and judgements from files or values, and returns the same as the functions above."""

    RECORDS: ClassVar = [{"id": query.id, "text": query.text} for query in QUERIES]

    def test_values_and_files_are_the_same(self, index: Index, tmp_path: Path) -> None:
        queries, qrels = tmp_path / "queries.jsonl", tmp_path / "qrels.txt"
        queries.write_text("".join(json.dumps(record) + "\n" for record in self.RECORDS if record["text"].strip()))
        lines = [f"{query} 0 {id} {grade}\n" for query, grades in QRELS.items() for id, grade in grades.items()]
        qrels.write_text("".join(lines))
        grid = {"n": "1..3/2", "k1": [0, 0.6, 2.8], "b": (0.5,)}
        from_values = rprs.tune(index, QUERIES, QRELS, grid=grid, system="paper", depth=10)
        pools = pools_at_depths(index, QUERIES, first_stage(index, QUERIES, "bm25", 10), [10])
        small = RprsGrid((1, 3), (0, 0.6, 2.8), (0.5,))
        expected = tune_rprs(pools, QRELS, "AP@100", small, base=PAPER.changed(depth=10))
        assert (from_values.best, from_values.value) == (expected.best, expected.value)
        texts = ["n=1..3/2", "k1=0,0.6,2.8", "b=0.5"]
        from_files = rprs.tune(index.path, queries, qrels, grid=texts, system=PAPER, depth=10)
        assert from_files.best == expected.best
        assert from_files.about["what"] == "rerank"
        assert repr(from_values).startswith("<Tuned AP@100 0.")

    def test_every_kind(self, index: Index) -> None:
        grid = {"k1": [0, 2], "b": [1], "kli": [None]}
        first = rprs.tune(index, QUERIES, QRELS, what="first", grid=grid, system="paper", depth=20)
        base = PAPER.changed(depth=20)
        expected = tune_bm25(index, QUERIES, QRELS, "AP@100", Bm25Grid((0, 2), (1,), (None,)), base=base)
        assert first.best == expected.best
        depth = rprs.tune(index, QUERIES, QRELS, what="depth", grid={"depth": [4, 12]}, rerank="birch")
        assert depth.best.depth in (4, 12)
        assert depth.axes.values["a"] == (0.5,)
        cutoff = rprs.tune(index, QUERIES, QRELS, what="cutoff", measure="micro_F1", depth=12, rerank=None)
        assert cutoff.best.cutoff is not None
        assert len(Searcher(index, cutoff.best).rank(QUERIES[0])) <= cutoff.best.cutoff.h  # type: ignore[union-attr]

    def test_the_default_is_tuned_by_the_weight_of_its_fusion(self, index: Index) -> None:
        """The automatic weight is one of the points, and the simplest among equals."""
        weights = (None, *(tenth / 10 for tenth in range(11)))
        base = System(depth=10)
        tuned = rprs.tune(index, QUERIES, QRELS, depth=10)
        fused: Any = base.rerank
        runs = {
            weight: {query.id: searched(index, query, replace(fused, weight=weight), 10, "blend") for query in JUDGED}
            for weight in weights
        }
        expected = {(10, weight): value(run, "AP@100") for weight, run in runs.items()}
        same_totals(tuned, expected)
        assert tuned.before == pytest.approx(expected[10, None])
        assert tuned.best == base.changed(rerank=replace(fused, weight=tuned.point["weight"]))
        equal = rprs.tune(index, QUERIES, {"q0": {"elsewhere": 1}})
        assert (equal.point, equal.best) == ({"depth": 100, "weight": None}, System())

    def test_a_part_of_a_fusion_is_chosen_by_name(self, index: Index) -> None:
        """But a number for `b` is meant for that of RPRS, which the error says."""
        tuned = rprs.tune(index, QUERIES, QRELS, grid={"b": ["meanpool", "sdr"], "weight": [0.5]}, depth=10)
        assert tuned.axes.values["b"] == ("meanpool", "sdr")
        assert str(tuned.best.rerank).startswith(f"fuse(a=first(),b={tuned.point['b']}(),method=zscore")

    def test_the_first_stage_of_the_default_is_tuned_by_its_weights(self, index: Index) -> None:
        options: Any = {"what": "first", "depth": 10}
        tuned = rprs.tune(index, QUERIES, QRELS, grid={"weight": ["none", 0.5], "w3": [0, 1]}, **options)
        assert tuned.axes.values == {"weight": (None, 0.5), "w2": WEIGHTS, "w3": (0, 1)}
        expected = {
            (weight, w2, w3): value(first_stage(index, JUDGED, Blend(weight, w2, float(w3)), 10), "AP@100")
            for weight, w2, w3 in product((None, 0.5), WEIGHTS, (0, 1))
        }
        same_totals(tuned, expected)
        assert tuned.before == pytest.approx(value(first_stage(index, JUDGED, Blend(), 10), "AP@100"))
        assert tuned.best.rerank == System().rerank
        assert len(rprs.tune(index, QUERIES[:1], QRELS, **options).axes) == 12 * len(WEIGHTS) ** 2

    def test_the_depth_of_the_default_is_tuned_with_its_own_weight(self, index: Index) -> None:
        tuned = rprs.tune(index, QUERIES, QRELS, what="depth", grid={"depth": [4, 12]})
        assert tuned.axes.values == {"depth": (4, 12), "weight": (None,)}
        for place, depth in enumerate((4, 12)):
            run = {query.id: searched(index, query, System().rerank, depth, "blend") for query in JUDGED}
            assert tuned.totals.ravel()[place] == pytest.approx(value(run, "AP@100"))

    def test_excluded_documents_are_not_ranked(self, index: Index) -> None:
        best = first_stage(index, QUERIES[:1], "bm25", 1)["q0"].ids[0]
        grid = {"k1": [2.8], "b": [1], "kli": [None]}
        options: Any = {"what": "first", "first": "bm25", "grid": grid, "measure": "RR"}
        assert rprs.tune(index, QUERIES[:1], {"q0": {best: 1}}, **options).value == 1
        assert rprs.tune(index, QUERIES[:1], {"q0": {best: 1}}, exclude={"q0": [best]}, **options).value == 0

    @pytest.mark.parametrize(
        ("options", "line"),
        [
            ({"what": "everything"}, "'what' must be one of rerank, first, depth, cutoff. Got 'everything' instead."),
            ({"rerank": None}, "There is no re-ranker to tune"),
            (
                {"what": "first", "first": "sdr"},
                "The first stage sdr has no grid: blend, bm25, cosine and rprs(form=full) have",
            ),
            (
                {"what": "first", "first": "bm25", "grid": {"n": [1]}},
                "The first stage has no parameter 'n' to tune: it has k1, b, kli",
            ),
            ({"what": "first", "grid": {"n": [1]}}, "blend has no parameter 'n' to tune: it has weight, w2, w3"),
            ({"what": "depth", "grid": {"n": [1]}}, "The depth is tuned without 'n': tune both with what='rerank'"),
            ({"what": "cutoff", "grid": {"z": [1]}, "measure": "F1"}, "A cut-off has no parameter 'z': it has p, l, h"),
            ({"grid": {"k1": []}}, "'k1' must have at least one value"),
            (
                {"grid": {"k1": [-1]}, "system": "paper"},
                "The 'k1' parameter of rprs must be a number in [0, inf). Got -1 instead.",
            ),
            (
                {"grid": {"b": [0.5, 1]}},
                "fuse has no parameter 'b' to tune: it has method, weight, k and depth; 'b' is a parameter of rprs",
            ),
            ({"grid": {"weight": [2]}}, "The 'weight' parameter of fuse must be none or a number in [0, 1]. Got 2.0"),
            ({"system": "papre"}, "There is no system named 'papre': did you mean 'paper'?"),
            ({"depth": 0}, "The depth of re-ranking must be an integer in [1, inf). Got 0 instead."),
            ({"folds": 99}, "The number of folds must be in [2, "),
        ],
    )
    def test_a_mistake_is_one_line_before_anything_is_computed(
        self, index: Index, options: Any, line: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(BM25, "scores", None)
        with pytest.raises(UsageError) as raised:
            rprs.tune(index, QUERIES, QRELS, **options)
        assert str(raised.value).startswith(line)
