"""Processes that build, over threads: which gets a task, and what happens to those that are cut off, killed or new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Lock
from time import monotonic, sleep
from typing import Any

import pytest

from rprs.cluster import builders, repeated
from rprs.cluster.builders import Builders
from rprs.cluster.repeated import run_repeated
from rprs.cluster.replicas import Lost
from rprs.errors import RprsError, UsageError


class Machines:
    """Nodes whose processes are threads; the link of a node can be cut, its processes killed, the head away."""

    def __init__(self, **cores: int) -> None:
        self.nodes, self.cut, self.killed = dict(cores), set[str](), set[str]()
        self.head = True
        self.started: list[str] = []
        self.ended: list[str] = []
        self.most: list[int] = []
        self._pool, self._lock = ThreadPoolExecutor(32), Lock()
        self._open: dict[str, list[Future[Any]]] = {}

    def cores(self) -> dict[str, int]:
        if not self.head:
            raise Lost("the head")
        return self.nodes

    def start(self, node: str) -> str:
        name = f"{node} {len(self.started)}"
        self.started.append(name)
        return name

    def ask(self, process: str) -> Hashable:
        return self._send(process, lambda: None)

    def run(self, process: str, function: Callable[..., Any], arguments: tuple[Any, ...], most: int) -> Hashable:
        self.most.append(most)
        return self._send(process, lambda: (True, function(process, *arguments)))

    def _send(self, process: str, work: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()
        with self._lock:
            self._open.setdefault(process, []).append(future)
            if process in self.killed:
                future.set_exception(Lost("ActorDiedError"))

        def answer() -> None:
            result = work()
            with self._lock:
                if process.split()[0] not in self.cut and not future.done():
                    future.set_result(result)

        self._pool.submit(answer)
        return future

    def kill(self, process: str) -> None:
        with self._lock:
            self.killed.add(process)
            for future in self._open.get(process, []):
                if not future.done():
                    future.set_exception(Lost("ActorDiedError"))

    def wait(self, references: Sequence[Any], seconds: float) -> Sequence[Hashable]:
        return list(wait(references, seconds, FIRST_COMPLETED).done)

    def outcome(self, reference: Any) -> Any:
        return reference.result(0)

    def end(self, process: str) -> None:
        self.ended.append(process)


@pytest.fixture(autouse=True)
def _short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in {"ASKING": 0.02, "SILENT": 0.3, "STARTING": 2.0, "LOOKING": 0.05}.items():
        monkeypatch.setattr(builders, name, seconds)
    monkeypatch.setattr(repeated, "LOOK", 0.05)


def run(machines: Machines, task: Callable[..., Any], number: int) -> dict[int, Any]:
    made = Builders(machines)
    try:
        made.share_cores(number)
        return dict(run_repeated(made, task, [(each,) for each in range(number)]))
    finally:
        made.close()


def test_each_core_has_a_process_and_all_of_them_work() -> None:
    machines, used = Machines(a=1, b=2), list[str]()

    def task(process: str, number: int) -> int:
        used.append(process)
        sleep(0.05)
        return number

    assert run(machines, task, 12) == {number: number for number in range(12)}
    assert Counter(name.split()[0] for name in machines.started) == {"a": 1, "b": 2}
    assert set(used) == set(machines.started) == set(machines.ended)
    assert set(machines.most) == {1}
    run(machines, task, 1)
    assert machines.most[-1] == 3  # a task alone may use all cores


def test_a_cut_link_costs_the_time_of_silence_and_its_process_is_ended() -> None:
    machines = Machines(a=1, b=1)

    def task(process: str, number: int) -> int:
        if process.startswith("b"):
            machines.cut.add("b")
        sleep(0.05)
        return number

    start = monotonic()
    assert run(machines, task, 6) == {number: number for number in range(6)}
    assert monotonic() - start < 5
    assert "b 1" in machines.ended


def test_a_silent_process_that_ends_its_task_after_all_is_heard() -> None:
    machines = Machines(a=1)  # nobody else could do it

    def task(process: str, number: int) -> str:
        machines.cut.add("a")
        sleep(0.6)  # longer than the time of silence
        machines.cut.clear()
        return process

    assert run(machines, task, 1)[0] in machines.started


def test_a_task_of_a_killed_process_runs_again_in_a_new_one() -> None:
    machines = Machines(a=1)

    def task(process: str, number: int) -> str:
        if process == "a 0":
            machines.kill(process)
        return process

    assert run(machines, task, 1) == {0: "a 1"}


def test_tasks_go_on_while_the_head_is_away_and_nodes_that_come_later_are_used() -> None:
    machines = Machines(a=1)

    def task(process: str, number: int) -> str:
        machines.head = number != 2
        if number == 3:
            machines.nodes["b"] = 1
        sleep(0.2)
        return process

    assert set(run(machines, task, 8).values()) == {"a 0", "b 1"}


def test_without_any_process_a_build_ends_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated, "ALONE", 0.5)
    machines = Machines(a=1)

    def task(process: str, number: int) -> None:
        machines.head = False
        machines.kill(process)

    with pytest.raises(RprsError, match=r"has answered for 0 seconds \(.+\): check the nodes and the head"):
        run(machines, task, 2)


class Refusing(Machines):
    def run(self, process: str, function: Callable[..., Any], arguments: tuple[Any, ...], most: int) -> Hashable:
        return self._send(process, lambda: (False, ("UsageError", "wrong")))


def test_an_error_of_a_user_ends_all_tasks() -> None:
    with pytest.raises(UsageError, match="wrong"):
        run(Refusing(a=1), print, 2)
