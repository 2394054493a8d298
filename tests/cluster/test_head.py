"""A head whose state is in Redis, killed in the middle of queries and of a build, and started again.

It needs root, `ip` and `redis-server` (which `make test-cluster-all` installs on Debian), and takes minutes.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from time import monotonic, sleep

import pytest

import rprs
from rprs.cluster.build import build
from tests.cluster.coordinator import DEADLINE, DOCUMENTS, SHARDS, digest
from tests.support.network import (
    FOURTH,
    HEAD,
    SECOND,
    THIRD,
    Coordinator,
    Network,
    needs_namespaces,
    network,
    wait_for_records,
)

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    needs_namespaces,
    pytest.mark.skipif(not shutil.which("redis-server"), reason="needs redis-server"),
]
Place = tuple[Network, Coordinator, str]


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with network() as machines:
        folder = machines.folder
        build(folder / "store", DOCUMENTS, 3, encoder="hashed")
        rprs.build(folder / "one.rprs", DOCUMENTS, encoder="hashed")
        redis = machines.address(FOURTH)
        words = ("--bind", redis, "--protected-mode", "no", "--save", "", "--dir", str(folder))
        machines.run("redis", FOURTH, "redis-server", *words)
        machines.environments[HEAD]["RAY_REDIS_ADDRESS"] = f"{redis}:6379"
        for number in (HEAD, SECOND, THIRD):
            machines.start_node(number)
        yield machines, Coordinator(machines, folder / "store"), digest(rprs.Searcher(folder / "one.rprs"))


def wait_for_holders(coordinator: Coordinator, gone: int) -> float:
    """The seconds until there are two holders, without one that was killed."""
    start = monotonic()
    while True:
        processes = coordinator.ask("holders").get("processes", [])
        if len(processes) == 2 and gone not in processes:
            return monotonic() - start
        assert monotonic() - start < 180, processes
        sleep(0.5)


def test_a_head_that_comes_back_in_the_middle_of_queries(place: Place) -> None:
    machines, coordinator, expected = place
    before = coordinator.ask("holders")["processes"]
    assert len(before) == 2
    coordinator.begin()
    machines.kill(HEAD)
    times = [coordinator.answer()]
    times += [coordinator.ask() for _ in range(3)]
    start = monotonic()
    machines.start_node(HEAD)
    print(f"the head was started again in {monotonic() - start:.1f} s")
    times += [coordinator.ask() for _ in range(3)]
    assert [each.get("digest") for each in times] == [expected] * len(times), times
    print(
        f"head killed and started again: the longest time to answer was {max(each['seconds'] for each in times):.1f} s"
    )
    assert max(each["seconds"] for each in times) < 10 * DEADLINE + 30
    assert coordinator.ask("holders")["processes"] == before  # they were there all the time

    os.kill(before[0], signal.SIGKILL)
    assert coordinator.ask()["digest"] == expected
    seconds = wait_for_holders(coordinator, before[0])
    print(f"a holder that was killed afterwards was replaced after {seconds:.1f} s")
    assert coordinator.ask()["digest"] == expected


def test_a_head_that_comes_back_in_the_middle_of_a_build(place: Place) -> None:
    machines, coordinator, expected = place
    coordinator.begin("build again")
    wait_for_records(machines.folder / "store-again")
    machines.kill(HEAD)
    start = monotonic()
    machines.start_node(HEAD)
    built = coordinator.answer()
    print(f"head killed in the middle of a build: finished after {monotonic() - start:.1f} s")
    alone = build(machines.folder / "alone", DOCUMENTS, SHARDS, encoder="hashed").manifest
    assert built.get("files") == [file.sha256 for file in alone.files], built
    assert monotonic() - start < 600
    assert coordinator.ask()["digest"] == expected
