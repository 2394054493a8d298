"""Machines as network namespaces with one link each, and a coordinator in one of them; root and `ip` are needed.

Nothing leaves the namespaces: they have no way out.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from select import select
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import IO, Any, cast

import pytest

from tests.support.paths import ROOT

__all__ = [
    "FOURTH",
    "HEAD",
    "SECOND",
    "THIRD",
    "Coordinator",
    "Network",
    "needs_namespaces",
    "network",
    "wait_for_records",
]

HEAD, SECOND, THIRD, FOURTH = MACHINES = (1, 2, 3, 4)
STARTING = 240.0  # seconds, on a busy machine
ANSWERING = 400.0  # seconds for anything that the coordinator does
ENDING = 180.0  # seconds; without a head, a node of Ray takes half a minute to end, and its agents take another
needs_namespaces = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ip"), reason="needs root and ip")


class Network:
    """Four namespaces on a bridge, each with one address, and the processes in them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tag = f"rp{secrets.token_hex(2)}"
        self.prefix = f"10.{secrets.randbelow(200) + 20}.{secrets.randbelow(250)}"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        token = folder / "token"
        token.touch(0o600)
        token.write_text(secrets.token_hex(32))
        code = os.pathsep.join(map(str, (ROOT / "src", ROOT)))
        self.secrets = {"AWS_ACCESS_KEY_ID": secrets.token_hex(10), "AWS_SECRET_ACCESS_KEY": secrets.token_hex(20)}
        shared = {**os.environ, **self.secrets, "RAY_AUTH_TOKEN_PATH": str(token), "PYTHONPATH": code}
        shared |= {"AWS_ENDPOINT_URL": f"http://{self.address(FOURTH)}:5000", "AWS_ALLOW_HTTP": "true", "NO_PROXY": "*"}
        self.secrets["token"] = token.read_text()
        self.environments = {
            number: {**shared, "RPRS_CLUSTER_FOLDER": str(folder / f"node{number}")} for number in MACHINES
        }

    def open(self) -> None:
        """Make the namespaces and their links."""
        self._ip("link", "add", self.tag, "type", "bridge")
        self._ip("link", "set", self.tag, "up")
        for number in MACHINES:
            space = self.space(number)
            self._ip("netns", "add", space)
            self._ip("link", "add", f"{self.tag}v{number}", "type", "veth", "peer", "name", "eth0", "netns", space)
            self._ip("link", "set", f"{self.tag}v{number}", "master", self.tag, "up")
            self._ip("-n", space, "addr", "add", f"{self.address(number)}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                self._ip("-n", space, "link", "set", device, "up")

    def space(self, number: int) -> str:
        """The name of a namespace."""
        return f"{self.tag}n{number}"

    def address(self, number: int) -> str:
        """Its address."""
        return f"{self.prefix}.{number}"

    @property
    def head(self) -> str:
        """The address of the head, with its port."""
        return f"{self.address(HEAD)}:6379"

    def _ip(self, *words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)

    def cut(self, number: int, state: str = "down") -> None:
        """Take the link of a namespace down, or up again."""
        self._ip("link", "set", f"{self.tag}v{number}", state)

    def run(self, name: str, number: int, *words: str, **options: Any) -> subprocess.Popen[bytes]:
        """Start a program in a namespace, in a session of its own."""
        if name in self.processes:
            self.processes[name].wait(30)  # it was killed
        command = ["ip", "netns", "exec", self.space(number), *words]
        with (self.folder / f"{name}.log").open("wb") as log:
            given = {"env": self.environments[number], "stdout": log, **options}
            process = subprocess.Popen(command, stderr=log, cwd=ROOT, start_new_session=True, **given)
        self.processes[name] = process
        return process

    def run_rprs(self, name: str, number: int, *words: str) -> subprocess.Popen[bytes]:
        """Start a command of rprs in a namespace."""
        return self.run(name, number, sys.executable, "-m", "rprs", *words)

    def start_nodes(self, *numbers: int) -> None:
        """Start the head or some nodes, and wait until they run."""
        deadline = monotonic() + STARTING
        processes = {number: self._start_node(number) for number in numbers}
        for number, process in processes.items():
            while "Ray runtime started" not in (log := self.log(f"machine{number}")):
                assert monotonic() < deadline, log[-2000:]
                assert process.poll() is None, log[-2000:]
                sleep(0.2)

    def _start_node(self, number: int) -> subprocess.Popen[bytes]:
        words = ["--ip", self.address(number), "--folder", f"/tmp/{self.tag}{number}"]  # paths of sockets are short
        words += [] if number == HEAD else ["--join", self.head, "--cores", "1"]
        return self.run_rprs(f"machine{number}", number, "cluster", "node", *words)

    def start_redis(self) -> None:
        """Let heads keep their state in a Redis of the fourth machine."""
        address = self.address(FOURTH)
        words = ("--bind", address, "--protected-mode", "no", "--save", "", "--dir", str(self.folder))
        self.run("redis", FOURTH, "redis-server", *words)
        self.environments[HEAD]["RAY_REDIS_ADDRESS"] = f"{address}:6379"

    def start_bucket(self, name: str) -> None:
        """Run an object store with one bucket on the fourth machine."""
        words = ("-m", "tests.support.bucket", self.address(FOURTH), "5000", name)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        stdout = cast("IO[bytes]", self.run("bucket", FOURTH, sys.executable, *words, **pipes).stdout)
        assert stdout.readline(), self.log("bucket")

    def log(self, name: str) -> str:
        """What a process has printed."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def logs(self) -> Iterator[Path]:
        """All that processes have printed, and what Ray has logged."""
        yield from self.folder.glob("*.log")
        for place in Path("/tmp").glob(f"{self.tag}*/session_*/logs/**/*"):
            if place.is_file():
                yield place

    def kill(self, number: int) -> None:
        """Kill all processes in a namespace."""
        for pid in self.pids(number):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def pids(self, number: int) -> list[int]:
        """The processes in a namespace."""
        listed = subprocess.run(
            ["ip", "netns", "pids", self.space(number)], capture_output=True, text=True, check=False
        )
        return list(map(int, listed.stdout.split()))

    def running(self, name: str, *numbers: int) -> list[int]:
        """The processes in some namespaces whose command line has a name."""
        return [pid for number in numbers for pid in self.pids(number) if name in self._words(pid)]

    @contextmanager
    def stopped(self, name: str, *numbers: int) -> Iterator[None]:
        """Stop a process of that name in each of some namespaces until the end of the block.

        Processes of the other nodes wait meanwhile: alone, one of them might do all the work.
        """
        stopped: dict[int, int] = {}
        try:
            deadline = monotonic() + 60
            while missing := set(numbers) - set(stopped):
                assert monotonic() < deadline, f"no process {name} runs in {sorted(map(self.space, missing))}"
                for number in (SECOND, THIRD):
                    if number not in stopped and (pid := self._stop(name, number)) is not None:
                        stopped[number] = pid
                sleep(0.005)
            for number in set(stopped) - set(numbers):
                with suppress(ProcessLookupError):
                    os.kill(stopped.pop(number), signal.SIGCONT)
            yield
        finally:
            for pid in stopped.values():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def _stop(self, name: str, number: int) -> int | None:
        """Stop a process in the middle of its work; None if there is none."""
        for pid in self.running(name, number):
            os.kill(pid, signal.SIGSTOP)
            if pid in self.running(name, number):  # it still was in the middle
                return pid
            os.kill(pid, signal.SIGCONT)
        return None

    def end(self) -> None:
        """End all as an operator does, last the head and what it needs; nothing may be left behind."""
        head = f"machine{HEAD}"
        last = [name for name in self.processes if name.startswith("redis")]
        kept = {self.processes[name].pid for name in last}  # beside the head, or on a machine of its own
        self._end([name for name in self.processes if name not in (head, *last)], SECOND, THIRD)
        self._end([head], HEAD, kept=kept)
        self._end(last, HEAD, FOURTH)

    def _end(self, names: Sequence[str], *numbers: int, kept: Collection[int] = ()) -> None:
        for process in (self.processes[name] for name in names if self.processes[name].poll() is None):
            if process.stdin is None:
                process.terminate()
            else:
                process.stdin.close()  # the process that asks
        deadline = monotonic() + ENDING
        while left := {pid: self._words(pid) for number in numbers for pid in self.pids(number) if pid not in kept}:
            assert monotonic() < deadline, f"processes are left behind: {left}"
            for process in self.processes.values():
                process.poll()
            sleep(0.1)

    @staticmethod
    def _words(pid: int) -> str:
        with suppress(OSError):
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:200]
        return ""

    def close(self) -> None:
        """Kill all processes in the namespaces, and delete these."""
        deadline = monotonic() + 30
        while (left := [pid for number in MACHINES for pid in self.pids(number)]) and monotonic() < deadline:
            for number in MACHINES:
                self.kill(number)
            for process in self.processes.values():
                process.poll()
            sleep(0.1)
        for process in self.processes.values():
            process.wait(10)
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(BrokenPipeError):
                        stream.close()
        for number in MACHINES:
            subprocess.run(["ip", "netns", "del", self.space(number)], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", self.tag], check=False, capture_output=True)
        for place in Path("/tmp").glob(f"{self.tag}*"):
            shutil.rmtree(place, ignore_errors=True)
        assert not left, "processes cannot be killed"


@contextmanager
def network() -> Iterator[Network]:
    """Four machines without processes, which must end with the block when they are told to."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RPRS_CLUSTER_FOLDER", f"{folder}/node")
        made = Network(Path(folder))
        try:
            made.open()
            yield made
            made.end()
        finally:
            made.close()


