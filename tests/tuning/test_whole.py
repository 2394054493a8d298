"""Tuning RPRS as a first stage: every point is the ranking of a search, from one scan per query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rprs
from rprs.errors import UsageError
from rprs.files.cache import Cache
from rprs.index import Index
from rprs.rank import RPRS, System
from rprs.rank.batch import first_stage
from rprs.rank.scan import neighbours_in_index
from rprs.tuning.grids import RprsGrid
from rprs.tuning.whole import tune_whole_rprs
from tests.support.indexes import index_of
from tests.support.tuning_sample import DOCUMENTS, EXCLUDED, JUDGED, QRELS, QUERIES, same_run, same_totals, value

GRID = RprsGrid(n=(1, 3), k1=(0, 0.6, 9), b=(0, 1))


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    with index_of(DOCUMENTS[25:], DOCUMENTS[:25]) as opened:
        yield opened


@pytest.mark.parametrize("first", ["rprs(n=2)", "rprs(avgdl=candidates)", "rprs(ties=worst,avgdl=3)"])
@pytest.mark.parametrize("measure", ["AP@100", "micro_F1@4"])
def test_every_point_is_what_a_run_gets(
    index: Index, first: str, measure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = System(first, None, 20)
    tuned = tune_whole_rprs(index, QUERIES, QRELS, measure, GRID, base=base, exclude=EXCLUDED, folds=3)
    ranker: Any = base.first
    expected = {
        (n, k1, b): value(first_stage(index, JUDGED, replace(ranker, n=n, k1=k1, b=b), 20, exclude=EXCLUDED), measure)
        for n, k1, b in product(GRID.n, map(float, GRID.k1), map(float, GRID.b))
    }
    same_totals(tuned, expected)
    assert tuned.best.first == replace(ranker, **tuned.point)
    assert tuned.before == pytest.approx(value(first_stage(index, JUDGED, ranker, 20, exclude=EXCLUDED), measure))
    assert tuned.held_out is not None
    by_query = {query: fold.best.first for fold in tuned.folds for query in fold.queries}
    runs = [
        first_stage(index, [query], by_query[query.id], 20, exclude=EXCLUDED) for query in JUDGED if query.text.strip()
    ]
    same_run(
        {query: tuned.held_out.run[query] for run in runs for query in run},
        {k: v for run in runs for k, v in run.items()},
    )
    monkeypatch.setattr("rprs.tuning.whole.CELLS", 70)
    again = tune_whole_rprs(index, QUERIES, QRELS, measure, GRID, base=base, exclude=EXCLUDED)
    assert np.array_equal(again.totals, tuned.totals)


def test_one_scan_per_query_and_none_with_a_cache(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scans: list[int] = []

    def counted(*arguments: Any) -> Any:
        scans.append(1)
        return neighbours_in_index(*arguments)

    monkeypatch.setattr("rprs.tuning.whole.neighbours_in_index", counted)
    options: Any = {"what": "first", "first": "rprs", "rerank": None, "depth": 7, "cache": Cache(tmp_path)}
    tuned = rprs.tune(index, QUERIES, QRELS, grid={"n": "1..4", "k1": [0, 1]}, folds=3, **options)
    assert len(scans) == len(JUDGED)
    assert tuned.axes.values["n"] == (1, 2, 3, 4)
    assert len(tuned.axes.values["b"]) == 11
    again = rprs.tune(index, QUERIES, QRELS, grid={"n": "2..4", "k1": [1, 2]}, measure="nDCG@5", **options)
    assert len(scans) == len(JUDGED)
    assert isinstance(again.best.first, RPRS)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"first": "rprs(form=no_dp)"}, "The first stage rprs(form=no_dp) has no grid"),
        ({"first": "rprs", "grid": {"kli": [1]}}, "The first stage has no parameter 'kli' to tune: it has n, k1, b"),
        ({"first": "rprs", "grid": {"n": [0]}}, "The grid of n must be integers in [1, inf). Got 0 instead."),
        ({"first": "rprs", "grid": {"b": [2]}}, "The 'b' parameter of rprs must be a number in [0, 1]. Got 2 instead."),
    ],
)
def test_mistakes(index: Index, options: Any, line: str) -> None:
    with pytest.raises(UsageError) as raised:
        rprs.tune(index, QUERIES, QRELS, what="first", **options)
    assert str(raised.value).startswith(line)
