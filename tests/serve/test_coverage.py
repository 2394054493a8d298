"""Coverage over HTTP: the chart of the library, part by part, as a file, and through the client."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docx
import httpx
import pytest

import rprs
from rprs import Client, Searcher
from rprs.charts.csv_chart import HEADER
from rprs.charts.serialize import chart_object
from rprs.progress import silent
from rprs.serve.transport import events as read_events
from rprs.serve.transport import lines
from tests.support.server import Server
from tests.support.web_samples import case_query, cases, write_index

BRIEF = rprs.Document("brief", case_query(), "My brief")


@pytest.fixture(scope="module")
def index_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_index(tmp_path_factory.mktemp("coverage") / "made.rprs", cases())


@pytest.fixture(scope="module")
def http(server: Server) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


def as_sent(value: Any) -> Any:
    return json.loads(json.dumps(value))


def request(**options: Any) -> dict[str, Any]:
    return {"documents": [{"id": "brief", "text": case_query(), "title": "My brief"}], **options}


def test_the_chart_is_that_of_the_library(http: httpx.Client, searcher: Searcher) -> None:
    body = http.post("/coverage", json=request(k=4)).raise_for_status().json()
    assert body["chart"] == as_sent(chart_object(searcher.coverage(BRIEF, k=4)))
    assert body["about"]["k"] == 4
    named = http.post("/coverage", json=request(sources=["case-3", "case-1"])).raise_for_status().json()
    assert named["chart"] == as_sent(chart_object(searcher.coverage(BRIEF, ["case-3", "case-1"])))


def test_hits_can_be_left_out(http: httpx.Client) -> None:
    chart = http.post("/coverage", json=request(k=3, without=["case-1", "case-2"], group=False)).json()["chart"]
    ids = [source["id"] for source in chart["sources"]]
    assert len(ids) == 3
    assert not {"case-1", "case-2"} & set(ids)


def test_parts_arrive_one_by_one(http: httpx.Client, searcher: Searcher) -> None:
    """First the rows, then the sources in the order of their ranks, then the sum; together they are the chart."""
    headers = {"Accept": "text/event-stream"}
    with http.stream("POST", "/coverage", json=request(k=4, parts=True), headers=headers) as response:
        events = [event for event in read_events(lines(response.iter_text())) if event[0] not in ("job", "progress")]
    assert [name for name, _ in events] == ["chart", *["source"] * 4, "result"]
    expected = as_sent(chart_object(searcher.coverage(BRIEF, k=4)))
    head, *sources, result = (data for _, data in events)
    rows = head["rows"]
    for part in sources:
        for cover in part["covers"]:
            rows[cover.pop("row")]["covers"].append(cover)
    for row in rows:
        row["covers"].sort(key=lambda cover: (cover["boilerplate"], -cover["strength"], cover["source"]))
    assert (rows, head["groups"]) == (expected["rows"], expected["groups"])
    assert [part["source"] for part in sources] == expected["sources"]
    assert result["chart"]["coverage"] == expected["coverage"]
    assert result["chart"]["rows"] == []
    whole = http.post("/coverage", json=request(k=4, parts=True)).json()["chart"]  # without events, there are no parts
    assert whole == expected


def test_files(http: httpx.Client) -> None:
    word = http.post("/coverage/export", json=request(k=2, format="docx")).raise_for_status()
    assert "filename*=UTF-8''Coverage%20of%20My%20brief.docx" in word.headers["content-disposition"]
    assert word.headers["content-type"].startswith("application/vnd.openxmlformats")
    assert docx.Document(io.BytesIO(word.content)).tables[1].rows[0].cells[0].text == "Your words"
    table = http.post("/coverage/export", json=request(k=2, format="csv")).content.decode("utf-8-sig")
    assert table.splitlines()[1] == ",".join(HEADER)
    record = http.post("/coverage/export", json=request(k=2, format="json")).json()
    assert record["about"]["k"] == len(record["sources"]) == 2
    files, options = {"file": ("brief.txt", case_query().encode())}, {"request": '{"k": 1, "format": "docx"}'}
    upload = http.post("/coverage/export", files=files, data=options).raise_for_status()
    assert "brief.docx" in upload.headers["content-disposition"]


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        ({"k": 51}, 422, "k: Input should be less than or equal to 50"),
        ({"sources": []}, 422, "sources: List should have at least 1 item"),
        ({"sources": ["nobody"]}, 404, "There is no document 'nobody'"),
        ({"documents": []}, 400, "The query is empty"),
        ({"documents": [{"text": " \n "}]}, 422, "has no sentences"),
        ({"where": "date <"}, 400, "date <"),
        ({"format": "pdf"}, 422, "format"),
    ],
)
def test_errors_are_one_line(http: httpx.Client, options: dict[str, Any], status: int, message: str) -> None:
    route = "/coverage/export" if "format" in options else "/coverage"
    response = http.post(route, json={**request(), **options})
    assert response.status_code == status
    assert message in response.json()["error"]


def test_the_client_has_the_interface_of_a_searcher(server: Server, searcher: Searcher) -> None:
    with Client(server.url) as client:
        assert client.coverage(BRIEF, k=4) == searcher.coverage(BRIEF, k=4)
        assert client.coverage(BRIEF, ["case-1"]) == searcher.coverage(BRIEF, ["case-1"])
        with pytest.raises(rprs.NoDocument):
            client.coverage(BRIEF, ["nobody"])
    stages: list[str] = []

    def progress(what: str, total: int | None = None, unit: str = "") -> Any:
        stages.append(what)
        return silent(what, total, unit)

    with Client(server.url, progress=progress) as client:
        assert client.coverage(BRIEF, k=2).sources == searcher.coverage(BRIEF, k=2).sources
    assert "evidence" in stages
