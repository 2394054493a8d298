"""Tuning against brute force: every point is searched for as a user would, and the best is the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rprs.document import EMPTY_RANKING, Document, Ranking
from rprs.errors import UsageError
from rprs.evaluation.measures import parse_measure
from rprs.index import Index
from rprs.rank import BM25, RPRS, System
from rprs.rank.batch import allowed_documents, first_stage
from rprs.tuning.choose import Problem, Tuned, choose, deal
from rprs.tuning.first import rank_grid, tune_bm25
from rprs.tuning.grids import Axes, Bm25Grid, RprsGrid
from rprs.tuning.pools import pools_at_depths
from rprs.tuning.rerankers import tune_rprs
from tests.support.indexes import index_of
from tests.support.tuning_sample import (
    EXCLUDED,
    JUDGED,
    MEASURES,
    PAPER,
    QRELS,
    QUERIES,
    SMALL,
    WORDS,
    same_run,
    same_totals,
    searched,
    texts,
    value,
)

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