class Coordinator:
    """The process that asks, in the namespace of the second machine."""

    def __init__(self, network: Network, store: Path, name: str = "coordinator") -> None:
        words = (sys.executable, "-m", "tests.cluster.coordinator", str(store), network.head)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = network.run(name, SECOND, *words, **pipes)
        self.nodes = self._read()["nodes"]

    def _read(self) -> dict[str, Any]:
        stdout = cast("IO[bytes]", self._process.stdout)
        assert select([stdout], [], [], ANSWERING)[0], f"the coordinator has not answered for {ANSWERING:.0f} s"
        line = stdout.readline()
        assert line, "the coordinator has ended"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def begin(self, line: str = "ask") -> None:
        """Ask, without waiting for the answer."""
        os.write(cast("IO[bytes]", self._process.stdin).fileno(), f"{line}\n".encode())

    def ask(self, line: str = "ask") -> dict[str, Any]:
        """Ask, and wait for the answer."""
        self.begin(line)
        return self._read()

    def answer(self) -> dict[str, Any]:
        """The answer to what was begun."""
        return self._read()

    def end(self) -> None:
        """End the process."""
        cast("IO[bytes]", self._process.stdin).close()
        self._process.wait(ANSWERING)


def wait_for_records(store: Path, step: str = "index") -> None:
    """Wait until a build has finished at least one task of a step, and is in its middle."""
    deadline = monotonic() + 180
    while not list(store.glob(f"builds/*/{step}/*.json")):
        assert monotonic() < deadline, "the build has not begun"
        sleep(0.02)
