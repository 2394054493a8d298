"""A replica that is at work is waited for, a silent one is not: over threads, with deadlines of tenths of seconds."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Event
from time import monotonic, sleep
from typing import Any

import pytest

from rprs.cluster.replicas import Calls
from rprs.cluster.settings import Patience
from rprs.errors import Cancelled, ShardUnavailable
from rprs.progress import stopper
from tests.cluster.test_replicas import Threads, answers, is_lost

DEADLINE = 0.3
LONG = 6 * DEADLINE  # more than a deadline for each of two replicas, and one more


class Processes(Threads):
    """Replicas that also answer while they compute, except those that are silent."""

    def __init__(self, *silent: str, **behaviours: Callable[..., Any]) -> None:
        super().__init__(**behaviours)
        self.silent = set(silent)

    def probe(self, replica: str) -> Hashable:
        answer: Future[Any] = Future()
        if replica not in self.silent:
            answer.set_result((True, {}))
        return answer


def takes(seconds: float) -> Callable[..., Any]:
    def compute(*arguments: Any) -> Any:
        sleep(seconds)
        return answers(*arguments)

    return compute


def hangs(*_: Any) -> None:
    Event().wait(20)


def calls(processes: Threads, *replicas: str, computing: float = 60.0) -> Calls:
    return Calls(processes, {0: replicas}, ["shard 0"], Patience(replica=DEADLINE, computing=computing))


def test_a_replica_that_is_at_work_is_waited_for() -> None:
    for replicas in (("a",), ("a", "b")):
        processes = Processes(a=takes(LONG), b=takes(LONG))
        assert calls(processes, *replicas)("rank", [(0, ())]) == [(0, "rank", ())]
        assert processes.asked == list(replicas)  # the second replica as well, once


def test_no_replica_repeats_what_another_does_within_twice_the_deadline() -> None:
    processes = Processes(a=takes(1.6 * DEADLINE), b=answers)
    call = calls(processes, "a", "b")
    assert call("rank", [(0, ())]) == [(0, "rank", ())]
    assert call("rank", [(0, ())]) == [(0, "rank", ())]
    assert processes.asked == ["a", "a"]  # and it is not thought to have failed


def test_of_two_replicas_that_take_long_the_faster_one_counts() -> None:
    start = monotonic()
    assert calls(Processes(a=takes(3 * LONG), b=answers), "a", "b")("rank", [(0, ())]) == [(0, "rank", ())]
    assert monotonic() - start < LONG


def test_a_silent_replica_is_replaced_after_the_deadline_by_one_that_is_waited_for() -> None:
    processes = Processes("a", a=hangs, b=takes(LONG))
    start = monotonic()
    assert calls(processes, "a", "b")("rank", [(0, ())]) == [(0, "rank", ())]
    assert monotonic() - start < LONG + 2 * DEADLINE


def test_replicas_that_fall_silent_while_they_compute_are_an_error_in_bounded_time() -> None:
    processes = Processes(a=hangs, b=hangs)
    call = calls(processes, "a", "b")
    start = monotonic()

    class FallSilent(set[str]):
        def __contains__(self, replica: object) -> bool:
            return monotonic() - start > LONG

    processes.silent = FallSilent()
    with pytest.raises(ShardUnavailable, match="No replica of the shard shard 0 is left"):
        call("rank", [(0, ())])
    assert LONG < monotonic() - start < LONG + call.limit(0) + 2 * DEADLINE


def test_a_replica_that_is_lost_after_long_work_is_replaced() -> None:
    def dies(*_: Any) -> None:
        sleep(LONG)
        is_lost()

    processes = Processes(a=dies, b=dies, c=answers)
    assert calls(processes, "a", "b", "c")("rank", [(0, ())]) == [(0, "rank", ())]
    with pytest.raises(ShardUnavailable):  # a query that kills all replicas is not asked for ever
        calls(Processes(a=dies, b=dies), "a", "b")("rank", [(0, ())])


def test_work_that_never_ends_is_an_error_that_names_the_limit() -> None:
    with pytest.raises(ShardUnavailable, match=r"shard 0 has not answered within 1\.5 seconds, although") as caught:
        calls(Processes(a=hangs, b=hangs), "a", "b", computing=1.5)("rank", [(0, ())])
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.shard, again.seconds) == (str(caught.value), "shard 0", 1.5)


def test_a_request_that_is_cancelled_is_not_waited_for() -> None:
    start = monotonic()

    def check() -> None:
        if monotonic() - start > DEADLINE:
            raise Cancelled("The request was cancelled")

    token = stopper.set(check)
    try:
        with pytest.raises(Cancelled):
            calls(Processes(a=hangs), "a")("rank", [(0, ())])
    finally:
        stopper.reset(token)
    assert monotonic() - start < LONG


def test_shards_without_a_replica_that_is_there_are_missing() -> None:
    processes = Processes("b", a=answers, b=answers, c=is_lost)
    shards = {0: ["a", "b"], 1: ["b"], 2: ["c", "b"]}
    assert Calls(processes, shards, ["0", "1", "2"], Patience(replica=DEADLINE)).missing() == ["1"]
    processes.silent = {"a", "b", "c"}
    start = monotonic()
    assert Calls(processes, shards, ["0", "1", "2"], Patience(replica=DEADLINE)).missing() == ["0", "1", "2"]
    assert monotonic() - start < 2 * DEADLINE
