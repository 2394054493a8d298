"""Clusters in one process: shards behind calls whose arguments and results are copied, as between machines."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

from rprs.cluster.calls import Call, in_process
from rprs.cluster.searcher import ClusterSearcher
from rprs.cluster.shard import Shard
from rprs.cluster.statistics import Statistics, measure_shards
from rprs.index import Index
from rprs.rank import System


def pickled(call: Call) -> Call:
    """The same calls; nothing that is passed is shared."""

    def copied(method: str, requests: Sequence[tuple[int, tuple[Any, ...]]]) -> list[Any]:
        answers: list[Any] = pickle.loads(pickle.dumps(call(method, pickle.loads(pickle.dumps(list(requests))))))
        return answers

    return copied


def shards_of(indexes: Sequence[Index]) -> tuple[list[Shard], Statistics]:
    """Each index as a shard, with the statistics of all."""
    statistics, norms = measure_shards(indexes)
    return [Shard(index, statistics, own) for index, own in zip(indexes, norms, strict=True)], statistics


class LocalCluster:
    """Indexes as the shards of a cluster; `searcher` gives searchers for different systems."""

    def __init__(self, indexes: Sequence[Index]) -> None:
        self.shards, self.statistics = shards_of(indexes)
        self.call = pickled(in_process(self.shards))

    def searcher(self, system: System | str | None = None, **options: Any) -> ClusterSearcher:
        """A searcher over all shards."""
        return ClusterSearcher(self.call, len(self.shards), self.statistics, system, **options)
