"""Tuning of any re-ranker against brute force, also in two steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from rprs import spec
from rprs.document import Candidates, Ranking, Sentences
from rprs.errors import UsageError
from rprs.files.cache import Cache
from rprs.index import Index
from rprs.progress import no_op
from rprs.rank import System
from rprs.rank.batch import first_stage
from rprs.rank.birch import Birch
from rprs.spec import Component, Kind
from rprs.tuning.pools import pools_at_depths
from rprs.tuning.rerankers import reranker_axes, tune_reranker, tune_rprs
from tests.support.tuning_sample import (
    JUDGED,
    PAPER,
    QRELS,
    QUERIES,
    SMALL,
    same_run,
    same_totals,
    searched,
    value,
)

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
