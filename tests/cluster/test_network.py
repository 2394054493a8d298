"""A cluster in network namespaces that the test makes: a head and two nodes with links that can be cut.

It needs root and `ip`, and takes minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic, sleep

import pytest

import rprs
from rprs.cluster.build import build
from rprs.cluster.generations import newest
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

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(1500), needs_namespaces]
Place = tuple[Network, Coordinator, str]


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with network() as machines:
        folder = machines.folder
        build(folder / "store", DOCUMENTS, 3, encoder="hashed")
        rprs.build(folder / "one.rprs", DOCUMENTS, encoder="hashed")
        for number in (HEAD, SECOND, THIRD):
            machines.start_node(number)
        yield machines, Coordinator(machines, folder / "store"), digest(rprs.Searcher(folder / "one.rprs"))


def test_a_cut_link_in_the_middle_of_a_query(place: Place) -> None:
    machines, coordinator, expected = place
    assert coordinator.nodes == 2
    assert coordinator.ask()["digest"] == expected
    coordinator.begin()
    machines.cut(THIRD)
    answer = coordinator.answer()
    print(f"link cut: answered after {answer['seconds']:.1f} s")
    assert answer["digest"] == expected
    assert answer["seconds"] < 10 * DEADLINE + 30
    again = coordinator.ask()
    assert again["digest"] == expected
    machines.cut(THIRD, "up")
    assert coordinator.ask()["digest"] == expected


def test_a_cut_link_in_the_middle_of_a_build(place: Place) -> None:
    machines, coordinator, expected = place
    coordinator.begin("build cut")
    wait_for_records(machines.folder / "store-cut")
    machines.cut(THIRD)
    start = monotonic()
    built = coordinator.answer()
    print(f"link cut in the middle of a build: finished after {monotonic() - start:.1f} s")
    alone = build(machines.folder / "alone", DOCUMENTS, SHARDS, encoder="hashed").manifest
    assert built.get("files") == [file.sha256 for file in alone.files], built
    assert monotonic() - start < 600
    assert newest(open_store(machines.folder / "store-cut")) == alone
    assert coordinator.ask()["digest"] == expected
    machines.cut(THIRD, "up")


def test_without_its_head_searches_go_on_and_a_build_ends_and_can_be_continued(place: Place) -> None:
    machines, coordinator, expected = place
    source, store = machines.folder / "files", machines.folder / "lost"
    source.mkdir()
    for one in DOCUMENTS:
        (source / f"{one.id}.txt").write_text(one.text)
    words = ("--to", str(store), "--shards", str(SHARDS), "--encoder", "hashed", "--address", machines.head)
    building = machines.run_rprs("build", SECOND, "cluster", "build", str(source), *words)
    wait_for_records(store)
    coordinator.begin()
    machines.kill(HEAD)
    start = monotonic()
    answer = coordinator.answer()
    print(f"head killed: answered after {answer['seconds']:.1f} s")
    assert answer["digest"] == expected
    assert building.wait(240) != 0
    print(f"head killed: the build ended after {monotonic() - start:.1f} s")
    assert newest(open_store(store)) is None
    sleep(max(0.0, start + 70 - monotonic()))  # longer than Ray waits for its head by default
    assert coordinator.ask()["digest"] == expected

    present = len(list(store.glob("builds/*/index/*.json")))
    ran: list[str] = []
    resumed = build(store, [source], SHARDS, encoder="hashed", run=noting(ran)).manifest
    assert ran.count("index_shard") == SHARDS - present < SHARDS
    assert resumed == build(machines.folder / "undisturbed", [source], SHARDS, encoder="hashed").manifest
