"""A head whose Redis has a password and writes to its disk: both are killed and started again.

Machines are network namespaces: root, `ip` and redis-server are needed, and some minutes.
"""

from __future__ import annotations

import secrets
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest

import rprs
from rprs.cluster.build import build
from tests.cluster.coordinator import digest
from tests.support.crash import COLLECTION
from tests.support.network import HEAD, SECOND, THIRD, Coordinator, Network, needs_namespaces, network

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    needs_namespaces,
    pytest.mark.skipif(not shutil.which("redis-server"), reason="needs redis-server"),
]
PASSWORD = secrets.token_hex(16)
REDIS = "127.0.0.1:6380"  # beside the head, where no other machine reaches it


@pytest.fixture
def machines() -> Iterator[Network]:
    with network() as made:
        build(made.folder / "store", COLLECTION, 3, encoder="hashed")
        made.environments[HEAD] |= {
            "RAY_REDIS_ADDRESS": REDIS,
            "RAY_REDIS_PASSWORD": PASSWORD,
            "RAY_external_storage_namespace": "archive",
        }
        start_redis(made)
        made.start_nodes(HEAD)
        made.start_nodes(SECOND, THIRD)
        yield made


def start_redis(machines: Network) -> None:
    lines = (
        "bind 127.0.0.1",
        "port 6380",
        f"requirepass {PASSWORD}",
        f"dir {machines.folder}",
        "appendonly yes",
        'save ""',
    )
    settings = machines.folder / "redis.conf"
    settings.write_text("\n".join(lines))
    machines.run("redis", HEAD, "redis-server", str(settings))
    deadline = monotonic() + 60
    while "PONG" not in query(machines, "PING"):
        assert monotonic() < deadline, machines.log("redis")
        sleep(0.2)


def query(machines: Network, *words: str) -> str:
    """What Redis answers."""
    space = ["ip", "netns", "exec", machines.space(HEAD), "redis-cli", "-p", "6380"]
    environment = {**machines.environments[HEAD], "REDISCLI_AUTH": PASSWORD}
    return subprocess.run([*space, *words], capture_output=True, text=True, env=environment, check=False).stdout


def exposed(machines: Network) -> list[str]:
    """Everything that others may read and that has the password: command lines and logs."""
    lines = [Path(f"/proc/{pid}/cmdline") for number in (HEAD, SECOND, THIRD) for pid in machines.pids(number)]
    paths = [path for path in (*lines, *machines.logs()) if path.exists()]
    return [path.read_text(errors="replace")[:500] for path in paths if PASSWORD.encode() in path.read_bytes()]


def test_a_head_and_its_redis_come_back_with_what_they_knew(machines: Network) -> None:
    rprs.build(machines.folder / "one.rprs", COLLECTION, encoder="hashed")
    expected = digest(rprs.Searcher(machines.folder / "one.rprs"))
    coordinator = Coordinator(machines, machines.folder / "store")
    assert coordinator.ask().get("digest") == expected
    before = coordinator.ask("holders")["processes"]
    assert len(before) == 2
    assert not exposed(machines)
    keys = query(machines, "KEYS", "*").split()
    assert keys
    assert all("archive" in key for key in keys), keys  # another cluster may use the same Redis
    machines.kill(HEAD)
    assert coordinator.ask().get("digest") == expected
    start_redis(machines)
    machines.start_nodes(HEAD)
    assert coordinator.ask("holders")["processes"] == before
    assert coordinator.ask().get("digest") == expected
    assert not exposed(machines)


def test_a_head_with_a_wrong_password_does_not_start(machines: Network) -> None:
    machines.kill(HEAD)
    start_redis(machines)
    machines.environments[HEAD]["RAY_REDIS_PASSWORD"] = "wrong"
    head = machines.run_rprs("again", HEAD, "cluster", "node", "--ip", machines.address(HEAD))
    assert head.wait(240) != 0
