"""A cluster in network namespaces that the test makes: a head and two nodes with links that can be cut.

The head keeps its state in Redis where there is one (`make test-cluster-all` installs it on Debian), so that it can be
killed and started again. Root and `ip` are needed, and some minutes.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any

import pytest

import rprs
from rprs.cluster.build import build
from rprs.cluster.generations import newest
from rprs.cluster.manifest import Manifest
from rprs.cluster.store import open_store
from tests.cluster.coordinator import DEADLINE, DOCUMENTS, SHARDS, digest
from tests.cluster.test_build import noting
from tests.support.network import (
    HEAD,
    SECOND,
    THIRD,
    Coordinator,
    Network,
    needs_namespaces,
    network,
    wait_for_records,
)

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(900), needs_namespaces]
needs_redis = pytest.mark.skipif(not shutil.which("redis-server"), reason="needs redis-server")


@dataclass(frozen=True)
class Place:
    """Machines, the process that searches and builds on one of them, and what one machine alone finds and builds."""

    machines: Network
    coordinator: Coordinator
    expected: str
    alone: Manifest

    def ask(self, times: int = 1) -> float:
        """Search; every answer must be that of one index, in bounded time. The longest time of one."""
        return max(self.check(self.coordinator.ask()) for _ in range(times))

    def check(self, answer: dict[str, Any]) -> float:
        """The seconds that an answer took, which must be that of one index."""
        assert answer.get("digest") == self.expected, answer
        assert answer["seconds"] < 10 * DEADLINE + 30
        return float(answer["seconds"])

    def build(self, name: str, fault: Callable[[], object]) -> float:
        """Build, with a fault in the middle; the bytes must be those of one process. The seconds after the fault."""
        store = self.machines.folder / f"store-{name}"
        self.coordinator.begin(f"build {name}")
        wait_for_records(store)
        start = monotonic()
        fault()
        built = self.coordinator.answer()
        seconds = monotonic() - start
        assert built.get("files") == [file.sha256 for file in self.alone.files], built
        assert newest(open_store(store)) == self.alone
        return seconds

    def wait_for_holders(self) -> float:
        """The seconds until there are two holders again."""
        start = monotonic()
        while len(now := self.coordinator.ask("holders").get("processes", [])) < 2:
            assert monotonic() - start < 180, now
            sleep(0.5)
        return monotonic() - start


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with network() as machines:
        folder = machines.folder
        build(folder / "store", DOCUMENTS, 3, encoder="hashed")
        rprs.build(folder / "one.rprs", DOCUMENTS, encoder="hashed")
        alone = build(folder / "alone", DOCUMENTS, SHARDS, encoder="hashed").manifest
        if shutil.which("redis-server"):
            machines.start_redis()
        machines.start_nodes(HEAD)
        machines.start_nodes(SECOND, THIRD)
        coordinator = Coordinator(machines, folder / "store")
        assert coordinator.nodes == 2
        made = Place(machines, coordinator, digest(rprs.Searcher(folder / "one.rprs")), alone)
        made.ask()
        yield made


def test_a_cut_link_in_the_middle_of_queries(place: Place) -> None:
    place.coordinator.begin()
    place.machines.cut(THIRD)
    seconds = place.check(place.coordinator.answer())
    print(f"link cut: answered after {seconds:.1f} s, then after {place.ask():.1f} s")
    place.machines.cut(THIRD, "up")
    place.ask()


def test_a_cut_link_in_the_middle_of_a_build(place: Place) -> None:
    seconds = place.build("cut", lambda: place.machines.cut(THIRD))
    print(f"link cut in the middle of a build: finished after {seconds:.1f} s")
    place.ask()
    place.machines.cut(THIRD, "up")
    place.machines.kill(THIRD)  # Ray has given the machine up: it starts again
    place.machines.start_nodes(THIRD)
    print(f"the machine is back: all shards have two holders after {place.wait_for_holders():.1f} s")
    place.ask()


@needs_redis
def test_a_head_that_comes_back_in_the_middle_of_queries(place: Place) -> None:
    before = place.coordinator.ask("holders")["processes"]
    assert len(before) == 2
    place.coordinator.begin()
    place.machines.kill(HEAD)
    seconds = max(place.check(place.coordinator.answer()), place.ask(3))
    start = monotonic()
    place.machines.start_nodes(HEAD)
    started = monotonic() - start
    seconds = max(seconds, place.ask(3))
    print(f"head killed: answered after {seconds:.1f} s at most; it was started again in {started:.1f} s")
    assert place.coordinator.ask("holders")["processes"] == before  # they were there all the time

    os.kill(before[0], signal.SIGKILL)
    place.ask()  # the other replica
    start = monotonic()
    new = Coordinator(place.machines, place.machines.folder / "store", "new coordinator")  # when both holders are there
    print(f"a holder that was killed afterwards was replaced after {monotonic() - start:.1f} s at most")
    assert len(new.ask("holders")["processes"]) == 2
    place.check(new.ask())
    new.end()
    place.ask()


@needs_redis
def test_a_head_that_comes_back_in_the_middle_of_a_build(place: Place) -> None:
    def restart() -> None:
        place.machines.kill(HEAD)
        place.machines.start_nodes(HEAD)

    print(f"head killed in the middle of a build: finished after {place.build('again', restart):.1f} s")
    place.ask()


def test_no_log_has_a_secret(place: Place) -> None:
    logs = {path: path.read_bytes() for path in place.machines.logs()}
    assert any(path.name == "gcs_server.out" and content for path, content in logs.items())
    assert not [
        path for path, content in logs.items() for each in place.machines.secrets.values() if each.encode() in content
    ]


def test_without_its_head_searches_go_on_and_a_build_ends_and_can_be_continued(place: Place) -> None:
    """The last test: the head stays away."""
    machines = place.machines
    source, store = machines.folder / "files", machines.folder / "lost"
    source.mkdir()
    for one in DOCUMENTS:
        (source / f"{one.id}.txt").write_text(one.text)
    words = ("--to", str(store), "--shards", str(SHARDS), "--encoder", "hashed", "--address", machines.head)
    building = machines.run_rprs("build", SECOND, "cluster", "build", str(source), *words)
    wait_for_records(store)
    place.coordinator.begin()
    machines.kill(HEAD)
    start = monotonic()
    print(f"head killed: answered after {place.check(place.coordinator.answer()):.1f} s")
    assert building.wait(240) != 0
    print(f"head killed: the build ended after {monotonic() - start:.1f} s")
    assert newest(open_store(store)) is None
    sleep(max(0.0, start + 70 - monotonic()))  # longer than Ray waits for its head by default
    place.ask()

    present = len(list(store.glob("builds/*/index/*.json")))
    ran: list[str] = []
    resumed = build(store, [source], SHARDS, encoder="hashed", run=noting(ran)).manifest
    assert ran.count("index_shard") == SHARDS - present < SHARDS
    assert resumed == build(machines.folder / "undisturbed", [source], SHARDS, encoder="hashed").manifest
