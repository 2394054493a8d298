"""Several collections in one server: one at a time, together, created and changed over the API."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from rprs import Client, Document, Index, NoCollection, Searcher, Writer
from rprs.errors import NotAllowed, RprsError, UsageError
from rprs.serve.collections import find_indexes
from tests.support.cli import ENCODER, QUERY, RECORDS, TEXTS, rprs_error
from tests.support.server import Server, served
from tests.support.web_samples import write_index

CONTRACTS = [Document(id, text) for id, text in TEXTS.items()]
CASES = [Document(record["id"], record["text"], record["title"]) for record in RECORDS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two indexes that can be searched together, files to add, and an index of all documents elsewhere."""
    root = tmp_path_factory.mktemp("collections")
    (root / "served").mkdir()
    write_index(root / "served" / "cases.rprs", CASES)
    write_index(root / "served" / "contracts.rprs", CONTRACTS)
    write_index(root / "all.rprs", [*CONTRACTS, *CASES])
    files = root / "files"
    (files / "more").mkdir(parents=True)
    (files / "more" / "good.txt").write_text("The harbour master keeps a ledger of all ships. He signs it every night.")
    (files / "more" / "empty.txt").write_text(" ")
    (files / "more" / "blank.txt").write_text("\n\n")
    (root / "secret.txt").write_text("Nobody may read this.")
    return root


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    with served(folder / "served", "--allow-write", "--files", folder / "files") as running:
        yield running


def same_hits(client: Client, index: Path) -> None:
    with Index(index) as opened:
        expected = Searcher(opened).search(QUERY, 6)
    found = client.search(QUERY, 6)
    assert [(hit.rank, hit.id, hit.score) for hit in found] == [(hit.rank, hit.id, hit.score) for hit in expected]
    assert [hit.query_coverage for hit in found] == [hit.query_coverage for hit in expected]


def test_each_collection_is_searched_by_its_name(server: Server, folder: Path) -> None:
    with Client(server.url) as client:
        overview = client.collections()
        assert [each["name"] for each in overview["collections"]][:2] == ["cases", "contracts"]
        same_hits(client, folder / "served" / "cases.rprs")  # the first one
    for name in ("cases", "contracts"):
        with Client(server.url, collection=name) as client:
            same_hits(client, folder / "served" / f"{name}.rprs")
            assert client.info()["index"] == f"{name}.rprs"
    with Client(server.url, collection="nothing") as client, pytest.raises(NoCollection, match="'nothing'"):
        client.search(QUERY)


def test_together_they_rank_exactly_like_one_index(server: Server, folder: Path) -> None:
    with Client(server.url, collection="_together") as client:
        same_hits(client, folder / "all.rprs")
        collections = {hit.id: hit.collection for hit in client.search(QUERY, 20, group=False)}
        assert (collections["moss-v-reed"], collections["lease.txt"]) == ("cases", "contracts")
        chart, passages = client.coverage(QUERY), client.passages(QUERY)
        for listed in (chart.sources, passages):
            assert {each.id: each.collection for each in listed}.items() <= collections.items()
        assert client.document("lease.txt").text == TEXTS["lease.txt"]
        explanation = client.explain(QUERY, "moss-v-reed")
        with Index(folder / "all.rprs") as index:
            assert explanation.hit.collection == "cases"
            assert replace(explanation.hit, collection="") == Searcher(index).explain(QUERY, "moss-v-reed").hit
            assert client.info()["fingerprint"] == index.fingerprint
        with pytest.raises(UsageError, match="Choose one collection to change"):
            client.add([Document("x", "A text.")])


def test_a_collection_is_created_extended_and_then_refused_with_others(server: Server) -> None:
    """A document with the id of another makes the union inexact, which is said."""
    with Client(server.url) as client:
        assert client.create("ships", [Document("log", "The ship sails at dawn.")], "hashed").added == 1
        assert "have different encoders" in client.collections()["reason"]
        with pytest.raises(UsageError, match="There is a collection 'ships' already"):
            client.create("ships", [Document("log", "The ship sails at dawn.")])
        for name in ("../out", "_together", ".hidden", "a/b", "end."):
            with pytest.raises(RprsError, match="cannot be the name"):
                client.create(name, [Document("log", "The ship sails at dawn.")])
    with Client(server.url, collection="ships") as client:
        assert client.add([Document("log-2", "The captain counts the barrels.")]).added == 1
        assert [hit.id for hit in client.search("The captain counts the barrels at dawn.")] == ["log-2", "log"]
        assert client.remove("log-2") == 1
    with Client(server.url, collection="_together") as client, pytest.raises(RprsError, match="searched together"):
        client.search(QUERY)


