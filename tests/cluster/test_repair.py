"""A machine that comes back: `rprs cluster start` moves replicas to it, and searches learn of the new holders.

Machines are network namespaces: root and `ip` are needed, and some minutes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from time import monotonic, sleep
from typing import Any

import pytest

import rprs
from rprs.cluster.build import build
from tests.cluster.coordinator import digest
from tests.support.crash import COLLECTION
from tests.support.network import HEAD, SECOND, THIRD, Coordinator, Network, needs_namespaces, network
from tests.support.paths import ROOT

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(900), needs_namespaces]


@pytest.fixture
def machines() -> Iterator[Network]:
    with network() as made:
        build(made.folder / "store", COLLECTION, 3, encoder="hashed")
        made.start_nodes(HEAD)
        made.start_nodes(SECOND, THIRD)
        yield made


def command(machines: Network, *words: object) -> str:
    """What a command of rprs prints on the second machine."""
    space = ["ip", "netns", "exec", machines.space(SECOND), sys.executable, "-m", "rprs", "cluster"]
    line = [*space, *map(str, words), "--address", machines.head]
    asked = subprocess.run(
        line, capture_output=True, text=True, timeout=400, env=machines.environments[SECOND], cwd=ROOT, check=False
    )
    assert asked.returncode == 0, asked.stderr
    return asked.stdout


def holders(machines: Network) -> list[dict[str, Any]]:
    """The holders that answer."""
    status = json.loads(command(machines, "status", machines.folder / "store", "--format", "json"))
    return [each for each in status["holders"] if each["alive"]]


def wait_for_holders(machines: Network, number: int, nodes: int) -> None:
    deadline = monotonic() + 240
    while len(now := holders(machines)) != number or len({each["node"] for each in now}) != nodes:
        assert monotonic() < deadline, now
        sleep(1)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What one index finds."""
    path = tmp_path_factory.mktemp("one") / "one.rprs"
    rprs.build(path, COLLECTION, encoder="hashed")
    return digest(rprs.Searcher(path))


def test_start_uses_a_machine_that_came_back(machines: Network, expected: str) -> None:
    store = machines.folder / "store"
    coordinator = Coordinator(machines, store)  # which has started one holder of all shards on each machine

    def ask() -> None:
        assert coordinator.ask().get("digest") == expected

    ask()
    wait_for_holders(machines, 2, 2)
    machines.kill(THIRD)
    ask()
    wait_for_holders(machines, 2, 1)
    machines.start_nodes(THIRD)
    ask()
    sleep(5)
    wait_for_holders(machines, 2, 1)  # nothing moves by itself
    before = {each["process"] for each in holders(machines)}
    command(machines, "start", store)
    after = holders(machines)
    assert len({each["node"] for each in after}) == len(after) == 2
    assert len(before & {each["process"] for each in after}) == 1  # one of them stayed
    ask()

    # Other groups of shards: the holders of those before are stopped, and searches learn of the new ones.
    command(machines, "start", store, "--processes", 3)
    regrouped = holders(machines)
    assert sorted(each["shards"] for each in regrouped) == [[0], [0], [1], [1], [2], [2]]
    for number in range(3):
        assert len({each["node"] for each in regrouped if each["shards"] == [number]}) == 2
    ask()
    command(machines, "stop", store)
    command(machines, "start", store, "--processes", 1)
    sleep(5)
    ask()


def test_a_head_that_comes_back_without_redis_begins_a_new_cluster(machines: Network, expected: str) -> None:
    """The nodes of the one before end, and those that search must begin again."""
    store = machines.folder / "store"
    coordinator = Coordinator(machines, store)
    machines.kill(HEAD)
    assert coordinator.ask().get("digest") == expected
    machines.start_nodes(HEAD)
    start = monotonic()
    for number in (SECOND, THIRD):
        assert machines.processes[f"machine{number}"].wait(180) != 0
    print(f"head back without Redis: the nodes ended after {monotonic() - start:.0f} s")
    assert "ShardUnavailable" in coordinator.ask()["error"]
    assert "without Redis, start the nodes" in coordinator.ask("holders")["error"]
    assert "Traceback" not in machines.log("coordinator")
    for number in (SECOND, THIRD):
        machines.kill(number)
    machines.start_nodes(SECOND, THIRD)
    assert Coordinator(machines, store, "again").ask().get("digest") == expected
