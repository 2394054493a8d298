"""A cluster in network namespaces that the test makes: a head and two nodes with links that can be cut.

The head keeps its state in Redis where there is one (`make test-cluster-all` installs it on Debian), so that it can be
killed and started again. Root and `ip` are needed, and some minutes.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest

import rprs
from rprs.cluster.build import build
from rprs.cluster.generations import newest
from rprs.cluster.job import parse_record
from rprs.cluster.manifest import blob_path
from rprs.cluster.store import open_store
from tests.cluster.coordinator import SHARDS, TO_BUILD
from tests.support.cli import rprs_ok
from tests.support.crash import QUERIES
from tests.support.network import (
    HEAD,
    SECOND,
    THIRD,
    Network,
    needs_namespaces,
    wait_for_records,
)
from tests.support.place import Place, prepared_place

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(900), needs_namespaces]
needs_redis = pytest.mark.skipif(not shutil.which("redis-server"), reason="needs redis-server")


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with prepared_place() as prepared:
        yield prepared


def test_a_cut_link_in_the_middle_of_queries(place: Place) -> None:
    place.coordinator.begin()
    place.machines.cut(THIRD)
    seconds = place.check(place.coordinator.answer())
    print(f"link cut: answered after {seconds:.1f} s, then after {place.ask():.1f} s")
    place.machines.cut(THIRD, "up")
    place.ask()


def test_a_cut_link_in_the_middle_of_a_build(place: Place) -> None:
    seconds = place.build("cut", lambda: place.machines.cut(THIRD), THIRD)
    print(f"link cut in the middle of a build: finished after {seconds:.1f} s")
    place.ask()
    print(f"the machine is back: all shards have two holders after {place.bring_back(THIRD):.1f} s")
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

    # Processes that searched all the time learn what happens afterwards: both holders die, one after the other.
    for pid in before:
        os.kill(pid, signal.SIGKILL)
        place.ask()  # the other replica
        print(f"a holder that was killed afterwards was replaced after {place.wait_for_holders():.1f} s")
    place.ask()


@needs_redis
@pytest.mark.parametrize("killed", [False, True])
def test_a_head_that_comes_back_in_the_middle_of_a_build(place: Place, killed: bool) -> None:
    """The processes that build are stopped meanwhile, or killed in the end; others take their place."""
    machines = place.machines

    def restart() -> None:
        machines.kill(HEAD)
        machines.start_nodes(HEAD)
        for pid in machines.running("ray::Builder.run", SECOND, THIRD) if killed else ():
            os.kill(pid, signal.SIGKILL)

    seconds = place.build(f"again-{killed}", restart, SECOND, THIRD)
    lost = "killed" if killed else "stopped"
    print(f"head restarted in the middle of a build, all processes {lost}: finished {seconds:.1f} s after that")
    place.ask()


@pytest.fixture(scope="module")
def source(place: Place) -> Path:
    """Files to build from, by commands; unlike small texts, web pages are read in a process of their own."""
    folder = place.machines.folder / "files"
    folder.mkdir()
    for one in TO_BUILD:
        (folder / f"{one.id}.html").write_text(f"<p>{one.text}</p>")
    return folder


def start_build(place: Place, source: Path, store: Path) -> subprocess.Popen[bytes]:
    words = ("--to", str(store), "--shards", str(SHARDS), "--encoder", "hashed", "--address", place.machines.head)
    return place.machines.run_rprs(f"build-{store.name}", SECOND, "cluster", "build", str(source), *words)


def processes_of_builds(machines: Network) -> set[int]:
    """Those that run steps, and those that read files for them."""
    return {pid for name in ("ray::Builder", "rprs.read.worker") for pid in machines.running(name, SECOND, THIRD)}


def test_a_build_that_is_killed_is_continued_by_the_same_command(place: Place, source: Path) -> None:
    machines, store = place.machines, place.machines.folder / "killed"
    before = processes_of_builds(machines)  # of the coordinator
    building = start_build(place, source, store)
    wait_for_records(store)
    building.kill()
    building.wait()
    start = monotonic()
    while left := processes_of_builds(machines) - before:
        assert monotonic() - start < 60, f"processes of the build are left behind: {left}"
        sleep(0.2)
    print(f"build killed: its processes were gone after {monotonic() - start:.1f} s")
    assert newest(open_store(store)) is None
    finished = [parse_record(record.read_bytes()).shard for record in store.glob("builds/*/index/*.json")]
    assert 0 < len(finished) < SHARDS
    # What belongs to one shard alone is not written again.
    catalogs = [file for shard in finished if shard for file in shard.files if file.path == "catalog.sqlite"]
    written = {file.sha256: (store / blob_path(file.sha256)).stat().st_mtime_ns for file in catalogs}
    assert start_build(place, source, store).wait(240) == 0, machines.log("build-killed")
    assert (
        newest(open_store(store)) == build(machines.folder / "alone too", [source], SHARDS, encoder="hashed").manifest
    )
    assert {name: (store / blob_path(name)).stat().st_mtime_ns for name in written} == written


def test_a_collection_in_a_bucket(place: Place, source: Path, tmp_path: Path) -> None:
    """Nodes read and write it with the credentials of their environment; so do commands, also where a file is lost."""
    machines, url, nodes = place.machines, "s3://cases/a/prefix", ("--address", place.machines.head)

    def run(name: str, *words: str) -> tuple[int, str]:
        return machines.run_rprs(f"bucket-{name}", SECOND, "cluster", *words).wait(240), machines.log(f"bucket-{name}")

    machines.start_bucket("cases")
    words = ("--to", url, "--shards", "3", "--encoder", "hashed", *nodes)
    code, log = run("build", "build", str(source), *words)
    assert code == 0, log
    code, log = run("start", "start", url, "--replicas", "2", *nodes)
    assert code == 0, log
    query = tmp_path / "query.txt"
    query.write_text(QUERIES[0].text)
    rprs.build(tmp_path / "one.rprs", source, encoder="hashed")
    expected = rprs_ok("search", tmp_path / "one.rprs", query, "--format", "trec").out
    assert expected
    code, log = run("search", "search", url, str(query), "--format", "trec", *nodes)
    assert code == 0
    assert log.startswith(expected), log
    assert run("stop", "stop", url, *nodes)[0] == 0

    # Another shard, whose files are lost before the second node has copied them.
    words = ("--to", "s3://cases/lost", "--shards", "1", "--encoder", "hashed", *nodes)
    assert run("other", "build", str(min(source.iterdir())), *words)[0] == 0
    emptied = "from rprs.cluster.store import open_store; store = open_store('s3://cases/lost'); "
    emptied += "store.delete([each.path for each in store.list('files')])"
    assert machines.run("bucket-emptied", SECOND, sys.executable, "-c", emptied).wait(60) == 0
    code, log = run("lost", "start", "s3://cases/lost", "--replicas", "2", *nodes)
    assert code != 0
    assert "could not open its shards" in log
    code, log = run("missing", "status", "s3://no-such-bucket/x", *nodes)
    assert code != 0
    assert "s3://no-such-bucket/x" in log


def test_no_log_has_a_secret(place: Place) -> None:
    logs = {path: path.read_bytes() for path in place.machines.logs()}
    assert any(path.name == "gcs_server.out" and content for path, content in logs.items())
    assert not [
        path for path, content in logs.items() for each in place.machines.secrets.values() if each.encode() in content
    ]


def test_without_its_head_searches_and_a_build_go_on(place: Place, source: Path) -> None:
    """The last test: the head stays away."""
    machines, store = place.machines, place.machines.folder / "headless"
    building = start_build(place, source, store)
    wait_for_records(store)
    place.coordinator.begin()
    machines.kill(HEAD)
    start = monotonic()
    print(f"head killed: answered after {place.check(place.coordinator.answer()):.1f} s")
    assert building.wait(240) == 0, machines.log("build-headless")
    print(f"head killed: a build was finished after {monotonic() - start:.1f} s")
    undisturbed = build(machines.folder / "undisturbed", [source], SHARDS, encoder="hashed").manifest
    assert newest(open_store(store)) == undisturbed
    sleep(max(0.0, start + 70 - monotonic()))  # longer than Ray waits for its head by default
    place.ask()
