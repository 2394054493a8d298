"""How a coordinator asks shards: one function, whether they are in this process or on other machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from rprs.cluster.shard import Shard

__all__ = ["Call", "in_process"]


class Call(Protocol):
    """Asks one replica of each shard. Raises `ShardUnavailable` with the name of a shard that has no replica left.

    Arguments and results are plain values, NumPy arrays and frozen dataclasses. An error that a shard raises, such as a
    wrong filter, is raised here with its own class and message.
    """

    def __call__(self, method: str, requests: Sequence[tuple[int, tuple[Any, ...]]]) -> list[Any]:
        """The results of a method, in the order of the requests: the number of a shard, and its arguments."""
        ...


def in_process(shards: Sequence[Shard]) -> Call:
    """Asks shards of this process, one after the other."""

    def call(method: str, requests: Sequence[tuple[int, tuple[Any, ...]]]) -> list[Any]:
        return [shards[number].answer(method, *arguments) for number, arguments in requests]

    return call
