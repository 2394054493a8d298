"""Passages over HTTP: the same as those of the library, exports, progress, and plain errors."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

import rprs
from rprs.errors import EmptyQuery, UsageError
from rprs.passages.values import PassageResults
from rprs.progress import silent
from tests.support.cli import QUERY, sample_index
from tests.support.server import Server

NOTICE = "Either party may end this lease with three months of written notice."


@pytest.fixture(scope="module")
def index_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("passages"))


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[rprs.Client]:
    with rprs.Client(server.url) as client:
        yield client


@pytest.fixture(scope="module")
def api(server: Server) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


def untimed(results: PassageResults) -> PassageResults:
    return replace(results, seconds={})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"k": 3, "context": 0, "kinds": ["identical", "reworded"]},
        {"where": "date > 1990-01-01", "before": "2012-01-01", "undated": "drop"},
        {"exclude": ["lease.txt"], "boilerplate": False},
    ],
)
def test_the_client_returns_what_the_searcher_does(
    client: rprs.Client, searcher: rprs.Searcher, options: dict[str, Any]
) -> None:
    for text in (NOTICE, QUERY, "𝔘 The roof leaks 🙂. The tenant pays no rent!"):
        assert untimed(client.passages(text, **options)) == untimed(searcher.passages(text, **options))


def test_a_document_brings_its_date(client: rprs.Client, searcher: rprs.Searcher) -> None:
    passage = rprs.Document("brief", NOTICE, "", {"date": "2010-01-01"})
    expected = searcher.passages(passage, before="date")
    assert "nothing newer than 2010-01-01" in expected.notes[0]
    assert untimed(client.passages(passage, before="date")) == untimed(expected)


def test_progress_is_reported(server: Server) -> None:
    stages = list[str]()

    def progress(what: str, total: int | None = None, unit: str = "") -> Any:
        stages.append(what)
        return silent(what)

    with rprs.Client(server.url, progress=progress) as client:
        assert client.passages(NOTICE)
    assert "comparing passages" in stages


def test_exports_are_named_for_the_passage(api: httpx.Client, searcher: rprs.Searcher) -> None:
    response = api.post("passages/export", json={"text": NOTICE, "format": "csv", "k": 2})
    assert response.headers["content-type"].startswith("text/csv")
    assert 'filename="Passages-like-Either-party-may-end' in response.headers["content-disposition"]
    comment, header, *rows = csv.reader(io.StringIO(response.content.decode("utf-8-sig")))
    assert comment[0].startswith("# rprs: version=")
    assert f"fingerprint={searcher.index.fingerprint}" in comment[0]
    assert [row[header.index("id")] for row in rows] == [hit.id for hit in searcher.passages(NOTICE, 2)]
    lines = api.post("passages/export", json={"text": NOTICE, "format": "jsonl", "k": 2}).text.splitlines()
    about, first, _ = map(json.loads, lines)
    assert about["about"]["passage"] == NOTICE
    assert first["pair"]["kind"] == "identical"


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"text": ""}, 422, "The passage has no words: select or give some text"),
        ({"text": "word " * 2_000_000}, 400, "The passage has 10,000,000 characters; at most 20,000 are compared"),
        ({}, 422, "text: Field required"),
        ({"text": "a b", "k": 0}, 422, "k: Input should be greater than or equal to 1"),
        ({"text": "a b", "kinds": ["same"]}, 422, "kinds.0: Input should be"),
        ({"text": "a b", "where": "date <"}, 400, "filter"),
        ({"text": "a b", "ids": ["lease.txt"]}, 422, "ids: Extra inputs are not permitted"),
    ],
)
def test_errors_are_one_line(api: httpx.Client, body: dict[str, Any], status: int, message: str) -> None:
    response = api.post("passages", json=body)
    assert response.status_code == status
    assert message in response.json()["error"]
    assert "\n" not in response.json()["error"]


def test_files_are_refused(api: httpx.Client) -> None:
    response = api.post("passages", files={"file": ("a.txt", b"A text.")}, data={"request": '{"text": "a"}'})
    assert (response.status_code, response.json()["error"]) == (
        415,
        "The body must be application/json: send the passage as text",
    )


def test_errors_of_the_client_are_those_of_the_library(client: rprs.Client) -> None:
    with pytest.raises(EmptyQuery, match="no words"):
        client.passages("—")
    with pytest.raises(UsageError, match="at most 20,000"):
        client.passages("word " * 10_000)
