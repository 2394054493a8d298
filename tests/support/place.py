"""Machines with a cluster that is compared with one index and with a build in one process, whatever fails meanwhile."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any

import rprs
from rprs.cluster.build import build
from rprs.cluster.generations import newest
from rprs.cluster.manifest import Manifest
from rprs.cluster.store import open_store
from tests.cluster.coordinator import DEADLINE, SHARDS, TO_BUILD, digest
from tests.support.crash import COLLECTION
from tests.support.network import HEAD, SECOND, THIRD, Coordinator, Network, network, wait_for_records

__all__ = ["Place", "prepared_place"]


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

    def build(self, name: str, fault: Callable[[], object], *numbers: int) -> float:
        """Build, with a fault while machines of these numbers are in the middle of a step.

        The bytes must be those of one process. The seconds from the end of the fault to that of the build.
        """
        store = self.machines.folder / f"store-{name}"
        self.coordinator.begin(f"build {name}")
        wait_for_records(store)
        with self.machines.stopped("ray::Builder.run", *numbers):
            assert newest(open_store(store)) is None
            fault()
        start = monotonic()
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

    def bring_back(self, machine: int) -> float:
        """Start a machine that Ray has given up since its link was cut; the seconds until shards have two holders."""
        self.machines.cut(machine, "up")
        self.machines.kill(machine)
        self.machines.start_nodes(machine)
        return self.wait_for_holders()


@contextmanager
def prepared_place() -> Iterator[Place]:
    """A head and two nodes that hold a collection, and a process on the second that searches and builds."""
    with network() as machines:
        folder = machines.folder
        build(folder / "store", COLLECTION, 3, encoder="hashed")
        rprs.build(folder / "one.rprs", COLLECTION, encoder="hashed")
        alone = build(folder / "alone", TO_BUILD, SHARDS, encoder="hashed").manifest
        if shutil.which("redis-server"):
            machines.start_redis()
        machines.start_nodes(HEAD)
        machines.start_nodes(SECOND, THIRD)
        coordinator = Coordinator(machines, folder / "store")
        assert coordinator.nodes == 2
        place = Place(machines, coordinator, digest(rprs.Searcher(folder / "one.rprs")), alone)
        place.ask()
        yield place
