"""A cluster in network namespaces that the test makes: a head and two nodes with links that can be cut.

It needs root and `ip`, and takes minutes. Nothing leaves the namespaces: they have no way out.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import IO, Any, cast

import pytest

import rprs
from rprs.cluster.build import build
from tests.cluster.coordinator import DEADLINE, DOCUMENTS, digest
from tests.support.paths import ROOT

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ip"), reason="needs root and ip"),
]


class Network:
    """Three namespaces on a bridge, each with one address, and the processes in them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tag = f"rp{secrets.token_hex(2)}"
        self.prefix = f"10.{secrets.randbelow(200) + 20}.{secrets.randbelow(250)}"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        token = folder / "token"
        token.touch(0o600)
        token.write_text(secrets.token_hex(32))
        self.environment = {
            **os.environ,
            "RAY_AUTH_TOKEN_PATH": str(token),
            "PYTHONPATH": str(ROOT),
        }
        self._ip("link", "add", self.tag, "type", "bridge")
        self._ip("link", "set", self.tag, "up")
        for number in (1, 2, 3):
            space = self.space(number)
            self._ip("netns", "add", space)
            self._ip("link", "add", f"{self.tag}v{number}", "type", "veth", "peer", "name", "eth0", "netns", space)
            self._ip("link", "set", f"{self.tag}v{number}", "master", self.tag, "up")
            self._ip("-n", space, "addr", "add", f"{self.address(number)}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                self._ip("-n", space, "link", "set", device, "up")

    def space(self, number: int) -> str:
        return f"{self.tag}n{number}"

    def address(self, number: int) -> str:
        return f"{self.prefix}.{number}"

    @property
    def head(self) -> str:
        return f"{self.address(1)}:6379"

    def _ip(self, *words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)

    def cut(self, number: int, state: str = "down") -> None:
        """Take the link of a namespace down, or up again."""
        self._ip("link", "set", f"{self.tag}v{number}", state)

    def run(self, name: str, number: int, *words: str, **options: Any) -> subprocess.Popen[bytes]:
        """Start a process in a namespace, in a session of its own."""
        local = {**self.environment, "RPRS_CLUSTER_FOLDER": str(self.folder / f"node{number}")}
        command = ["ip", "netns", "exec", self.space(number), sys.executable, "-m", *words]
        log = (self.folder / f"{name}.log").open("wb")
        process = subprocess.Popen(
            command, env=local, stderr=log, cwd=ROOT, start_new_session=True, **{"stdout": log, **options}
        )
        log.close()
        self.processes[name] = process
        return process

    def node(self, name: str, number: int) -> None:
        words = ["rprs", "cluster", "node", "--ip", self.address(number), "--folder", f"/tmp/{self.tag}{name}"]
        words += [] if name == "head" else ["--join", self.head, "--cores", "1"]
        self.run(name, number, *words)

    def pids(self, number: int) -> list[int]:
        """The processes in a namespace."""
        listed = subprocess.run(
            ["ip", "netns", "pids", self.space(number)], capture_output=True, text=True, check=False
        )
        return list(map(int, listed.stdout.split()))

    def close(self) -> None:
        """End all processes in the namespaces, and delete these."""
        deadline = monotonic() + 30
        while (left := [pid for number in (1, 2, 3) for pid in self.pids(number)]) and monotonic() < deadline:
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for process in self.processes.values():
                process.poll()
            sleep(0.1)
        for process in self.processes.values():
            process.wait(10)
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(BrokenPipeError):
                        stream.close()
        for number in (1, 2, 3):
            subprocess.run(["ip", "netns", "del", self.space(number)], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", self.tag], check=False, capture_output=True)
        for place in Path("/tmp").glob(f"{self.tag}*"):
            shutil.rmtree(place, ignore_errors=True)


class Coordinator:
    """The process that asks, in the namespace of the second machine."""

    def __init__(self, network: Network, store: Path) -> None:
        words = ("tests.cluster.coordinator", str(store), network.head)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = network.run("coordinator", 2, *words, **pipes)
        self.nodes = self._read()["nodes"]

    def _read(self) -> dict[str, Any]:
        line = cast("IO[bytes]", self._process.stdout).readline()
        assert line, "the coordinator has ended"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def begin(self, line: str = "ask") -> None:
        stdin = cast("IO[bytes]", self._process.stdin)
        stdin.write(f"{line}\n".encode())
        stdin.flush()

    def ask(self, line: str = "ask") -> dict[str, Any]:
        self.begin(line)
        return self._read()

    def answer(self) -> dict[str, Any]:
        return self._read()


@pytest.fixture(scope="module")
def place() -> Iterator[tuple[Network, Coordinator, str]]:
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        patch.setenv("RPRS_CLUSTER_FOLDER", str(folder / "node"))
        build(folder / "store", DOCUMENTS, 3, encoder="hashed")
        rprs.build(folder / "one.rprs", DOCUMENTS, encoder="hashed")
        network = Network(folder)
        try:
            network.node("head", 1)
            sleep(5)
            network.node("second", 2)
            network.node("third", 3)
            _wait_for_nodes(network)
            yield network, Coordinator(network, folder / "store"), digest(rprs.Searcher(folder / "one.rprs"))
        finally:
            network.close()


def _wait_for_nodes(network: Network) -> None:
    deadline = monotonic() + 240
    for name in ("head", "second", "third"):
        log = network.folder / f"{name}.log"
        while "Ray runtime started" not in log.read_text(errors="replace"):
            assert monotonic() < deadline, log.read_text(errors="replace")[-2000:]
            assert network.processes[name].poll() is None, log.read_text(errors="replace")[-2000:]
            sleep(0.5)


def test_a_cut_link_in_the_middle_of_a_query_and_of_a_build(place: tuple[Network, Coordinator, str]) -> None:
    network, coordinator, expected = place
    assert coordinator.nodes == 2
    assert coordinator.ask()["digest"] == expected
    coordinator.begin()
    network.cut(3)
    answer = coordinator.answer()
    print(f"link cut: answered after {answer['seconds']:.1f} s")
    assert answer["digest"] == expected
    assert answer["seconds"] < 10 * DEADLINE + 30
    again = coordinator.ask()
    assert again["digest"] == expected
    network.cut(3, "up")
    assert coordinator.ask()["digest"] == expected


def test_a_build_after_a_cut_link_gives_the_same_bytes(place: tuple[Network, Coordinator, str]) -> None:
    network, coordinator, _ = place
    built = coordinator.ask("build")
    alone = build(network.folder / "alone", DOCUMENTS, 3, encoder="hashed").manifest
    assert built.get("files") == [file.sha256 for file in alone.files], built


def test_searches_go_on_without_the_head(place: tuple[Network, Coordinator, str]) -> None:
    network, coordinator, expected = place
    coordinator.begin()
    for pid in network.pids(1):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    answer = coordinator.answer()
    print(f"head killed: answered after {answer['seconds']:.1f} s")
    assert answer["digest"] == expected
    sleep(70)  # longer than Ray waits for its head by default
    assert coordinator.ask()["digest"] == expected
