"""A real Ray cluster on the loopback address: a head and two nodes as processes, with faults in the middle of queries.

Each answer must be that of one index, to the last bit, in bounded time, and no process may be left behind.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import rprs
from rprs.cluster.build import add, build, remove
from rprs.cluster.cluster import Cluster
from rprs.cluster.connection import connected
from rprs.cluster.generations import newest
from rprs.cluster.local import LocalCluster
from rprs.cluster.settings import Patience, own_address
from rprs.cluster.store import open_store
from rprs.document import Document
from rprs.errors import ShardUnavailable, UsageError
from rprs.index import Writer
from tests.support.cli import rprs_ok
from tests.support.crash import QUERIES, invented, invented_to_build
from tests.support.mixed import MIXED, REMOVED, RESTRICTED, found
from tests.support.mixed import SHARDS as MANY
from tests.support.paths import ROOT
from tests.support.processes import processes_of, wait_until_gone
from tests.support.server import served
from tests.support.tiny_models import make_bert

if TYPE_CHECKING:
    from rprs.cluster.engine import Engine
    from rprs.cluster.placement import HolderState

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

DEADLINE = 3.0
SHARDS = 4
DOCUMENTS = [invented(f"d{number:03d}", number % 3, 2 + number % 7) for number in range(60)]
TO_BUILD = invented_to_build(30)
SYSTEMS = ("default", "paper", "bm25", "fast")


class Setting:
    """Everything that the tests share: two nodes, a store with one generation, and one index of the same documents."""

    def __init__(self, folder: Path, nodes: LocalCluster, engine: Engine) -> None:
        self.folder, self.nodes, self.engine = folder, nodes, engine
        self.store = folder / "store"
        self.url = open_store(self.store).url

    def holders(self) -> list[HolderState]:
        return [each for each in self.engine.status(self.url) if each.alive]

    def wait_for_holders(self, number: int) -> list[HolderState]:
        deadline = monotonic() + 180
        while len(holders := self.holders()) < number:
            assert monotonic() < deadline, f"only {len(holders)} holders came back"
            sleep(0.5)
        return holders


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setting]:
    folder = tmp_path_factory.mktemp("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RPRS_CLUSTER_FOLDER", str(folder / "node"))
        patch.setenv("RPRS_CACHE", str(folder / "cache"))
        with LocalCluster(2) as nodes:
            for name, value in nodes.environment.items():
                patch.setenv(name, value)
            engine = connected(nodes.address, Patience(replica=DEADLINE))
            try:
                made = Setting(folder, nodes, engine)
                built = build(made.store, DOCUMENTS, SHARDS, encoder="hashed", run=engine.run)
                rprs.build(folder / "one.rprs", DOCUMENTS, encoder="hashed")
                engine.start(made.url, built.manifest, 2)
                yield made
            finally:
                engine.close()
    wait_until_gone(folder)


def answers(searcher: Any) -> list[Any]:
    """What a searcher says about some queries, to the last bit."""
    found: list[Any] = []
    for query in QUERIES:
        results = searcher.search(query, 5, where="version < 2")
        found.append([(hit.id, hit.score, hit.parts, hit.pairs, hit.query_coverage) for hit in results])
        ranking = searcher.rank(query)
        found.append((ranking.ids, ranking.scores.tobytes()))
    return found


@pytest.fixture(scope="module")
def expected(setting: Setting) -> dict[str, list[Any]]:
    return {name: answers(rprs.Searcher(setting.folder / "one.rprs", name)) for name in SYSTEMS}


@pytest.fixture
def cluster(setting: Setting) -> Iterator[Cluster]:
    setting.wait_for_holders(2)
    with Cluster.open(setting.store, address=setting.nodes.address, deadline=DEADLINE) as opened:
        yield opened


def test_tasks_of_a_cluster_make_the_bytes_that_one_process_makes(setting: Setting) -> None:
    alone = build(setting.folder / "alone", DOCUMENTS, SHARDS, encoder="hashed").manifest
    assert newest(open_store(setting.store)) == alone


def test_all_named_systems_answer_as_one_index(setting: Setting, expected: dict[str, list[Any]]) -> None:
    for name in SYSTEMS:
        with Cluster.open(setting.store, name, address=setting.nodes.address, deadline=10 * DEADLINE) as cluster:
            assert answers(cluster) == expected[name], name
    query = DOCUMENTS[7]
    with Cluster.open(setting.store, address=setting.nodes.address, deadline=10 * DEADLINE) as cluster:
        alone = rprs.Searcher(setting.folder / "one.rprs")
        best = alone.search(query, 1)[0].id
        assert cluster.explain(query, best) == alone.explain(query, best)
        assert cluster.coverage(query, k=3).rows == alone.coverage(query, k=3).rows
        passage = query.text[:60]
        assert list(cluster.passages(passage, 4)) == list(alone.passages(passage, 4))


@pytest.fixture(scope="module")
def mixed(setting: Setting) -> Iterator[Path]:
    """A store whose documents tie, have ids in several scripts, and leave shards empty; one of them was removed."""
    store, url = setting.folder / "mixed", open_store(setting.folder / "mixed").url
    build(store, MIXED, MANY, encoder="hashed(dimension=16)", run=setting.engine.run)
    manifest = remove(store, [REMOVED], run=setting.engine.run).manifest
    assert 0 in (shard.documents for shard in manifest.shards)
    setting.engine.start(url, manifest, 2, 1)
    with Writer(setting.folder / "mixed.rprs", create=True, encoder="hashed(dimension=16)") as writer:
        writer.add(MIXED)
        assert writer.remove([REMOVED])
    yield store
    setting.engine.stop(url)


@pytest.mark.parametrize("system", [*SYSTEMS, "bm25(kli=0.3)"])
def test_filters_dates_and_marks_answer_as_one_index(setting: Setting, mixed: Path, system: str) -> None:
    options: dict[str, Any] = {"system": system} if system in SYSTEMS else {"first": system, "rerank": None}
    alone = rprs.Searcher(setting.folder / "mixed.rprs", **options)
    with Cluster.open(mixed, address=setting.nodes.address, deadline=10 * DEADLINE, **options) as cluster:
        free = found(alone)
        assert found(cluster) == free
        for restricted in RESTRICTED:
            expected = found(alone, **restricted)
            assert expected != free, f"{restricted} restricts nothing"
            assert found(cluster, **restricted) == expected, restricted
        scores = alone.rank(MIXED[0], keep_self=True).scores.tolist()
        assert len(set(scores)) < len(scores)  # documents tie


def in_the_middle(cluster: Cluster, fault: Callable[[], None], expected: list[Any], most: float) -> float:
    """Do harm while queries run; all of them must be answered, each in bounded time. The longest time of one."""
    times = []

    def ask() -> list[Any]:
        start = monotonic()
        found = answers(cluster)
        times.append(monotonic() - start)
        return found

    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(ask) for _ in range(4)]
        sleep(0.1)
        fault()
        assert [each.result() for each in running] == [expected] * 4
    assert answers(cluster) == expected
    assert max(times) < most
    return max(times)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_holder_that_dies_or_stops_is_replaced(
    setting: Setting, cluster: Cluster, expected: dict[str, list[Any]], number: signal.Signals
) -> None:
    victim = setting.holders()[0].process
    seconds = in_the_middle(cluster, lambda: os.kill(victim, number), expected["default"], 60)
    print(f"{number.name} of a holder: answered after {seconds:.1f} s")
    if number is signal.SIGSTOP:
        os.kill(victim, signal.SIGCONT)


def test_a_new_generation_is_used_without_a_failed_query(setting: Setting) -> None:
    store = setting.folder / "changing"
    documents = DOCUMENTS[:20]
    first = build(store, documents, 2, encoder="hashed").manifest
    url = open_store(store).url
    setting.engine.start(url, first, 2, 1)
    new = Document("new", f"{QUERIES[0].text} {QUERIES[0].text}")
    rprs.build(setting.folder / "before.rprs", documents, encoder="hashed")
    rprs.build(setting.folder / "after.rprs", [*documents, new], encoder="hashed")
    valid = [answers(rprs.Searcher(setting.folder / f"{name}.rprs")) for name in ("before", "after")]
    with Cluster.open(store, address=setting.nodes.address, deadline=10 * DEADLINE) as cluster:
        assert answers(cluster) == valid[0]
        second = add(store, [new], run=setting.engine.run).manifest
        with ThreadPoolExecutor(1) as pool:
            switch = pool.submit(setting.engine.start, url, second, 2, 1)
            while not switch.done():  # queries go on while the new holders open their shards
                assert cluster.search(QUERIES[0], 1)
        deadline = monotonic() + 60
        while cluster.generation == 1:
            assert monotonic() < deadline
            assert cluster.search(QUERIES[0], 1)
        setting.engine.stop(url, but=second.generation)
        assert answers(cluster) == valid[1]
    assert setting.engine.stop(url) == 2


def test_the_command_line_and_the_server_use_the_nodes(setting: Setting, tmp_path: Path) -> None:
    query = tmp_path / "query.txt"
    query.write_text(QUERIES[0].text)
    setting.wait_for_holders(2)
    address = ("--address", setting.nodes.address)
    words = (query, "-k", 3, "--format", "json")
    alone = rprs_ok("search", setting.folder / "one.rprs", *words).out
    command = [sys.executable, "-m", "rprs", "cluster", "search", setting.store, *words, *address]
    asked = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, check=True)
    assert asked.stdout == alone
    with served(None, "--cluster", setting.store, *address, "--deadline", 2) as server:
        expected = tuple(rprs.Searcher(setting.folder / "one.rprs").search(QUERIES[0], 3))
        with rprs.Client(server.url) as client:
            assert tuple(client.search(QUERIES[0], 3)) == expected
        assert setting.engine.stop(setting.url) == 2
        with server.client() as http:
            refused = http.post("/search", json={"text": QUERIES[1].text})
        assert refused.status_code == 503, refused.text
        assert refused.json()["kind"] == "ShardUnavailable"
        assert "0000" in refused.json()["error"]
    manifest = newest(open_store(setting.store))
    assert manifest is not None
    setting.engine.start(setting.url, manifest, 2)


def test_a_cluster_of_its_own_ends_with_it(setting: Setting) -> None:
    program = (
        "import sys, rprs; from tests.support.crash import QUERIES; "
        "cluster = rprs.Cluster.open(sys.argv[1], local=1, deadline=60); "
        "print([hit.id for hit in cluster.search(QUERIES[0], 5)]); cluster.close()"
    )
    before = processes_of(setting.folder)
    command = [sys.executable, "-c", program, str(setting.store)]
    asked = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    best = rprs.Searcher(setting.folder / "one.rprs").search(QUERIES[0], 5)
    assert asked.stdout.strip() == str([hit.id for hit in best])
    wait_until_gone(setting.folder, before)


def test_a_wrong_token_and_too_few_nodes_are_one_line(setting: Setting, tmp_path: Path) -> None:
    manifest = newest(open_store(setting.store))
    assert manifest is not None
    with pytest.raises(UsageError, match="3 replicas need 3 nodes, and there are 2"):
        setting.engine.start(setting.url, manifest, 3)
    wrong = tmp_path / "token"
    wrong.write_text("0" * 64)
    wrong.chmod(0o600)
    command = [
        sys.executable,
        "-m",
        "rprs",
        "cluster",
        "status",
        str(setting.store),
        "--address",
        setting.nodes.address,
    ]
    environment = {**os.environ, "RAY_AUTH_TOKEN_PATH": str(wrong)}
    asked = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=False)
    assert asked.returncode == 2
    assert "No Ray cluster answers" in asked.stderr


def test_a_process_belongs_to_a_node_of_its_machine_rather_than_to_the_head() -> None:
    """Ray ends what belongs to a head when another takes its place."""
    from rprs.cluster.engine import _WithoutHead

    def chosen(*nodes: tuple[str, bool]) -> list[str]:
        infos = {
            f"{number}": SimpleNamespace(node_manager_address=address, is_head_node=is_head)
            for number, (address, is_head) in enumerate(nodes)
        }
        client = SimpleNamespace(get_all_node_info=lambda **_: infos)
        return list(_WithoutHead("10.0.0.1", client).get_all_node_info())

    assert chosen(("10.0.0.1", True), ("10.0.0.1", False)) == ["1"]  # both on one machine
    assert chosen(("10.0.0.9", True), ("10.0.0.2", False), ("10.0.0.1", False)) == ["2"]
    assert chosen(("10.0.0.1", True), ("192.168.0.7", False)) == ["1"]  # another address of this machine
    assert chosen(("10.0.0.1", True)) == ["0"]
    assert own_address("127.0.0.1:6379") == "127.0.0.1"


def workers(setting: Setting) -> set[int]:
    """The processes that run tasks of a build."""
    return {pid for pid, words in processes_of(setting.folder).items() if "Builder.run" in words}


def parent(pid: int) -> int:
    """The process that has started another: a node, for one that runs tasks."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def is_working(pid: int) -> bool:
    return b"Builder.run" in Path(f"/proc/{pid}/cmdline").read_bytes()


