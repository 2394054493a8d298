"""Pools: the rankings of a search at any depth, from one pass; stored in files whose bytes depend on content alone."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rprs.document import Document, Ranking
from rprs.errors import ReadError, UsageError
from rprs.index import Index
from rprs.rank import RPRS
from rprs.rank.batch import allowed_documents, first_stage
from rprs.search import Searcher
from rprs.tuning.pools import Pool, at_depths, load_pools, pools_at_depths, save_pools
from tests.support.indexes import index_of

WORDS = "reef kelp buoy sail tide mast keel wave gull sand rope foam".split()


def texts(seed: int, count: int, longest: int = 8) -> list[str]:
    rng = np.random.default_rng(seed)
    return [
        " ".join(f"The {' '.join(rng.choice(WORDS, 5))} came." for _ in range(rng.integers(1, longest)))
        for _ in range(count)
    ]


DOCUMENTS = [Document(f"d{number:02d}", text) for number, text in enumerate(texts(1, 30))]
QUERIES = [
    *(Document(f"q{number}", text) for number, text in enumerate(texts(2, 4))),
    DOCUMENTS[3],  # in the index
    Document("copy", DOCUMENTS[5].text),  # the text of another document
]


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    with index_of(DOCUMENTS) as opened:
        yield opened


def same(left: Pool, right: Pool) -> bool:
    arrays = [
        (pool.first, *(getattr(pool.neighbours, name) for name in ("similarity", "sentence", "offsets")))
        for pool in (left, right)
    ]
    plain = [(pool.query, pool.ids, pool.mean_sentences, pool.content) for pool in (left, right)]
    return plain[0] == plain[1] and all(map(np.array_equal, *arrays))


@pytest.mark.parametrize("point", [RPRS(1, 0.0, 0.5), RPRS(4, 2.8, 1.0), RPRS(10, 1.0, 0.3)])
def test_pools_rank_as_a_search_does(index: Index, point: RPRS) -> None:
    run = first_stage(index, QUERIES, "bm25(k1=2.8,b=1.0)", 12)
    pools = list(pools_at_depths(index, QUERIES, run, [12])[12])
    assert [pool.query for pool in pools] == [query.id for query in QUERIES]
    for query, pool in zip(QUERIES, pools, strict=True):
        expected = Searcher(index, first="bm25", rerank=point, depth=12).rank(query)
        ranking = point.from_neighbours(pool.neighbours, pool.ids, pool.mean_sentences)
        assert ranking.ids == expected.ids
        assert ranking.scores.tobytes() == expected.scores.tobytes()
        assert pool.first.tolist() == run[query.id].scores.tolist()


def test_neither_the_query_nor_excluded_documents_are_ranked(index: Index) -> None:
    open_run = first_stage(index, QUERIES, "bm25", 30)
    best = open_run["q0"].ids[0]
    run = first_stage(index, QUERIES, "bm25", 30, exclude={"q0": frozenset({best, "unknown"})})
    assert run["q0"].ids == open_run["q0"].ids[1:]
    assert run["q1"].ids == open_run["q1"].ids
    assert "d03" not in run["d03"].ids
    assert "d05" not in run["copy"].ids
    assert np.flatnonzero(~allowed_documents(index, QUERIES[:1], exclude=[best]).mask).tolist() == [index.number(best)]


def test_the_deepest_pool_costs_one_pass_and_the_others_are_exact(index: Index) -> None:
    run = first_stage(index, QUERIES, "bm25", 30)
    for query in QUERIES:
        depths = [25, 3, 1, 8, 1000]
        pools = at_depths(index, query, run[query.id], depths, n=4)
        assert list(pools) == sorted(depths)
        for depth, pool in pools.items():
            (alone,) = pools_at_depths(index, [query], run, [depth], n=4)[depth]
            assert same(pool, alone)
            assert len(pool) == min(depth, len(run[query.id]))


def test_documents_that_the_index_lacks_are_ignored(index: Index) -> None:
    ids = ("gone", "d01", "lost", "d02", "d04")
    run = {"q0": Ranking(ids, np.arange(5, 0, -1.0))}
    (pool,) = pools_at_depths(index, QUERIES[:1], run, [2], mean_sentences=9.0)[2]
    assert pool.ids == ("d01", "d02")
    assert pool.first.tolist() == [4, 2]
    assert pool.mean_sentences == 9.0


def test_queries_that_cannot_be_run_have_no_candidates(index: Index) -> None:
    run = {"mute": Ranking(("d01",), np.ones(1))}
    queries = [Document("mute", "  "), Document("unknown", "A reef.")]
    pools = pools_at_depths(index, queries, run, [5])[5]
    assert [(pool.query, pool.ids, len(pool.neighbours.sentence)) for pool in pools] == [
        ("mute", (), 0),
        ("unknown", (), 0),
    ]


def test_a_query_that_a_run_file_lacks_is_noted_and_a_file_without_any_is_an_error(
    index: Index, tmp_path: Path
) -> None:
    path = tmp_path / "some.trec"
    path.write_text("q0 Q0 d01 1 2.0 x\nq0 Q0 gone 2 1.0 x\n")
    run = first_stage(index, QUERIES[:2], f"runfile({path})", 5)
    assert run["q0"].ids == ("d01",)
    assert run["q0"].notes == ("1 of 2 documents of the run are not in the index",)
    assert run["q1"].ids == ()
    assert "has no ranking for the query 'q1'" in run["q1"].notes[0]
    with pytest.raises(UsageError, match="has no ranking for the query 'q2'"):
        first_stage(index, QUERIES[2:4], f"runfile({path})", 5)


class TestFiles:
    def test_pools_are_read_back(self, index: Index, tmp_path: Path) -> None:
        run = first_stage(index, QUERIES, "bm25", 9)
        pools = list(pools_at_depths(index, [*QUERIES, Document("mute", "")], run, [9])[9])
        save_pools(tmp_path / "pools", pools)
        back = load_pools(tmp_path / "pools")
        assert len(back) == len(pools)
        assert all(map(same, pools, back))
        save_pools(tmp_path / "none", [])
        assert load_pools(tmp_path / "none") == []

    def test_equal_pools_make_equal_bytes(self, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        run = first_stage(index, QUERIES, "bm25", 9)
        save_pools(tmp_path / "one", pools_at_depths(index, QUERIES, run, [9])[9])
        later = time.time() + 10**8
        monkeypatch.setattr(time, "time", lambda: later)
        save_pools(tmp_path / "two", pools_at_depths(index, QUERIES, run, [9])[9])
        assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()

    def test_an_incomplete_file_is_an_error(self, index: Index, tmp_path: Path) -> None:
        path = tmp_path / "pools"
        save_pools(path, pools_at_depths(index, QUERIES, first_stage(index, QUERIES, "bm25", 9), [9])[9])
        os.truncate(path, path.stat().st_size // 2)
        with pytest.raises(ReadError, match="damaged: delete it"):
            load_pools(path)
        with pytest.raises(ReadError, match="no such file of pools"):
            load_pools(tmp_path / "missing")

    def test_a_failed_write_leaves_no_file(self, index: Index, tmp_path: Path) -> None:
        run = first_stage(index, QUERIES, "bm25", 9)
        (pool,) = pools_at_depths(index, QUERIES[:1], run, [9])[9]
        with pytest.raises(TypeError):
            save_pools(tmp_path / "pools", [replace(pool, ids=(object(),))])  # type: ignore[arg-type]
        assert list(tmp_path.iterdir()) == []
