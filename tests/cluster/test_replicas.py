"""Which replica is asked, and when another one is: over threads as replicas, with deadlines of tenths of seconds."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Event
from time import monotonic, sleep
from typing import Any

import pytest

from rprs.cluster.repeated import run_repeated
from rprs.cluster.replicas import Calls, Lost
from rprs.cluster.settings import Patience
from rprs.errors import RprsError, ShardUnavailable, UsageError

DEADLINE = 0.3


class Threads:
    """Replicas in threads: each does what its name has been given to do."""

    def __init__(self, **behaviours: Callable[..., Any]) -> None:
        self.behaviours = behaviours
        self.asked: list[str] = []
        self._pool = ThreadPoolExecutor(32)

    def ask(self, replica: str, method: str, requests: Sequence[tuple[int, tuple[Any, ...]]]) -> Sequence[Hashable]:
        self.asked.append(replica)
        return [self._pool.submit(self._answer, replica, number, method, arguments) for number, arguments in requests]

    def _answer(self, replica: str, number: int, method: str, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
        return True, self.behaviours[replica](number, method, *arguments)

    def probe(self, replica: str) -> Hashable:
        return self._pool.submit(lambda: (True, self.behaviours[replica](-1, "probe")))

    def wait(self, references: Sequence[Any], seconds: float) -> Sequence[Hashable]:
        return list(wait(references, seconds, FIRST_COMPLETED).done)

    def outcome(self, reference: Any) -> Any:
        return reference.result(0)


def answers(number: int, method: str, *arguments: Any) -> Any:
    return number, method, arguments


def is_lost(*_: Any) -> Any:
    raise Lost("ActorDiedError")


def calls(threads: Threads, *shards: Sequence[str]) -> Calls:
    names = [f"shard {number}" for number in range(len(shards))]
    return Calls(threads, dict(enumerate(shards)), names, Patience(replica=DEADLINE))


def test_answers_come_in_the_order_of_the_requests() -> None:
    call = calls(Threads(a=answers, b=answers), ["a", "b"], ["b", "a"], ["a"])
    requests = [(2, ("x",)), (0, ()), (2, ("y",)), (1, ())]
    assert call("rank", requests) == [(number, "rank", arguments) for number, arguments in requests]


def test_shards_and_threads_begin_with_different_replicas_and_stay_with_them() -> None:
    threads = Threads(a=answers, b=answers)
    call = calls(threads, ["a", "b"], ["a", "b"])
    for _ in range(2):
        call("rank", [(0, ()), (1, ())])
    with ThreadPoolExecutor(1) as pool:
        pool.submit(call, "rank", [(0, ())]).result()
    assert threads.asked == ["a", "b", "a", "b", "b"]


def test_a_replica_that_is_lost_is_replaced_at_once_and_asked_last_from_then_on() -> None:
    threads = Threads(a=is_lost, b=answers)
    call = calls(threads, ["a", "b"])
    start = monotonic()
    for _ in range(6):
        assert call("rank", [(0, ())]) == [(0, "rank", ())]
    assert monotonic() - start < DEADLINE
    assert threads.asked.count("a") == 1


def test_a_silent_replica_is_replaced_after_the_deadline() -> None:
    going_on = Event()
    threads = Threads(a=lambda *_: going_on.wait(20), b=answers)
    call = calls(threads, ["a", "b"])
    for _ in range(2):  # one of these asks a first
        start = monotonic()
        assert call("rank", [(0, ())]) == [(0, "rank", ())]
        assert monotonic() - start < 2 * DEADLINE
    start = monotonic()
    call("rank", [(0, ())] * 10)
    assert monotonic() - start < DEADLINE  # it is known to be late by now
    going_on.set()


def test_a_late_answer_counts_if_it_is_the_first() -> None:
    def slow(*arguments: Any) -> Any:
        sleep(1.5 * DEADLINE)
        return answers(*arguments)

    assert calls(Threads(a=slow, b=slow), ["a", "b"])("rank", [(0, ())]) == [(0, "rank", ())]


def test_a_shard_without_replicas_is_one_error_that_names_it_in_bounded_time() -> None:
    going_on = Event()
    threads = Threads(a=answers, b=is_lost, c=lambda *_: going_on.wait(20))
    call = calls(threads, ["a", "a"], ["b", "b"])
    start = monotonic()
    with pytest.raises(ShardUnavailable, match="shard 1") as caught:
        call("rank", [(0, ()), (1, ())])
    assert caught.value.shard == "shard 1"
    assert monotonic() - start < call.limit(1) + 2 * DEADLINE
    start = monotonic()
    with pytest.raises(ShardUnavailable, match="shard 0"):
        calls(threads, ["c", "c"])("rank", [(0, ())])
    assert monotonic() - start < call.limit(0) + 2 * DEADLINE
    going_on.set()


def test_a_replica_that_comes_back_within_the_deadline_answers_the_same_query() -> None:
    back_at = monotonic() + DEADLINE

    def restarts(*arguments: Any) -> Any:
        return answers(*arguments) if monotonic() > back_at else is_lost()

    assert calls(Threads(a=restarts), ["a"])("rank", [(0, ())]) == [(0, "rank", ())]


def test_a_replica_that_answers_again_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rprs.cluster.replicas.PROBE", 0.05)
    threads = Threads(a=is_lost, b=answers)
    call = calls(threads, ["a", "b"])
    call("rank", [(0, ())] * 2)
    threads.behaviours["a"] = answers
    for _ in range(10):
        sleep(0.05)
        call("rank", [(0, ())])
    assert threads.asked[-3:] == ["a", "a", "a"]


def test_requests_for_one_replica_are_one_message_and_are_repeated_one_by_one() -> None:
    threads = Threads(a=answers, b=answers)
    call, requests = calls(threads, ["a", "b"], ["a", "b"], ["a"]), [(0, ()), (1, ()), (2, ("x",)), (0, ("y",))]
    call("rank", requests)
    assert sorted(threads.asked) == ["a", "b"]
    threads.behaviours["a"], threads.asked = is_lost, []
    expected = [(number, "rank", arguments) for number, arguments in requests if number != 2]
    assert call("rank", [each for each in requests if each[0] != 2]) == expected
    assert threads.asked.count("b") == 3  # together with its own, then once for each that was lost


def test_an_error_of_a_shard_has_its_own_class_and_message() -> None:
    class Wrong(Threads):
        def _answer(self, *_: Any) -> tuple[bool, Any]:
            return False, ("UsageError", "the filter is wrong")

    with pytest.raises(UsageError, match="the filter is wrong"):
        calls(Wrong(a=answers), ["a"])("rank", [(0, ())])


# ---------------------------------------------------------------------------- tasks


class Nodes:
    """Two threads as nodes."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(8)
        self.running: set[Future[Any]] = set()
        self.most = self.submitted = 0
        self.reason = ""

    def submit(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Hashable | None:
        if sum(not each.done() for each in self.running) >= self.slots():
            return None
        self.submitted += 1
        future = self._pool.submit(lambda: (True, function(*arguments)))
        self.running = {each for each in self.running if not each.done()} | {future}
        self.most = max(self.most, len(self.running))
        return future

    def slots(self) -> int:
        return 2

    def wait(self, references: Sequence[Any], seconds: float) -> Sequence[Hashable]:
        return list(wait(references, seconds, FIRST_COMPLETED).done)

    def outcome(self, reference: Any) -> Any:
        return reference.result(0)

    def is_silent(self, reference: Hashable) -> bool:
        return False

    def cancel(self, reference: Any) -> None:
        reference.cancel()


def test_tasks_run_on_all_slots_and_lost_ones_run_again() -> None:
    losses = {3: 2, 5: 1}

    def square(number: int) -> int:
        if losses.get(number, 0):
            losses[number] -= 1
            raise Lost("NodeDiedError")
        return number * number

    nodes = Nodes()
    results = dict(run_repeated(nodes, square, [(number,) for number in range(8)]))
    assert results == {number: number * number for number in range(8)}
    assert nodes.most <= 2
    assert nodes.submitted == 8 + 3


def test_a_task_that_is_lost_again_and_again_ends_the_build_with_advice() -> None:
    with pytest.raises(RprsError, match="lost 5 times"):
        list(run_repeated(Nodes(), is_lost, [(1,)]))


def test_a_task_that_hangs_is_run_elsewhere() -> None:
    going_on, first = Event(), [True]

    def task(number: int) -> int:
        if number == 1 and first:
            first.clear()
            going_on.wait(20)
        return number

    start = monotonic()
    assert sorted(run_repeated(Nodes(), task, [(0,), (1,)], least=0.2)) == [(0, 0), (1, 1)]
    assert monotonic() - start < 10
    going_on.set()
