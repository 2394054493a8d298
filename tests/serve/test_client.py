"""A client of a real server and a searcher on the same index: the same results and errors."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

import rprs
from rprs import Alignment, Client, Document, Explanation, Index, Results, Searcher
from rprs.document import Query
from rprs.errors import Busy, EmptyQuery, MissingExtra, NoDocument, NotAllowed, RprsError, ServiceError, UsageError
from rprs.progress import Advance, silent
from rprs.results.serialize import alignment_object, explanation_object, results_object
from tests.support.cli import QUERY, TEXTS, sample_index

SEED = Document("query.txt", QUERY, "A tenant", {"date": "2020-01-01"})
EMOJI = Document("brief 🏛.txt", "𝔘 The roof leaks 🙂. The tenant pays no rent! “Die Miete” ist fällig.")


@contextmanager
def served(index: Path, *options: str) -> Iterator[str]:
    """The address of `rprs serve` on a free port."""
    command = [sys.executable, "-m", "rprs", "--quiet", "serve", str(index), "--port", "0", "--no-open", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def index_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("client"))


@pytest.fixture(scope="module")
def url(index_path: Path) -> Iterator[str]:
    with served(index_path, "--allow-write") as url:
        yield url


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[Client]:
    with Client(url) as client:
        yield client


@pytest.fixture(scope="module")
def searcher(index_path: Path) -> Iterator[Searcher]:
    with Index(index_path) as index:
        yield Searcher(index)


def untimed(results: Results) -> dict[str, Any]:
    """Results without their times as JSON, in which NaN equals NaN."""
    return results_object(replace(results, seconds={}), "query")


def everything(explanation: Explanation) -> tuple[Any, ...]:
    """An explanation with both texts and their sentences as plain values."""
    return explanation_object(explanation), *sides(explanation.alignment)


def sides(alignment: Alignment) -> tuple[Any, ...]:
    sentences = alignment.query_sentences, alignment.document_sentences
    spans = [(each.spans.tolist(), each.paragraphs.tolist()) for each in sentences]
    return alignment_object(alignment), alignment.query, alignment.document, spans


def seeds(searcher: Searcher, name: str) -> Query:
    lease = searcher.index.document("lease.txt")
    queries: dict[str, Query] = {
        "text": SEED,
        "string": SEED.text,
        "strings": [SEED.text, lease],
        "emoji": EMOJI,
        "indexed": lease,
        "one": [EMOJI],
    }
    return queries.get(name, [SEED, lease, EMOJI])


# ---------------------------------------------------------------------------- the same results


@pytest.mark.parametrize("name", ["text", "string", "strings", "emoji", "indexed", "combined", "one"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"k": 12, "pairs": 7},
        {"k": 2, "pairs": 0, "keep_self": True},
        {"where": "court = harbour or date < 2004"},
        {"exclude": ["loan.txt", "sublease.txt"]},
        {"before": "2012", "undated": "drop"},
        {"before": date(2012, 1, 1)},
        {"k": 12, "group": False, "boilerplate": False},
    ],
)
def test_a_search_is_the_same_in_every_bit(
    client: Client, searcher: Searcher, name: str, options: dict[str, Any]
) -> None:
    query = seeds(searcher, name)
    results = client.search(query, **options)
    assert len(results) > 1
    assert untimed(results) == untimed(searcher.search(query, **options))
    assert set(results.seconds) == {"sentences", "first stage", "candidates", "re-ranking", "evidence"}


@pytest.mark.parametrize("name", ["text", "string", "indexed", "combined"])
def test_a_ranking_is_the_same_in_every_bit(client: Client, searcher: Searcher, name: str) -> None:
    query = seeds(searcher, name)
    options: Any = {"where": "title present", "before": "2019"}
    here, there = searcher.rank(query, **options), client.rank(query, **options)
    assert there.ids == here.ids
    assert there.scores.tolist() == here.scores.tolist()
    assert {part: values.tolist() for part, values in there.parts.items()} == {
        part: values.tolist() for part, values in here.parts.items()
    }


@pytest.mark.parametrize(
    ("name", "id"),
    [("text", "loan.txt"), ("indexed", "lease.txt"), ("combined", "sublease.txt"), ("string", "loan.txt")],
)
def test_an_explanation_is_the_same_in_every_bit(client: Client, searcher: Searcher, name: str, id: str) -> None:
    query = seeds(searcher, name)
    explanation = client.explain(query, id)
    assert everything(explanation) == everything(searcher.explain(query, id))
    bare = client.explain(query, id, boilerplate=False)
    assert everything(bare) == everything(searcher.explain(query, id, boilerplate=False))
    assert explanation.hit.pairs
    assert [explanation.query.text[slice(*pair.query_span)] for pair in explanation.hit.pairs] == [
        pair.query for pair in explanation.hit.pairs
    ]


@pytest.mark.parametrize("name", ["text", "string", "combined"])
def test_an_alignment_is_the_same_in_every_bit(client: Client, searcher: Searcher, name: str) -> None:
    query = seeds(searcher, name)
    for boilerplate in (True, False):
        here = searcher.align(query, "sublease.txt", boilerplate=boilerplate)
        assert sides(client.align(query, "sublease.txt", boilerplate=boilerplate)) == sides(here)
    other = Document("other.txt", "The tenant pays. The cat sat on the mat beside the harbour wall.", "Other")
    assert sides(client.align(query, other)) == sides(rprs.align(query, other, index=searcher.index))


def test_excluded_documents_are_no_candidates(client: Client, searcher: Searcher) -> None:
    best = client.search(SEED, k=1).hits[0].id
    results = client.search(SEED, exclude=(id for id in [best, "nobody"]))
    assert best not in {hit.id for hit in results}
    assert untimed(results) == untimed(searcher.search(SEED, exclude=[best, "nobody"]))
    assert client.rank(SEED, exclude=[best]).ids == searcher.rank(SEED, exclude=[best]).ids
    second = results.hits[0].id
    here, there = (service.explain(SEED, second, exclude=[best]) for service in (searcher, client))
    assert everything(there) == everything(here)


def test_marks_steer_as_in_the_library(client: Client, searcher: Searcher) -> None:
    spans = [(start, end) for start, end in searcher.index.splitter.split(SEED.text).spans.tolist()]
    marks: dict[str, Any] = {"like": ["loan.txt"], "unlike": ["lease.txt"], "key": spans[1:2], "ignore": spans[:1]}
    expected = searcher.search(SEED, **marks)
    assert client.search(SEED, **marks).hits == expected.hits
    assert client.rank(SEED, **marks).ids == searcher.rank(SEED, **marks).ids
    assert client.explain(SEED, expected[0].id, **marks).hit == searcher.explain(SEED, expected[0].id, **marks).hit
    with pytest.raises(UsageError, match="A range of key ends beyond the query"):
        client.search(SEED, key=[(0, 10_000)])
    with pytest.raises(NoDocument, match="There is no document 'nowhere'"):
        client.search(SEED, like=["nowhere"])


def test_without_a_reranker_missing_numbers_are_nan(index_path: Path, searcher: Searcher, tmp_path: Path) -> None:
    plain, token = Searcher(searcher.index, rerank=None), tmp_path / "token"
    token.write_text("a-secret-of-many-letters\n")
    token.chmod(0o600)
    with served(index_path, "--rerank", "none", "--token-file", str(token)) as url:
        with Client(url, token.read_text()) as client:
            assert untimed(client.search(SEED)) == untimed(plain.search(SEED))
            assert client.search(SEED)[0].parts == {}
            assert client.rank(SEED).ids == plain.rank(SEED).ids
            assert everything(client.explain(SEED, "loan.txt")) == everything(plain.explain(SEED, "loan.txt"))
        for wrong in (None, "another-secret-of-letters"):
            with Client(url, wrong) as client:
                assert client.health() == "ok"
                with pytest.raises(NotAllowed, match="token"):
                    client.search(SEED)


class RecordedProgress:
    """A progress that records its calls."""

    def __init__(self) -> None:
        self.tasks: list[tuple[str, int | None, str]] = []
        self.counts: list[int] = []
        self.open = 0

    @contextmanager
    def __call__(self, what: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
        assert not self.open
        self.tasks.append((what, total, unit))
        self.counts.append(0)
        self.open += 1

        def advance(amount: int) -> None:
            assert amount >= 0
            self.counts[-1] += amount

        yield advance
        self.open -= 1


def test_progress_is_reported_with_the_same_results(url: str, searcher: Searcher) -> None:
    progress = RecordedProgress()
    with Client(url, progress=progress) as client:
        assert untimed(client.search(SEED)) == untimed(searcher.search(SEED))
        tasks, counts = list(progress.tasks), list(progress.counts)
        assert everything(client.explain(SEED, "loan.txt")) == everything(searcher.explain(SEED, "loan.txt"))
        with pytest.raises(EmptyQuery):
            client.search(Document("blank", " \n "))
    assert list(dict.fromkeys(what for what, _, _ in tasks)) == ["sentences", "candidates", "ranking"]
    (ranking,) = [(total, count) for (what, total, _), count in zip(tasks, counts, strict=True) if what == "ranking"]
    assert ranking[0] == ranking[1] > len(SEED.text.splitlines())
    assert progress.open == 0


# ---------------------------------------------------------------------------- the same errors


@pytest.mark.parametrize(
    "call",
    [
        lambda service: service.search(Document("blank", " \n ")),
        lambda service: service.search(SEED, where="date <"),
        lambda service: service.explain(SEED, "nobody"),
        lambda service: service.align(SEED, "nobody"),
        lambda service: service.explain(SEED, "loan.txt", before="filed"),
        lambda service: service.rank(SEED, undated="drop"),
        lambda service: service.rank([EMOJI, SEED], where="("),
    ],
)
def test_an_error_has_the_same_class_and_message(
    client: Client, searcher: Searcher, call: Callable[[Any], object]
) -> None:
    with pytest.raises(RprsError) as here:
        call(searcher)
    with pytest.raises(RprsError) as there:
        call(client)
    assert type(there.value) is type(here.value)
    path = searcher.index.path
    assert str(there.value) == str(here.value).replace(str(path), path.name)


def test_what_cannot_be_sent_is_one_line(client: Client) -> None:
    for document in (Document("a", "half \ud800"), Document("a", "text", "", {"share": float("nan")})):
        with pytest.raises(UsageError, match="cannot be sent") as caught:
            client.search(document)
        assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="The query is empty"):
        client.search([])


@pytest.mark.parametrize(
    "url", ["localhost:8017", "ftp://localhost", "http://", "http://a:99999", "http://[::1", "http://a?x"]
)
def test_an_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="The address of a server must have the form"):
        Client(url)


def test_a_token_is_one_line() -> None:
    for token in ("two\nlines", " ", "schlüssel"):
        with pytest.raises(UsageError, match="one line of ASCII"):
            Client("http://localhost:8017", token)


# ---------------------------------------------------------------------------- the index


def test_documents_are_read_found_added_and_removed(client: Client, searcher: Searcher) -> None:
    assert client.document("moss-v-reed") == searcher.index.document("moss-v-reed")
    documents, total = client.find("V. REED")
    assert ([each.id for each in documents], total) == (["moss-v-reed"], 1)
    assert (len(client.find("", 3)[0]), client.find("", 3)[1]) == (3, 12)
    before = client.info()
    assert (before["documents"], before["index"], before["writable"]) == (12, "made.rprs", True)
    names = ["../a/./b.txt", "..", "a%2Fb?c#d", "Größe 🙂"]
    new = [Document(id, TEXTS["lease.txt"] + f" Number {n}.", f"T{n}", {"n": n}) for n, id in enumerate(names)]
    added = client.add(new)
    assert (added.added, added.changed, added.unchanged) == (4, 0, 0)
    assert client.info()["documents"] == 16
    assert client.search(SEED, 3, where="n present")[0].metadata["n"] in range(4)
    for document in new:
        assert client.document(document.id) == document
        assert client.remove(document.id) == 1
        with pytest.raises(NoDocument):
            client.document(document.id)
        with pytest.raises(NoDocument):
            client.remove(document.id)
    assert client.info()["fingerprint"] == before["fingerprint"]
    assert client.add([]).added == 0
    with pytest.raises(NoDocument):
        client.document("")


def test_many_documents_are_added_in_several_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(body: bytes) -> tuple[int, dict[str, str], bytes]:
        sent.append(len(json.loads(body)["documents"]))
        return 200, {}, json.dumps({"added": sent[-1], "changed": 0, "unchanged": 1}).encode()

    monkeypatch.setattr("rprs.serve.client.BATCH", 3)
    monkeypatch.setattr("rprs.serve.client.BATCH_BYTES", 1000)
    sent: list[int] = []
    with played([answer] * 4) as url, Client(url) as client:
        added = client.add(Document(str(n), "x" * (2000 if n == 4 else 10)) for n in range(8))
    assert sent == [3, 1, 1, 3]
    assert (added.added, added.unchanged) == (8, 4)


# ---------------------------------------------------------------------------- servers that fail

Scene = Callable[[bytes], tuple[int, dict[str, str], bytes]]


@contextmanager
def played(scenes: Sequence[Scene]) -> Iterator[str]:
    """A server with prepared responses, one per request; a length that is too large breaks off."""
    left = list(scenes)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, headers, data = left.pop(0)(body)
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(data))} | headers).items():
                self.send_header(name, value)
            with suppress(ConnectionError):  # the client may have disconnected
                self.end_headers()
                self.wfile.write(data)

        do_GET = do_POST  # noqa: N815 - the name that http.server calls

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
    assert not left


def respond(status: int, data: bytes, **headers: str) -> Scene:
    return lambda _body: (status, {name.replace("_", "-"): value for name, value in headers.items()}, data)


BUSY = b'{"error": "The server is busy", "kind": "Busy"}'
GOOD = json.dumps({"hits": [], "candidates": 3, "query_sentences": 2, "notes": ["n"], "seconds": {}}).encode()
EVENTS = "text/event-stream"


def test_a_missing_server_is_one_line() -> None:
    with played([]) as url:
        pass
    with Client(url) as client, pytest.raises(ServiceError) as caught:
        client.search(SEED)
    assert str(caught.value) == f"No server answers at {url}: start one with `rprs serve INDEX`"


def test_a_request_to_a_busy_server_is_repeated_a_few_times() -> None:
    busy = respond(503, BUSY, Retry_After="0")
    with played([busy, busy, respond(200, GOOD)]) as url, Client(url) as client:
        assert client.search(SEED).candidates == 3
    with played([busy] * 5) as url, Client(url) as client, pytest.raises(Busy) as caught:
        client.search(SEED)
    assert str(caught.value) == "The server is busy"
    stream = respond(200, b'event: error\ndata: {"status": 503, "kind": "Busy", "error": "b"}\n\n', Content_Type=EVENTS,
                  Retry_After="0")  # fmt: skip
    good = respond(200, b": hello\n\nevent: result\ndata: " + GOOD + b"\n\n", Content_Type=EVENTS)
    with played([stream, busy, good]) as url, Client(url, progress=RecordedProgress()) as client:
        assert client.search(SEED).notes == ("n",)


@pytest.mark.parametrize(
    "scene",
    [
        respond(200, GOOD, Content_Length="9999"),
        respond(200, b"event: job\ndata: {}\n\n", Content_Type=EVENTS),
        respond(200, b"event: job\ndata: {}\n\nevent: res", Content_Type=EVENTS, Content_Length="999"),
    ],
)
def test_a_server_that_stops_during_its_response_is_one_line(scene: Scene) -> None:
    progress = RecordedProgress() if b"event" in scene(b"")[2] else silent
    with played([scene]) as url, Client(url, progress=progress) as client, pytest.raises(ServiceError) as caught:
        client.search(SEED)
    assert str(caught.value) == f"The server at {url} stopped before its response was complete: try again"


def test_a_server_that_is_silent_for_too_long_is_one_line() -> None:
    def slowly(_body: bytes) -> tuple[int, dict[str, str], bytes]:
        over.wait(5)
        return 200, {}, GOOD

    over = Event()
    with played([slowly]) as url, Client(url, timeout=0.1) as client:
        with pytest.raises(ServiceError) as caught:
            client.search(SEED)
        over.set()
    assert str(caught.value) == f"The server at {url} was silent for 0.1 seconds"


def test_loopback_connections_use_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with played([respond(200, GOOD)]) as url, Client(url) as client:
        assert client.search(SEED).candidates == 3


@pytest.mark.parametrize(
    "scene", [respond(200, b"<html>"), respond(404, b"Not found"), respond(200, b"[]"), respond(301, b"")]
)
def test_another_kind_of_server_is_one_line(scene: Scene) -> None:
    with played([scene]) as url, Client(url) as client, pytest.raises(ServiceError) as caught:
        client.info()
    assert str(caught.value).startswith(f"{url} does not respond like an rprs server (status ")


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.search(SEED),
        lambda client: client.rank(SEED),
        lambda client: client.explain(SEED, "x"),
        lambda client: client.align(SEED, "x"),
        lambda client: client.document("x"),
        lambda client: client.find("x"),
        lambda client: client.add([SEED]),
        lambda client: client.health(),
    ],
)
def test_unexpected_json_is_one_line(call: Callable[[Client], object]) -> None:
    with played([respond(200, b'{"hello": 1}')]) as url, Client(url) as client, pytest.raises(ServiceError) as caught:
        call(client)
    assert str(caught.value).startswith(f"{url} does not respond like an rprs server (KeyError ")


def test_invalid_compression_is_one_line() -> None:
    scene = respond(200, b"not packed", Content_Encoding="gzip")
    with played([scene]) as url, Client(url) as client, pytest.raises(ServiceError, match="stopped before"):
        client.info()


@pytest.mark.parametrize(
    "url", ["http://..", "http://a..b", "http://☃", "http://a\nb", "http://xn--a", "http://" + "a" * 80]
)
def test_a_malformed_address_is_one_line(url: str) -> None:
    with pytest.raises(UsageError, match=r"http://127\.0\.0\.1:8017"):
        Client(url)


def test_unicode_line_separators_do_not_end_events() -> None:
    """JSON may contain U+2028, U+2029 and U+0085; an event ends at a line feed, with or without CR."""
    text = "one\u2028two\u2029three\x85four"
    data = json.dumps({**json.loads(GOOD), "notes": [text]}, ensure_ascii=False).encode()
    for end in (b"\n", b"\r\n"):
        scene = respond(200, end.join([b"event: result", b"data: " + data, b"", b""]), Content_Type=EVENTS)
        with played([scene]) as url, Client(url, progress=RecordedProgress()) as client:
            assert client.search(SEED).notes == (text,)


@pytest.mark.parametrize(
    ("kind", "expected"), [("MissingExtra", MissingExtra), ("Teapot", RprsError), ("annotations", RprsError)]
)
def test_an_error_has_the_class_that_the_server_names(kind: str, expected: type[RprsError]) -> None:
    scene = respond(500, json.dumps({"error": "a line", "kind": kind}).encode())
    with played([scene]) as url, Client(url) as client, pytest.raises(RprsError) as caught:
        client.info()
    assert (type(caught.value), str(caught.value)) == (expected, "a line")
