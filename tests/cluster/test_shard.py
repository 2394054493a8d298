"""What a shard answers and refuses, and computations that continue in another replica."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from rprs import Document, Index, Searcher
from rprs.cluster.calls import in_process
from rprs.cluster.searcher import ClusterSearcher
from rprs.cluster.shard import METHODS, SUSPENDED, Shard
from rprs.cluster.statistics import Statistics, measure_shards
from rprs.document import Ranking
from rprs.errors import InvalidIndex, ShardUnavailable, UsageError
from tests.support.clusters import LocalCluster, shards_of

DOCUMENTS = [
    Document("a", "The river bends. The bank is of stone.", metadata={"year": 1999}),
    Document("b", "The bank lends money. Money is no stone."),
    Document("c", "A lamp stands by the river. The river bends.", metadata={"year": 2003}),
]
QUERY = "The river bends at the bank of stone."


@pytest.fixture(scope="module")
def parts() -> Iterator[list[Index]]:
    with ExitStack() as stack:
        yield [
            stack.enter_context(Index.in_memory(each, encoder="hashed(dimension=16)"))
            for each in (DOCUMENTS[:2], DOCUMENTS[2:], DOCUMENTS)
        ]


def test_a_replica_that_was_replaced_between_two_steps_begins_again(parts: list[Index]) -> None:
    """Each call goes to another replica than the last: none of them has begun what it should continue."""
    replicas = [shards_of(parts[:2])[0] for _ in range(2)]
    calls = [in_process(each) for each in replicas]
    methods: list[str] = []

    def alternating(method: str, requests: Sequence[tuple[int, tuple[Any, ...]]]) -> list[Any]:
        if method in ("begin", "resume"):  # another thread may call others meanwhile
            methods.append(method)
        return calls[len(methods) % 2](method, requests)

    many = ClusterSearcher(alternating, 2, replicas[0][0].statistics).search(QUERY)
    assert many.hits == Searcher(parts[2]).search(QUERY).hits
    assert methods.count("resume") == 2
    assert methods.count("begin") == 3  # once, and again after each step


def test_a_shard_remembers_some_computations_only(parts: list[Index]) -> None:
    cluster = LocalCluster(parts[:2])
    shard = cluster.shards[0]
    many = cluster.searcher("bm25")
    for _ in range(SUSPENDED + 5):
        request = _request(many)
        assert shard.answer("begin", request, ()) is not None
    assert len(shard._suspended) == SUSPENDED
    assert shard.answer("resume", "unknown", 1, ()) is None
    many.rank(QUERY)
    assert len(shard._suspended) == SUSPENDED - 1  # the oldest made room, the last one ended


def _request(searcher: ClusterSearcher) -> Any:
    """What a shard is asked to begin."""
    asked: list[Any] = []

    def record(method: str, requests: Sequence[tuple[int, tuple[Any, ...]]]) -> list[Any]:
        if method == "begin":
            asked.append(requests[0][1][0])
        return original(method, requests)

    original, searcher.index.call = searcher.index.call, record
    searcher.rank(QUERY)
    searcher.index.call = original
    return asked[0]


def test_only_listed_methods_can_be_called(parts: list[Index]) -> None:
    shard = LocalCluster(parts[:1]).shards[0]
    for method in ("close", "index", "__init__", "_steps", "answer"):
        with pytest.raises(UsageError, match="has no method"):
            shard.answer(method)
    public = {name for name in vars(Shard) if not name.startswith("_")} - {"answer", "close"}
    assert public == METHODS


def test_the_cosine_needs_norms_of_the_whole_cluster(parts: list[Index]) -> None:
    statistics, norms = measure_shards(parts[:2])
    shards = [Shard(index, statistics) for index in parts[:2]]
    with pytest.raises(InvalidIndex, match="blend needs norms of the whole cluster"):
        ClusterSearcher(in_process(shards), 2, statistics).rank(QUERY)
    assert len(ClusterSearcher(in_process(shards), 2, statistics, "bm25").rank(QUERY)) == 3
    with pytest.raises(InvalidIndex, match="do not fit its documents"):
        Shard(parts[0], statistics, norms[1])
    assert np.array_equal(np.concatenate(norms)[[0, 1, 2]], parts[2].squared_norms)


@dataclass(frozen=True)
class Longest:
    """A first stage of somebody else."""

    def __str__(self) -> str:
        return "longest"

    def rank(self, query: Document, index: Index, depth: int, allowed: Any) -> Ranking:
        """The longest document."""
        best = int(np.argmax(index.lengths))
        return Ranking((index.ids[best],), np.ones(1))


def test_a_first_stage_that_needs_one_index_is_refused_by_name(parts: list[Index]) -> None:
    with pytest.raises(UsageError, match=r"first stage longest cannot rank a cluster.*blend, bm25, cosine, fuse"):
        LocalCluster(parts[:2]).searcher(first=Longest())


def test_statistics_are_published_as_json(parts: list[Index]) -> None:
    statistics = measure_shards(parts[:2])[0]
    assert Statistics.from_object(statistics.object()) == statistics
    assert (statistics.documents, statistics.fingerprint) == (3, parts[2].fingerprint)


def test_an_unavailable_shard_is_one_clear_error(parts: list[Index]) -> None:
    shards, statistics = shards_of(parts[:2])
    working = in_process(shards)

    def call(method: str, requests: Sequence[tuple[int, tuple[Any, ...]]]) -> list[Any]:
        if method == "resume":
            raise ShardUnavailable("shard-0001")
        return working(method, requests)

    with pytest.raises(ShardUnavailable, match="No replica of the shard shard-0001 is left: start one, then"):
        ClusterSearcher(call, 2, statistics).search(QUERY)