def test_a_folder_is_read_and_skipped_files_are_grouped(server: Server, folder: Path) -> None:
    with server.client() as api:
        created: dict[str, Any] = api.post(
            "/collections", json={"name": "more", "folder": str(folder / "files"), "encoder": "hashed"}
        ).json()
        assert (created["name"], created["added"]) == ("more", 1)
        (group,) = created["skipped_by_reason"]
        assert group["count"] == 2
        assert all(name.endswith(("empty.txt", "blank.txt")) for name in group["names"])
        again = api.post("/collections/more/documents", json={"folder": str(folder / "files" / "more")}).json()
        assert again["added"] == 1  # an id is the path within the folder
        for outside in (folder, folder / "files" / "..", "/etc"):
            refused = api.post("/collections", json={"name": "no", "folder": str(outside)})
            assert (refused.status_code, refused.json()["kind"]) == (403, "NotAllowed")
        assert "nothing to add" in api.post("/collections", json={"name": "no"}).json()["error"]
        assert not (folder / "served" / "no.rprs").exists()


def test_one_bad_file_does_not_stop_the_others(server: Server) -> None:
    files = [("file", ("a.txt", b"The pilot sold the lantern.")), ("file", ("b.pdf", b"%PDF-1.4 broken"))]
    with server.client() as api:
        answer = api.post("/collections", files=files, data={"request": '{"name": "mixed", "encoder": "hashed"}'})
    assert answer.status_code == 200, answer.text
    assert answer.json()["added"] == 1
    assert [group["names"] for group in answer.json()["skipped_by_reason"]] == [["b.pdf"]]


def test_writing_needs_permission_and_a_folder(folder: Path) -> None:
    cases, contracts = (folder / "served" / f"{name}.rprs" for name in ("cases", "contracts"))
    with served(cases, contracts) as read_only, Client(read_only.url) as client:
        assert [each["name"] for each in client.collections()["collections"]] == ["cases", "contracts"]
        with pytest.raises(NotAllowed, match="read-only"):
            client.create("new", [Document("a", "A text.")])
        url = f"{read_only.url}/api/v1/collections/cases/documents"
        assert httpx.post(url, json={}, trust_env=False).status_code == 403


def test_what_is_served(tmp_path: Path, folder: Path) -> None:
    home = folder / "served"
    assert find_indexes([home])[1] == home
    assert find_indexes([home / "cases.rprs"]) == ([home / "cases.rprs"], None)
    (tmp_path / "empty").mkdir()
    assert "contains no index" in rprs_error("serve", tmp_path / "empty")
    assert "no such folder" in rprs_error("serve", home / "cases.rprs", "--files", tmp_path / "nowhere")
    with Writer(tmp_path / "cases.rprs", create=True, encoder=ENCODER) as writer:
        writer.add(CASES[:1])
    assert "Two indexes have the name 'cases'" in rprs_error("serve", home / "cases.rprs", tmp_path / "cases.rprs")


def test_a_collection_that_vanishes_is_one_line_and_the_others_go_on(tmp_path: Path) -> None:
    write_index(tmp_path / "cases.rprs", CASES)
    write_index(tmp_path / "contracts.rprs", CONTRACTS)
    with served(tmp_path / "cases.rprs", tmp_path / "contracts.rprs") as server, server.client() as http:
        query = {"documents": [{"text": QUERY}]}
        assert http.post("/collections/contracts/search", json=query).json()["hits"]
        shutil.rmtree(tmp_path / "contracts.rprs")
        for route, body in {"search": query, "coverage": query, "passages": {"text": QUERY}}.items():
            response = http.post(f"/collections/contracts/{route}", json=body)
            line = response.json()["error"]
            assert not response.is_success
            assert "contracts.rprs" in line
            assert "\n" not in line
            assert str(tmp_path) not in line
        assert http.post("/search", json=query).json()["hits"]
        overview = http.get("/collections").json()
        assert not overview["together"]
        assert not http.post("/collections/_together/search", json=query).is_success
