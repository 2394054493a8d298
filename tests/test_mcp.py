"""The MCP server, over real standard streams, with the client of the official SDK."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from rprs import Document, Searcher, Writer, read_one
from rprs.errors import UsageError
from rprs.mcp import Tools
from tests.support.cli import QUERY, sample_index

Call = Callable[..., Any]


@pytest.fixture(scope="module")
def index_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("mcp"))


@pytest.fixture(scope="module")
def client(index_path: Path) -> Iterator[tuple[Client, Any]]:
    """A client that has started a server, and the thread that its calls run in."""
    allowed = index_path.parent / "briefs"
    allowed.mkdir()
    (allowed / "query.txt").write_text(QUERY)
    (allowed / "link.txt").symlink_to(index_path.parent / "query.txt")
    arguments = ["-m", "rprs", "mcp", str(index_path), "--files", str(allowed)]
    parameters = StdioServerParameters(command=sys.executable, args=arguments)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(stdio_client(parameters))) as connected,
    ):
        yield connected, portal


@pytest.fixture(scope="module")
def call(client: tuple[Client, Any]) -> Call:
    """Call a tool; its object, or the line of its error."""
    connected, portal = client

    def call_tool(name: str, **arguments: object) -> Any:
        result = portal.call(connected.call_tool, name, arguments)
        if result.is_error:
            return result.content[0].text
        assert json.loads(result.content[0].text) == result.structured_content  # for clients that read text only
        return result.structured_content

    return call_tool


def test_tools_are_described_and_only_read(client: tuple[Client, Any]) -> None:
    connected, portal = client
    tools = {tool.name: tool for tool in portal.call(connected.list_tools).tools}
    assert set(tools) == {"search", "explain", "read", "passages", "coverage"}
    for tool in tools.values():
        assert tool.annotations.read_only_hint
        assert tool.annotations.open_world_hint is False
        assert all("description" in field for name, field in tool.input_schema["properties"].items() if name != "kind")


def test_passages_and_coverage_are_those_of_the_library(call: Call, searcher: Searcher) -> None:
    passage = QUERY.splitlines()[0]
    found = call("passages", text=passage, k=2)
    assert [hit["id"] for hit in found["hits"]] == [hit.id for hit in searcher.passages(passage, 2)]
    chart = call("coverage", text=QUERY, k=2)
    expected = searcher.coverage(Document("query", QUERY), k=2)
    assert [source["id"] for source in chart["sources"]] == [source.id for source in expected.sources]
    assert chart["coverage"]["words"] == expected.coverage.words


def test_search_returns_the_hits_of_the_library(call: Call, index_path: Path, searcher: Searcher) -> None:
    expected = searcher.search(Document("query", QUERY), 3)
    found = call("search", text=QUERY, k=3)
    assert (found["index"], found["fingerprint"]) == ("made.rprs", searcher.index.fingerprint)
    for hit, other in zip(found["hits"], expected, strict=True):
        assert (hit["rank"], hit["id"], hit["score"]) == (other.rank, other.id, other.score)
        assert [match["document"] for match in hit["matches"]] == [pair.document for pair in other.pairs]
        assert other.query_coverage is not None
        assert hit["share_of_query"] == round(other.query_coverage.share, 4)
    same = call("search", file=str(index_path.parent / "briefs" / "query.txt"), k=3)
    assert [hit["id"] for hit in same["hits"]] == [hit["id"] for hit in found["hits"]]
    filtered = call("search", text=QUERY, where="court = harbour", before="2000-01-01")
    assert {hit["metadata"].get("court") for hit in filtered["hits"]} == {"harbour"}


def test_matches_can_be_cited(call: Call, searcher: Searcher) -> None:
    """The words of a match stand at its positions, which `read` shows in context."""
    explained = call("explain", document="lease.txt", text=QUERY)
    document = searcher.index.document("lease.txt")
    assert explained["matches"]
    for match in explained["matches"]:
        start, end = match["document_span"]
        assert document.text[start:end] == match["document"]
        assert call("read", id="lease.txt", start=start, length=end - start)["text"] == match["document"]
        assert QUERY[slice(*match["query_span"])] == match["query"]
    assert any("purple dragon" in sentence for sentence in explained["without_match"])
    only = call("explain", document="lease.txt", text=QUERY, kind="identical")
    assert {match["kind"] for match in only["matches"]} <= {"identical"}
    alignment = searcher.align(Document("query", QUERY), "lease.txt")
    assert explained["matches_in_total"] == len(alignment.pairs)


@pytest.mark.parametrize(
    ("tool", "arguments", "line"),
    [
        ("search", {}, "Give the query as exactly one of file, text and id"),
        ("search", {"text": "a", "id": "b"}, "Give the query as exactly one of file, text and id"),
        ("search", {"text": " "}, "has no sentences"),
        ("search", {"text": "The tenant pays.", "where": "court ="}, "court"),
        ("search", {"text": "The tenant pays.", "k": 51}, "less than or equal to 50"),
        ("search", {"file": "/etc/hostname"}, "/etc/hostname: not in a folder that this server may read"),
        ("search", {"id": "nobody"}, "'nobody'"),
        ("explain", {"text": QUERY, "document": "nobody"}, "'nobody'"),
        ("read", {"id": "lease.txt", "start": 10**6}, "start must be less"),
    ],
)
def test_errors_are_one_line(call: Call, tool: str, arguments: dict[str, Any], line: str) -> None:
    answer = call(tool, **arguments)
    assert isinstance(answer, str)
    assert line in answer


def test_files_outside_the_allowed_folder_are_refused(call: Call, index_path: Path) -> None:
    """Neither a way up nor a link leads out of the folder."""
    allowed = index_path.parent / "briefs"
    for name in (allowed / ".." / "query.txt", allowed / "link.txt", index_path.parent / "query.txt"):
        assert "not in a folder" in call("search", file=str(name))
    with pytest.raises(UsageError, match="no such folder"):
        Tools(None, [index_path.parent / "nowhere"])  # type: ignore[arg-type]  # it is not reached


def test_the_next_call_sees_a_changed_index(call: Call, index_path: Path) -> None:
    with Writer(index_path) as writer:
        writer.add([Document("dragon.txt", "The purple dragon beneath the lighthouse guards seven golden spoons.")])
    try:
        found = call("search", text="The purple dragon guards seven golden spoons.", k=1)
        assert [hit["id"] for hit in found["hits"]] == ["dragon.txt"]
    finally:
        with Writer(index_path) as writer:
            writer.remove(["dragon.txt"])


def test_without_the_sdk_the_error_has_the_pip_command(index_path: Path) -> None:
    program = "import sys; sys.modules['mcp'] = None; from rprs.cli import main; main()"
    command = [sys.executable, "-c", program, "mcp", str(index_path)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 2
    assert outcome.stdout == ""
    assert "pip install 'rprs[mcp]'" in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1


def test_documents_of_a_folder_are_read_like_on_the_command_line(call: Call, index_path: Path) -> None:
    path = index_path.parent / "briefs" / "query.txt"
    explained = call("explain", file=str(path), document="lease.txt")
    assert read_one(path).text[slice(*explained["matches"][0]["query_span"])] == explained["matches"][0]["query"]
