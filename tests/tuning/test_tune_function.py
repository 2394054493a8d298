"""`rprs.tune`: cut-offs, what is computed again, and the function of the package."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import rprs
from rprs.errors import ReadError, UsageError
from rprs.files.cache import Cache
from rprs.index import Index
from rprs.rank import BM25, System
from rprs.rank.batch import first_stage, rerank_run
from rprs.rank.blend import Blend
from rprs.rank.cosine import WEIGHTS
from rprs.search import Searcher
from rprs.tuning.cutoffs import tune_cutoff
from rprs.tuning.first import tune_bm25
from rprs.tuning.grids import Bm25Grid, CutoffGrid, RprsGrid
from rprs.tuning.pools import pools_at_depths
from rprs.tuning.rerankers import tune_rprs
from tests.support.tuning_sample import (
    EXCLUDED,
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
