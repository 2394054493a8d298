"""Searches in processes beside the server: the same responses, changes, cancellation, and processes that end."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from rprs.serve.workers import PAUSE
from tests.support.cli import QUERY, TEXTS, rprs, sample_index
from tests.support.server import Server, served

JOB = "abcdef0123" * 4
WORKERS = 2
LONG = " ".join(f"The tenant number {number} pays the rent of house {number * 7}." for number in range(60_000))


@pytest.fixture(scope="module")
def index_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("workers"))


@pytest.fixture(scope="module")
def plain(index_path: Path) -> Iterator[httpx.Client]:
    """A client of a server without workers."""
    with served(index_path) as running, running.client() as client:
        yield client


@pytest.fixture(scope="module")
def server(index_path: Path) -> Iterator[Server]:
    with served(index_path, "--workers", WORKERS) as running:
        until_ready(running)
        yield running


@pytest.fixture(scope="module")
def api(server: Server) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


def metric(server: Server, name: str) -> float:
    text = httpx.get(f"{server.url}/metrics", timeout=60, trust_env=False).text
    found = re.search(rf"^{name} (.+)$", text, re.MULTILINE)
    assert found
    return float(found[1])


def until_ready(server: Server, number: int = WORKERS) -> None:
    end = time.monotonic() + 120
    while metric(server, "rprs_workers") != number:
        assert time.monotonic() < end
        time.sleep(0.1)


def workers_of(server: Server) -> list[int]:
    tasks = Path(f"/proc/{server.process.pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def seconds_of(process: int) -> float:
    """Processor time used by a process."""
    columns = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(columns[11]) + int(columns[12])) / os.sysconf("SC_CLK_TCK")


def without_changing(value: Any) -> Any:
    """A response without names of jobs, times and durations."""
    if isinstance(value, dict):
        return {name: without_changing(each) for name, each in value.items() if name not in ("job", "date", "seconds")}
    return [without_changing(each) for each in value] if isinstance(value, list) else value


# ---------------------------------------------------------------------------- responses


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("search", {"text": QUERY}),
        ("search", {"ids": ["loan.txt"], "k": 3, "where": "court = harbour"}),
        ("explain", {"text": QUERY, "document": "lease.txt"}),
        ("sentences", {"text": QUERY}),
        ("align", {"query": "lease.txt", "document": "sublease.txt"}),
        ("coverage", {"text": QUERY}),
        ("passages", {"text": "The tenant pays the rent."}),
        ("search", {"ids": ["unknown"]}),
        ("search", {"text": " "}),
        ("search", {"text": QUERY, "where": "court ="}),
    ],
)
def test_responses_are_those_of_a_server_without_workers(
    path: str, body: dict[str, Any], plain: httpx.Client, api: httpx.Client
) -> None:
    expected, response = (client.post(f"/{path}", json=body) for client in (plain, api))
    assert response.status_code == expected.status_code
    assert without_changing(response.json()) == without_changing(expected.json())


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("export", {"text": QUERY, "format": "csv"}),
        ("report", {"text": QUERY, "document": "lease.txt"}),
        ("coverage/export", {"text": QUERY, "format": "csv"}),
        ("passages/export", {"text": "The tenant pays the rent.", "format": "csv"}),
    ],
)
def test_files_are_those_of_a_server_without_workers(
    path: str, body: dict[str, Any], plain: httpx.Client, api: httpx.Client
) -> None:
    expected, response = (client.post(f"/{path}", json=body) for client in (plain, api))
    assert response.status_code == expected.status_code == 200, response.text
    assert response.headers["content-disposition"] == expected.headers["content-disposition"]
    date = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S\d\d:\d\d")
    assert date.sub("", response.text) == date.sub("", expected.text)


def test_uploads_are_read_by_the_server_and_searched_by_a_worker(plain: httpx.Client, api: httpx.Client) -> None:
    files = {"file": ("lease.txt", TEXTS["lease.txt"].encode())}
    expected, response = (client.post("/search", files=files) for client in (plain, api))
    assert response.status_code == 200
    assert without_changing(response.json()) == without_changing(expected.json())


def test_workers_and_not_the_server_search(server: Server, api: httpx.Client) -> None:
    text = " ".join(LONG.split()[:20_000])
    before = {process: seconds_of(process) for process in workers_of(server)}
    assert api.post("/search", json={"text": text}).status_code == 200
    used = max(seconds_of(process) - seconds for process, seconds in before.items())
    assert len(before) == WORKERS
    assert used > 0.05


def test_progress_and_parts_arrive_as_events(api: httpx.Client) -> None:
    headers = {"accept": "text/event-stream", "x-job": JOB}
    text = api.post("/search", json={"text": QUERY}, headers=headers).text
    assert text.startswith(f'event: job\ndata: {{"job": "{JOB}"}}')
    assert "event: progress" in text
    assert "event: result" in text
    text = api.post("/coverage", json={"text": QUERY, "parts": True}, headers=headers).text
    assert [text.count(f"event: {kind}\n") > 0 for kind in ("chart", "source", "result")] == [True] * 3


# ---------------------------------------------------------------------------- cancellation


def test_a_search_in_a_worker_is_cancelled_by_its_name(server: Server, api: httpx.Client) -> None:
    responses: list[httpx.Response] = []

    def search() -> None:
        with server.client() as client:
            responses.append(client.post("/search", json={"text": LONG}, headers={"x-job": JOB}))

    busy = threading.Thread(target=search)
    busy.start()
    while not metric(server, "rprs_jobs_working"):
        time.sleep(0.02)
    time.sleep(0.2)
    assert api.delete(f"/jobs/{JOB}").status_code == 204
    busy.join()
    assert responses[0].status_code == 409
    while metric(server, "rprs_jobs_working"):
        time.sleep(0.02)
    assert api.post("/search", json={"text": QUERY}).status_code == 200
    assert metric(server, "rprs_workers") == WORKERS


def test_a_search_in_a_worker_ends_at_the_time_limit(index_path: Path) -> None:
    with served(index_path, "--workers", 1, "--max-seconds", 0.3) as limited, limited.client() as api:
        until_ready(limited, 1)
        response = api.post("/search", json={"text": LONG})
        assert response.status_code == 504, response.text
        while metric(limited, "rprs_jobs_working"):
            time.sleep(0.02)
        assert metric(limited, "rprs_workers") == 1


# ---------------------------------------------------------------------------- changes


def test_changes_are_visible_to_the_next_search(tmp_path: Path) -> None:
    sample_index(tmp_path)
    with served(tmp_path, "--workers", WORKERS, "--allow-write") as writable, writable.client() as api:
        until_ready(writable)
        name = api.get("/info").json()["collections"][0]
        text = "A falcon nests on the tower of the old mill. The miller feeds it every evening."

        def found(collection: str) -> list[str]:
            response = api.post(f"/collections/{collection}/search", json={"text": text, "keep_self": True})
            assert response.status_code == 200, response.text
            return [hit["id"] for hit in response.json()["hits"] if hit["score"] > 0]

        for _ in range(3):
            assert "falcon" not in found(name)
            added = api.post("/documents", json={"documents": [{"id": "falcon", "text": text}]})
            assert added.status_code == 200, added.text
            assert found(name)[0] == "falcon"
            assert api.delete("/documents/falcon").status_code == 200
        documents = [{"id": "falcon", "text": text}, {"id": "loan", "text": TEXTS["loan.txt"]}]
        created = api.post("/collections", json={"name": "birds", "documents": documents, "encoder": "hashed"})
        assert created.status_code == 200, created.text
        assert found("birds")[0] == "falcon"
        assert metric(writable, "rprs_workers") == WORKERS


# ---------------------------------------------------------------------------- processes that end


def test_a_worker_that_is_killed_is_replaced(index_path: Path) -> None:
    with served(index_path, "--workers", 1) as running, running.client() as api:
        until_ready(running, 1)
        expected = api.post("/search", json={"text": QUERY}).json()["hits"]
        (worker,) = workers_of(running)
        response: list[httpx.Response] = []
        busy = threading.Thread(target=lambda: response.append(api.post("/search", json={"text": LONG})))
        busy.start()
        while not metric(running, "rprs_jobs_working"):
            time.sleep(0.02)
        time.sleep(0.2)
        os.kill(worker, signal.SIGKILL)
        busy.join()
        assert response[0].status_code == 503
        assert "Retry-After" in response[0].headers
        again = api.post("/search", json={"text": QUERY})  # by the server itself, while there is no worker
        assert again.json()["hits"] == expected
        until_ready(running, 1)
        assert workers_of(running) != [worker]
        assert api.post("/search", json={"text": QUERY}).json()["hits"] == expected
        assert "has ended unexpectedly" in running.logged()
        assert "tenant" not in running.logged()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_the_server(how: signal.Signals, index_path: Path) -> None:
    with served(index_path, "--workers", WORKERS) as running:
        until_ready(running)
        workers = workers_of(running)
        assert len(workers) == WORKERS
        running.process.send_signal(how)
        running.process.wait(20)
        end = time.monotonic() + PAUSE
        while any(Path(f"/proc/{worker}/cmdline").exists() for worker in workers):
            assert time.monotonic() < end
            time.sleep(0.05)


def test_a_cluster_has_no_workers(tmp_path: Path) -> None:
    outcome = rprs("serve", "--cluster", tmp_path, "--workers", "2", "--no-open")
    assert outcome.code == 2
    assert "--workers is for indexes" in outcome.err
