"""Errors of the API of a real server, its log, its metrics, and the names of files."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.serve.test_api import JSON, SECRET, json_of, refusal
from tests.support.cli import QUERY, sample_index
from tests.support.server import Server, served


@pytest.fixture(scope="module")
def index_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("api"))


@pytest.fixture(scope="module")
def api(server: Server) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


# ---------------------------------------------------------------------------- errors and the log


@pytest.mark.parametrize(
    ("body", "status", "line"),
    [
        ({}, 400, "The query is empty"),
        ({"text": "  "}, 422, "has no sentences"),
        ({"ids": ["nobody"]}, 404, "There is no document 'nobody'"),
        ({"ids": ["../../etc/passwd"]}, 404, "There is no document"),
        ({"text": QUERY, "where": "year <"}, 400, "The filter 'year <' is wrong"),
        ({"text": QUERY, "before": "date"}, 400, "The date limit needs a date of the query: 'query' has no 'date'"),
        ({"text": QUERY, "before": "2015", "undated": "ask"}, 422, "undated: "),
        ({"text": QUERY, "k": 0}, 422, "k: "),
        ({"text": QUERY, "depth": 5}, 422, "depth: "),
        ({"text": 7}, 422, "text: "),
    ],
)
def test_errors_are_one_line(api: httpx.Client, body: dict[str, Any], status: int, line: str) -> None:
    assert line in refusal(api.post("/search", json=body), status)


def test_errors_do_not_reveal_the_path_of_the_index(index_path: Path, api: httpx.Client) -> None:
    for response in (api.get("/documents/nobody"), api.post("/search", json={"ids": ["nobody"]})):
        assert refusal(response, 404) == "There is no document 'nobody' in made.rprs"
        assert str(index_path.parent) not in response.text


def test_other_content_types(api: httpx.Client) -> None:
    assert "multipart/form-data" in refusal(api.post("/search", content=b"text"), 415)
    assert refusal(api.post("/search", content=b"{", headers={"content-type": "application/json"}), 422)
    broken = {"content-type": "multipart/form-data; boundary=x"}
    assert "form" in refusal(api.post("/search", content=b"--y\r\n", headers=broken), 422)
    assert "no part `file`" in refusal(api.post("/search", files={"request": (None, "{}")}), 422)
    assert "empty file" in refusal(api.post("/search", files={"file": ("a.txt", b"")}), 422)
    assert "X-Job" in refusal(api.post("/search", json={"text": QUERY}, headers={"x-job": "../x"}), 400)


@pytest.mark.parametrize("charset", ["undefined", "punycode", "utf-16"])
def test_forms_must_be_in_utf_8(api: httpx.Client, charset: str) -> None:
    """Some of Python's other decoders fail in unusual ways or are extremely slow."""
    body = b'--x\r\nContent-Disposition: form-data; name="request"\r\n\r\n{"k": 1}\xff\r\n--x--\r\n'
    kind = {"content-type": f"multipart/form-data; boundary=x; charset={charset}"}
    assert "UTF-8" in refusal(api.post("/search", content=body, headers=kind), 415)


def test_invalid_unicode_is_refused(api: httpx.Client) -> None:
    kind = JSON
    assert "Invalid JSON" in refusal(api.post("/search", content=b'{"text": "Lone \\ud800."}', headers=kind), 422)
    assert "Invalid JSON" in refusal(api.post("/search", content=b'{"text": "Not \xff UTF-8."}', headers=kind), 422)
    body = b'{"text": "A nought\\u0000 in it. \\ud835\\udd18nder protest.", "echo": true}'
    response = json_of(api.post("/search", content=body, headers=kind))
    assert response["query"]["text"] == "A nought in it. 𝔘nder protest."


