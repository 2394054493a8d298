"""The command line and the server over a cluster in one process: the same output as over one index."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import rprs
from rprs.cluster.build import add, build
from rprs.document import Document
from rprs.errors import ShardUnavailable, UsageError
from rprs.serve.errors import failure
from tests.support.cli import QUERY, collection, rprs_error, rprs_ok
from tests.support.cli import rprs as run_rprs
from tests.support.server import TOKEN, served


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path, Path]]:
    """The files, one index of them, and a cluster of three shards."""
    folder = tmp_path_factory.mktemp("verbs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RPRS_CLUSTER_FOLDER", str(folder / "node"))
        files = collection(folder)
        rprs_ok("index", files, "--to", folder / "one.rprs", "--encoder", "hashed")
        words = ("cluster", "build", files, "--to", folder / "many", "--shards", 3, "--encoder", "hashed")
        assert "Generation 1 published" in rprs_ok(*words).err
        yield files, folder / "one.rprs", folder / "many"


def searches(files: Path) -> list[tuple[str, tuple[object, ...]]]:
    query = sorted(path for path in files.rglob("*.txt"))[0]
    other = sorted(path.name for path in files.rglob("*.txt"))[1]
    return [
        ("search", (query, "-k", 3)),
        ("search", (query, "-k", 3, "--system", "paper", "--format", "json")),
        ("search", ("--id", query.name, "--system", "bm25", "--format", "trec")),
        ("search", ("--text", "The tenant paid the rent.", "--format", "jsonl", "--no-boilerplate")),
        ("explain", (query, other)),
        ("explain", ("--id", query.name, other, "--format", "json")),
        ("coverage", (query, "-k", 2, "--format", "csv")),
        ("passages", (f"{query}:1-2", "--format", "jsonl")),
        ("run", (files,)),
    ]


def test_every_verb_prints_what_it_prints_for_one_index(places: tuple[Path, Path, Path]) -> None:
    files, one, many = places
    for verb, words in searches(files):
        alone, shared = rprs_ok(verb, one, *words), rprs_ok("cluster", verb, many, *words)
        expected = [line for line in alone.out.splitlines() if one.name not in line and "date" not in line]
        printed = [line for line in shared.out.splitlines() if many.name not in line and "date" not in line]
        assert printed == expected, verb


def test_status_add_remove_verify_and_sweep(places: tuple[Path, Path, Path], tmp_path: Path) -> None:
    _, _, many = places
    store = tmp_path / "copy"
    rprs_ok("cluster", "build", places[0], "--to", store, "--shards", 2, "--encoder", "hashed")
    new = tmp_path / "new.txt"
    new.write_text("The ferry left the harbour at dawn. The pilot kept the beacon in view.")
    assert "1 document added" in rprs_ok("cluster", "add", store, new).err
    assert "1 removed" in rprs_ok("cluster", "remove", store, "new.txt").err
    facts = json.loads(rprs_ok("cluster", "status", store, "--format", "json").out)
    assert facts["generations"] == [1, 2, 3]
    assert facts["newest"]["shards"] == 2
    assert "generations" in rprs_ok("cluster", "status", many).out
    assert "OK: no problems found" in rprs_ok("cluster", "verify", store).err
    assert "Generations deleted: 1" in rprs_ok("cluster", "sweep", store).err
    blob = next((store / "files").rglob("[0-9a-f]*/*"))
    blob.write_bytes(b"damaged")
    damaged = run_rprs("cluster", "verify", store)
    assert damaged.code == 1
    assert "is damaged" in damaged.out


def test_mistakes_on_the_command_line_are_one_line(places: tuple[Path, Path, Path], tmp_path: Path) -> None:
    assert "There is no cluster at" in rprs_error("cluster", "search", tmp_path / "none", "--text", "a")
    assert "No such option: --also" in rprs_error("cluster", "search", places[2], "--text", "a", "--also", places[1])
    assert "has no generation 9" in rprs_error("cluster", "search", places[2], "--text", "a", "--generation", 9)
    assert "not by both" in rprs_error("cluster", "start", places[2], "--address", "127.0.0.1:1", "--local", 2)
    assert "--address HOST:PORT" in rprs_error("cluster", "stop", places[2])
    assert "or a cluster" in rprs_error("serve", "--no-open")
    assert "not an address of a private network" in rprs_error("cluster", "node", "--ip", "8.8.8.8")
    assert "not an address of a private network" in rprs_error("cluster", "node", "--ip", "0.0.0.0")


def test_python_searches_and_follows_new_generations(
    places: tuple[Path, Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RPRS_CLUSTER_FOLDER", str(tmp_path / "node"))
    documents = [
        Document(f"d{number}", f"The vessel {number} left the harbour. The tide was high.") for number in range(9)
    ]
    build(tmp_path / "store", documents, 2, encoder="hashed")
    with rprs.Cluster.open(tmp_path / "store", "bm25") as cluster:
        assert cluster.generation == 1
        with cluster.pinned() as pinned:
            add(tmp_path / "store", [Document("new", "The vessel left the harbour. The vessel left again.")])
            assert cluster.refresh()
            assert not cluster.refresh()
            assert cluster.generation == 2
            assert pinned.generation == 1  # a query that has begun ends with the generation that it began with
            assert len(pinned.searcher("bm25").rank("The vessel left.").ids) == 9
        assert len(cluster.rank("The vessel left.").ids) == 10
        assert "new" in [hit.id for hit in cluster.search("The vessel left the harbour.", 10, group=False)]
    with rprs.Cluster.open(tmp_path / "store", generation=1) as first:
        assert len(first.index) == 9
        assert not first.refresh()
    with pytest.raises(UsageError, match="There is no cluster"):
        rprs.Cluster.open(tmp_path / "nowhere")


def test_the_server_answers_as_over_one_index_and_is_read_only(places: tuple[Path, Path, Path], tmp_path: Path) -> None:
    _, one, many = places
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o600)
    with served(None, "--cluster", many, "--token-file", tmp_path / "token") as server:
        alone = rprs.Searcher(one)
        with rprs.Client(server.url, token=TOKEN) as client:
            found = client.search(QUERY, 5)
            assert tuple(found) == tuple(alone.search(QUERY, 5))
            assert client.explain(QUERY, found[1].id).alignment == alone.explain(QUERY, found[1].id).alignment
            assert client.coverage(QUERY, k=2).rows == alone.coverage(QUERY, k=2).rows
            assert list(client.passages(QUERY[:80], 3)) == list(alone.passages(QUERY[:80], 3))
        with server.client(headers={"Authorization": f"Bearer {TOKEN}"}) as http:
            facts = http.get("/info").json()
            assert facts["documents"] == len(alone.index)
            assert facts["fingerprint"] == alone.index.fingerprint
            assert not facts["writable"]  # although there is a token: the web interface offers no changes
            assert http.get("/ready").status_code == 200
            refused = http.post("/documents", json={"documents": [{"id": "x", "text": "y"}]})
        assert refused.status_code == 403
        assert "rprs cluster add" in refused.json()["error"]


def test_a_shard_that_nobody_answers_for_is_503_and_names_it() -> None:
    answer = failure(ShardUnavailable("00001"), [])
    assert answer["status"] == 503
    assert "00001" in answer["error"]