def build_with_a_fault(setting: Setting, name: str, fault: Callable[[], object]) -> None:
    """A build in whose middle there is a fault gives the bytes of one without; the fault waits for a running task."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(build, setting.folder / name, TO_BUILD, 6, encoder="hashed", run=setting.engine.run)
        fault()
        start = monotonic()
        manifest = running.result(300)
    print(f"{name} in the middle of a build: finished after {monotonic() - start:.1f} s")
    assert manifest.manifest == build(setting.folder / "plain", TO_BUILD, 6, encoder="hashed").manifest


def first_worker(setting: Setting) -> int:
    deadline = monotonic() + 60
    while not (running := workers(setting)):
        assert monotonic() < deadline, "no task has started"
        sleep(0.02)
    return min(running)


def stopped_worker(setting: Setting) -> int:
    """A process that cannot finish its task."""
    while True:
        pid = first_worker(setting)
        os.kill(pid, signal.SIGSTOP)
        if is_working(pid):
            return pid
        os.kill(pid, signal.SIGCONT)  # it was faster


def test_a_build_survives_a_killed_and_a_stopped_task(setting: Setting) -> None:
    build_with_a_fault(setting, "killed task", lambda: os.kill(first_worker(setting), signal.SIGKILL))
    stopped: list[int] = []
    build_with_a_fault(setting, "stopped task", lambda: stopped.append(stopped_worker(setting)))
    with suppress(ProcessLookupError):  # it has been ended and replaced
        os.kill(stopped[0], signal.SIGCONT)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_the_process_that_reads_ends_with_the_one_that_builds(
    setting: Setting, tmp_path: Path, number: signal.Signals
) -> None:
    source, store = tmp_path / "source", tmp_path / "store"
    source.mkdir()
    for one in TO_BUILD[:12]:
        (source / f"{one.id}.html").write_text(f"<p>{one.text}</p>")  # plain text needs no such process
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(build, store, [source], 4, encoder="hashed", run=setting.engine.run)
        reader = next(iter(readers(setting, wait=60)))
        builder = parent(reader)
        assert "ray::Builder" in processes_of(setting.folder)[builder]
        os.kill(builder, number)
        manifest = running.result(300).manifest
    assert manifest == build(tmp_path / "alone", [source], 4, encoder="hashed").manifest
    with suppress(ProcessLookupError):  # it may have been ended and replaced
        os.kill(builder, signal.SIGCONT)
    deadline = monotonic() + 30
    while reader in readers(setting) and builder not in processes_of(setting.folder):
        assert monotonic() < deadline, "the process that reads is left behind"
        sleep(0.1)
    assert number is signal.SIGSTOP or reader not in readers(setting)


def readers(setting: Setting, wait: float = 0.0) -> set[int]:
    """The processes that read files for those that build; there is one within so many seconds."""
    deadline = monotonic() + wait
    while True:
        found = {pid for pid, words in processes_of(setting.folder).items() if "rprs.read.worker" in words}
        if found or not wait:
            return found
        assert monotonic() < deadline, "nothing is read"
        sleep(0.01)


def kill_in_the_step(setting: Setting, store: Path, before: str, records: int, step: str, shards: int) -> None:
    """Kill a process in the middle of a step: the one before has stored all its records, and some of it are missing."""
    deadline = monotonic() + 120
    while len(list(store.glob(f"builds/*/{before}/*.json"))) < records:
        assert monotonic() < deadline, f"{before} has not ended"
        sleep(0.005)
    worker = stopped_worker(setting)
    assert len(list(store.glob(f"builds/*/{step}/*.json"))) < shards, f"{step} has ended"
    os.kill(worker, signal.SIGKILL)


@pytest.mark.parametrize(("before", "records", "step", "tasks"), [("index", 4, "fit", 1), ("fit", 1, "encode", 4)])
def test_an_encoder_is_fitted_once_to_all_shards_whatever_is_killed(
    setting: Setting, tmp_path: Path, before: str, records: int, step: str, tasks: int
) -> None:
    """The default kind of encoder: its table and all shards have the bytes that one process makes."""
    teacher = make_bert(tmp_path / "tiny", positions=64)
    encoder = f'fitted(teacher=onnx(model="{teacher}",precision=fp32),sample=100)'
    store, documents = tmp_path / "store", TO_BUILD[:12]
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(build, store, documents, 4, encoder=encoder, run=setting.engine.run)
        kill_in_the_step(setting, store, before, records, step, tasks)
        manifest = running.result(300).manifest
    assert manifest.encoder_used.startswith("fitted(")
    assert manifest == build(tmp_path / "alone", documents, 4, encoder=encoder).manifest


@pytest.mark.slow
def test_the_demonstration_gives_the_same_answer_twice(tmp_path: Path) -> None:
    """It builds on a cluster of its own, searches, kills one of the nodes, and searches again."""
    folder = tmp_path / "licences"
    folder.mkdir()
    for one in DOCUMENTS:
        (folder / f"{one.id}.txt").write_text(one.text)
    query = tmp_path / "query.txt"
    query.write_text(QUERIES[0].text)
    command = [sys.executable, "scripts/demo_cluster.py", str(tmp_path), str(query), "hashed"]
    environment = {**os.environ, "RPRS_CLUSTER_FOLDER": str(tmp_path / "node")}
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=ROOT, env=environment)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "60 documents in 4 shards built" in ran.stdout
    assert "Killing the process" in ran.stdout
    assert ran.stdout.endswith("The same answer, to the last bit\n")
    wait_until_gone(tmp_path)


def test_a_lost_node_is_survived_by_queries_and_by_a_build(
    setting: Setting, cluster: Cluster, expected: dict[str, list[Any]]
) -> None:
    """The last test: a node is killed in the middle of queries and of a build, then nobody is left."""

    def kill(node: int) -> None:
        assert newest(open_store(setting.folder / "killed node")) is None  # the build goes on
        os.kill(node, signal.SIGKILL)

    def kill_in_the_middle() -> None:
        worker = stopped_worker(setting)
        node = parent(worker)
        assert node in setting.nodes.processes
        seconds = in_the_middle(cluster, lambda: kill(node), expected["default"], 60)
        assert is_working(worker)
        os.kill(worker, signal.SIGKILL)  # stopped, it does not notice that its node is gone
        print(f"node killed: answered after {seconds:.1f} s")

    build_with_a_fault(setting, "killed node", kill_in_the_middle)
    setting.engine.stop(setting.url)
    start = monotonic()
    with pytest.raises(ShardUnavailable, match="0000"):
        cluster.search(QUERIES[0], 1)
    assert monotonic() - start < 30