def test_the_log_contains_neither_texts_nor_names(index_path: Path) -> None:
    with served(index_path) as logged, logged.client() as client:
        client.post("/search", json={"text": f"{SECRET} is a word.", "title": SECRET})
        client.post("/search", files={"file": (f"{SECRET}.txt", f"{SECRET} is a word.".encode())})
        client.post("/search", files={"file": (f"{SECRET}.pdf", f"{SECRET}".encode())})
        client.get(f"/documents/{SECRET}", params={"find": SECRET})
        client.post("/search", json={"text": SECRET, "where": f"{SECRET} <"})
        broken = {"content-type": "multipart/form-data; boundary=x"}
        client.post("/search", content=f"--x\r\n\x00{SECRET}: a".encode(), headers=broken)
        httpx.get(f"{logged.url}/{SECRET}?id={SECRET}", trust_env=False)
        log = logged.logged()
    assert log.count("\n") >= 6
    assert all(re.match(r"\S+Z [0-9a-f]+ [A-Z]+ [-/]\S* \d+ [\d,]+ ms", line) for line in log.splitlines()[1:])
    assert "POST /api/v1/search 200" in log
    assert SECRET.lower() not in log.lower()


def test_an_unknown_address_is_a_page_for_browsers_and_one_line_for_programs(server: Server) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
    page = httpx.get(f"{server.url}/nowhere", headers=browser, trust_env=False)
    assert (page.status_code, page.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert "Page not found" in page.text
    assert 'href="./"' in page.text
    assert "script-src 'self'" in page.headers["Content-Security-Policy"]
    plain = httpx.get(f"{server.url}/nowhere", trust_env=False)
    assert (plain.status_code, plain.json()["kind"]) == (404, "Not Found")


def test_files_are_named_for_their_documents(api: httpx.Client) -> None:
    query = {"documents": [{"text": QUERY, "id": "q.txt", "title": "Façade: a/b"}]}
    hits = api.post("/export", json={**query, "format": "csv"}).headers["Content-Disposition"]
    assert hits == (
        "attachment; filename=\"Similar-to-Facade-a-b.csv\"; filename*=UTF-8''Similar%20to%20Fa%C3%A7ade%20a%20b.csv"
    )
    report = api.post("/report", json={**query, "document": "lease.txt"}).headers["Content-Disposition"]
    assert 'filename="Facade-a-b-compared-with-lease.html"' in report


def test_metrics_count_by_route(server: Server, api: httpx.Client) -> None:
    json_of(api.get("/documents/lease.txt"))
    text = httpx.get(f"{server.url}/metrics", trust_env=False).text
    assert 'rprs_requests_total{method="GET",route="/api/v1/documents/{id}",status="200"}' in text
    assert "lease" not in text
    assert "rprs_documents 12.0" in text
    assert "process_resident_memory_bytes" in text


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_the_announced_address_and_name_are_right(index_path: Path, monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    """Also for the current folder, and for an IPv6 address in brackets."""
    try:
        socket.create_server((host.strip("[]"), 0), family=socket.AF_INET6 if "[" in host else socket.AF_INET).close()
    except OSError:
        pytest.skip(f"{host} is not there")
    monkeypatch.chdir(index_path)
    with served(Path(), "--host", host) as here, here.client() as client:
        assert here.url == f"http://{host}:{here.port}"
        assert refusal(client.get("/documents/no.thing"), 404) == "There is no document 'no.thing' in made.rprs"
        assert "/docs" in refusal(client.get("/nothing"), 404)
        assert "/docs" in refusal(client.get("/nothing", headers={"Accept": "text/html"}), 404)  # of the API


def test_a_port_in_use_and_a_missing_token_are_one_line(index_path: Path, server: Server) -> None:
    from tests.support.cli import rprs_error

    assert f"Port {server.port}" in rprs_error("serve", index_path, "--no-open", "--port", server.port)
    assert "--token-file" in rprs_error("serve", index_path, "--no-open", "--host", "0.0.0.0")
    assert "no index" in rprs_error("serve", index_path.parent / "none.rprs", "--no-open").lower()
