"""A real Ray cluster whose holder computes for longer than any deadline, and a server that says whether it is there."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from time import monotonic, sleep
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from rprs.cluster.build import build
from rprs.cluster.connection import connected
from rprs.cluster.local import LocalCluster
from rprs.cluster.scope import Scope
from rprs.cluster.settings import Patience
from rprs.cluster.store import open_store
from tests.support.crash import invented
from tests.support.server import TOKEN, served

if TYPE_CHECKING:
    from rprs.cluster.engine import Engine

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

DEADLINE = 1.0
DOCUMENTS = [invented(f"d{number:03d}", sentences=40) for number in range(40)]


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """One node with the only replica of a collection."""
    folder = tmp_path_factory.mktemp("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RPRS_CLUSTER_FOLDER", str(folder / "node"))
        with LocalCluster(1) as nodes:
            for name, value in nodes.environment.items():
                patch.setenv(name, value)
            engine = connected(nodes.address, Patience(replica=DEADLINE))
            try:
                manifest = build(folder / "store", DOCUMENTS, 2, encoder="hashed").manifest
                url = open_store(folder / "store").url
                engine.start(url, manifest, 1, 1)
                yield SimpleNamespace(nodes=nodes, engine=engine, manifest=manifest, url=url, folder=folder)
            finally:
                engine.close()


def only_holder(engine: Engine, url: str) -> int:
    (holder,) = (each for each in engine.status(url) if each.alive)
    return holder.process


def test_a_holder_that_computes_for_longer_than_all_deadlines_is_waited_for(setting: SimpleNamespace) -> None:
    """One message with so many requests that they take longer than a shard may be silent; their answers are short."""
    call = setting.engine.calls(setting.url, setting.manifest)
    number, seconds = 64, 0.0
    while seconds < 2 * call.limit(0):
        number *= 2
        requests = [(0, (Scope(f"version < {value}"),)) for value in range(number)]  # no mask is used twice
        start = monotonic()
        assert len(call("allowed", requests)) == number
        seconds = monotonic() - start


def test_the_server_is_ready_only_while_each_shard_has_a_replica(setting: SimpleNamespace) -> None:
    token = setting.folder / "server-token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    words = ("--address", setting.nodes.address, "--deadline", DEADLINE, "--token-file", token)
    with served(None, "--cluster", setting.folder / "store", *words) as server, server.client() as http:
        assert http.get("/ready").status_code == 200
        holder = only_holder(setting.engine, setting.url)
        os.kill(holder, signal.SIGSTOP)
        try:
            start = monotonic()
            while http.get("/ready").status_code == 200:
                assert monotonic() - start < 10
            refused = http.get("/ready")
            assert refused.status_code == 503
            assert "No replica of the shard 0000" in refused.json()["error"]
            assert http.get("/health").status_code == 200
        finally:
            os.kill(holder, signal.SIGCONT)
        start = monotonic()
        while http.get("/ready").status_code != 200:
            assert monotonic() - start < 10
            sleep(0.1)
        setting.engine.stop(setting.url)
        start = monotonic()
        while http.get("/ready").status_code == 200:
            assert monotonic() - start < 10
