"""The middlewares (access control, limits, log) and the API reference at /docs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rprs.errors import UsageError
from rprs.serve.docs import docs_page
from rprs.serve.guard import HEADERS, Guard, hosts_of, is_loopback, read_token
from rprs.serve.limits import ASGIApp, BodyLimit, Limits, Message, Receive, Scope, Send
from rprs.serve.log import AccessLog, frames

HOST = "127.0.0.1:8017"
HOSTS = hosts_of("127.0.0.1", 8017)
TOKEN = "0123456789abcdef0123"
Headers = Sequence[tuple[str, str]]


class ReceivedResponse:
    """The response of an application."""

    def __init__(self, messages: list[Message]) -> None:
        self.status: int = messages[0]["status"]
        self.headers = {name.decode().lower(): value.decode() for name, value in messages[0]["headers"]}
        self.body = b"".join(message["body"] for message in messages[1:])

    @property
    def error(self) -> str:
        fields = json.loads(self.body)
        assert set(fields) == {"error", "kind"}
        return str(fields["error"])


def send_request(
    app: ASGIApp, path: str = "/", method: str = "GET", headers: Headers = (("host", HOST),), body: Sequence[bytes] = ()
) -> ReceivedResponse:
    """One ASGI request; then the client waits."""
    sent: list[Message] = []
    pieces = list(body) or [b""]

    async def receive() -> Message:
        if not pieces:
            await asyncio.sleep(60)
        return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

    async def send(message: Message) -> None:
        sent.append(message)

    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    scope: Scope = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": raw,
        "query_string": b"",
        "root_path": "",
    }
    asyncio.run(app(scope, receive, send))  # type: ignore[arg-type]  # an application is a coroutine function
    return ReceivedResponse(sent)


async def count(request: Request) -> Response:
    return JSONResponse(sum([len(piece) async for piece in request.stream()]))


async def fail(request: Request) -> Response:
    raise ValueError(f"the secret of {request.path_params['id']}")


def inside(_request: Request) -> Response:
    return Response("inside", headers={"content-security-policy": "none of ours", "cache-control": "public"})


APP: Any = Starlette(
    routes=[
        Route("/", inside),
        *(Route(f"/api/v1/{name}", inside) for name in ("info", "health", "ready")),
        Route("/metrics", inside),
        Route("/api/v1/search", count, methods=["POST"]),
        Route("/api/v1/documents", count, methods=["POST"]),
        Route("/api/v1/documents/{id:path}", fail, methods=["GET", "DELETE"]),
    ]
)


def guarded(token: str | None = None, writable: bool = False) -> Guard:
    return Guard(APP, HOSTS, token, writable)


# ---------------------------------------------------------------------------- names


def test_loopback_addresses() -> None:
    for host in ("127.0.0.1", "127.8.9.10", "::1", "[::1]", "localhost", "LOCALHOST"):
        assert is_loopback(host), host
    for host in (
        "0.0.0.0",
        "::",
        "192.168.0.7",
        "localhost.example.org",
        "127.0.0.1.example.org",
        "",
        "::ffff:8.8.8.8",
    ):
        assert not is_loopback(host), host


def test_the_hosts_of_a_server() -> None:
    own = {"127.0.0.1:8017", "localhost:8017", "[::1]:8017"}
    assert own == HOSTS
    assert hosts_of("::1", 8017) == own
    assert hosts_of("192.168.0.7", 8017) == own | {"192.168.0.7:8017"}
    allowed = {"cases.example.org", "cases.example.org:8017", "cases.example.org:443"}
    assert hosts_of("127.0.0.1", 8017, ["Cases.example.org", "cases.example.org:443"]) == own | allowed
    assert "localhost" in hosts_of("127.0.0.1", 80)  # browsers leave the usual port out
    assert "[fd00::7]:8017" in hosts_of("127.0.0.1", 8017, ["fd00::7"])


@pytest.mark.parametrize("host", [HOST, "localhost:8017", "LocalHost:8017", "[::1]:8017"])
def test_own_names_are_accepted(host: str) -> None:
    assert send_request(guarded(), headers=[("host", host)]).status == 200


@pytest.mark.parametrize(
    "hosts",
    [
        ["evil.example"],
        ["evil.example:8017"],
        ["127.0.0.1"],
        ["127.0.0.1:80"],
        ["localhost.:8017"],
        ["127.0.0.1:8017@evil.example"],
        [""],
        [],
        [HOST, HOST],
        [HOST, "evil.example"],
        ["<script>alert(1)</script>"],
    ],
)
def test_other_names_are_refused(hosts: list[str]) -> None:
    """Unknown Host headers are refused (DNS rebinding)."""
    response = send_request(guarded(), headers=[("host", host) for host in hosts])
    assert response.status == 421
    assert "--allow-host" in response.error
    assert "<" not in response.error


# ---------------------------------------------------------------------------- other sites


@pytest.mark.parametrize(
    "origins", [["http://127.0.0.1:8017"], ["HTTP://127.0.0.1:8017"], ["https://127.0.0.1:8017"], []]
)
def test_requests_of_the_web_interface_are_accepted(origins: list[str]) -> None:
    headers = [("host", HOST), *(("origin", origin) for origin in origins), ("sec-fetch-site", "same-origin")]
    assert send_request(guarded(), "/api/v1/search", "POST", headers).status == 200


@pytest.mark.parametrize(
    "origins",
    [
        ["http://evil.example"],
        ["null"],
        [""],
        ["http://localhost:8017"],  # the same computer, but another host name than that of the request
        ["http://127.0.0.1:3000"],
        ["http://127.0.0.1"],
        ["http://127.0.0.1:8017.evil.example"],
        ["http://127.0.0.1:8017", "http://evil.example"],
    ],
)
@pytest.mark.parametrize("path", ["/", "/api/v1/search"])
def test_requests_of_other_sites_are_refused(origins: list[str], path: str) -> None:
    headers = [("host", HOST), *(("origin", origin) for origin in origins)]
    assert send_request(guarded(), path, "POST", headers).status == 403


@pytest.mark.parametrize(
    ("site", "status"), [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)]
)
def test_fetch_metadata(site: str, status: int) -> None:
    headers = [("host", HOST), ("sec-fetch-site", site)]
    assert send_request(guarded(), "/api/v1/info", headers=headers).status == status
    assert send_request(guarded(), "/", headers=headers).status == 200  # links from other sites open the web interface


# ---------------------------------------------------------------------------- tokens and writes


@pytest.mark.parametrize("path", ["/api/v1/info", "/metrics", "/api/v1/documents/a/b", "/api/v2/x", "/api"])
def test_data_requires_the_token(path: str) -> None:
    response = send_request(guarded(TOKEN), path)
    assert response.status == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert TOKEN not in response.error


@pytest.mark.parametrize("path", ["/", "/api/v1/health", "/api/v1/ready", "/static/main.js"])
def test_static_files_and_health_require_no_token(path: str) -> None:
    assert send_request(guarded(TOKEN), path).status in (200, 404)


@pytest.mark.parametrize(
    ("authorizations", "status"),
    [
        ([f"Bearer {TOKEN}"], 200),
        ([f"bearer   {TOKEN} "], 200),
        ([f"Bearer {TOKEN[:-1]}"], 401),
        ([f"Bearer {TOKEN}x"], 401),
        ([f"Basic {TOKEN}"], 401),
        ([TOKEN], 401),
        (["Bearer"], 401),
        (["Bearer \xff\xfe"], 401),
        ([f"Bearer {TOKEN}", f"Bearer {TOKEN}"], 401),
        (["Bearer wrong", f"Bearer {TOKEN}"], 401),
    ],
)
def test_tokens(authorizations: list[str], status: int) -> None:
    headers = [("host", HOST), *(("authorization", value) for value in authorizations)]
    assert send_request(guarded(TOKEN), "/api/v1/info", headers=headers).status == status


@pytest.mark.parametrize(("method", "path"), [("POST", "/api/v1/documents"), ("DELETE", "/api/v1/documents/a/b.txt")])
def test_writes_must_be_allowed(method: str, path: str) -> None:
    response = send_request(guarded(), path, method)
    assert response.status == 403
    assert "--allow-write" in response.error
    assert "--token-file" in response.error
    with_token = [("host", HOST), ("authorization", f"Bearer {TOKEN}")]
    assert send_request(guarded(TOKEN, True), path, method).status == 401
    assert send_request(guarded(TOKEN, True), "/api/v1/documents", "POST", with_token).status == 200
    assert send_request(guarded(writable=True), "/api/v1/documents", "POST").status == 200


def test_a_token_file_must_be_readable_by_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "token"

    def error_for(text: str, mode: int = 0o600) -> str:
        file.write_text(text)
        file.chmod(mode)
        with pytest.raises(UsageError) as error:
            read_token(file)
        assert "\n" not in str(error.value)
        return str(error.value)

    with pytest.raises(UsageError, match="No such file"):
        read_token(tmp_path / "none")
    assert "chmod 600" in error_for(TOKEN, 0o640)
    assert "chmod 600" in error_for(TOKEN, 0o604)
    assert "is empty" in error_for(" \n")
    assert "15 characters" in error_for("x" * 15)
    assert "one line" in error_for(f"{TOKEN}\n{TOKEN}")
    assert "one line" in error_for(f"{TOKEN} {TOKEN}")
    assert "one line" in error_for(TOKEN + "é")
    file.write_text(f"  {TOKEN}\n\n")
    assert read_token(file) == TOKEN


# ---------------------------------------------------------------------------- headers, WebSockets


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", [("host", HOST)], 200),
        ("/none", [("host", HOST)], 404),
        ("/", [], 421),
        ("/api/v1/info", [("host", HOST)], 401),
    ],
)
def test_every_response_has_the_security_headers(path: str, headers: Headers, status: int) -> None:
    response = send_request(guarded(TOKEN), path, headers=headers)
    assert response.status == status
    assert HEADERS.items() <= response.headers.items()
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert (response.headers.get("cache-control") == "no-store") == path.startswith("/api")


def test_websockets_are_refused() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    headers = [(b"host", HOST.encode())]
    asyncio.run(guarded()({"type": "websocket", "path": "/", "headers": headers}, receive, send))
    assert [message["type"] for message in sent] == ["websocket.close"]


# ---------------------------------------------------------------------------- bodies


LIMITS = Limits(upload_bytes=1000, body_seconds=0.05)


def limited(app: ASGIApp = APP) -> BodyLimit:
    return BodyLimit(app, LIMITS)


def test_a_body_within_the_limit_is_accepted() -> None:
    response = send_request(
        limited(), "/api/v1/search", "POST", [("host", HOST), ("content-length", "1000")], [b"x" * 500] * 2
    )
    assert (response.status, response.body) == (200, b"1000")


@pytest.mark.parametrize("headers", [[("content-length", "1001")], []])
def test_a_larger_body_is_refused_declared_or_not(headers: Headers) -> None:
    sizes: list[int] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        while (message := await receive())["type"] == "http.request":
            sizes.append(len(message["body"]))
        raise ConnectionError("what an application makes of a client that has gone")

    response = send_request(limited(app), "/", "POST", headers, [b"x" * 400] * 5)
    assert response.status == 413
    assert response.headers["connection"] == "close"
    assert response.error == "The request is larger than the 1000 bytes that this server accepts"
    assert sizes == ([] if headers else [400, 400])


def test_a_body_that_does_not_arrive() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(0.1)  # time before the body is read does not count against the client
        assert (await receive())["type"] == "http.request"
        assert (await receive())["type"] == "http.disconnect"

    async def client() -> list[Message]:
        sent: list[Message] = []
        pieces = [b"a"]

        async def receive() -> Message:
            if not pieces:
                await asyncio.sleep(0.2)
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": pieces.pop(), "more_body": True}

        async def send(message: Message) -> None:
            sent.append(message)

        await limited(app)({"type": "http", "headers": []}, receive, send)
        return sent

    response = ReceivedResponse(asyncio.run(client()))
    assert response.status == 408
    assert "0.05 seconds" in response.error


async def answered(limit: BodyLimit, pieces: list[bytes], pause: float) -> ReceivedResponse:
    """The response to a body that arrives piece by piece."""
    sent: list[Message] = []

    async def receive() -> Message:
        await asyncio.sleep(pause)
        return {"type": "http.request", "body": pieces.pop(), "more_body": bool(pieces)}

    async def send(message: Message) -> None:
        sent.append(message)

    await limit({"type": "http", "headers": []}, receive, send)
    return ReceivedResponse(sent)


async def echo_size(_scope: Scope, receive: Receive, send: Send) -> None:
    """Respond with the size of the body."""
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size, more = size + len(message["body"]), message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(size).encode()})


def test_a_body_that_trickles_is_cut_and_one_that_flows_is_not() -> None:
    limit = BodyLimit(echo_size, Limits(header_seconds=0.2))
    trickling = asyncio.run(answered(limit, [b"x"] * 100, 0.05))
    assert (trickling.status, "16 kB" in trickling.error) == (408, True)
    flowing = asyncio.run(answered(limit, [b"x" * 2**14] * 8, 0.05))  # longer than 0.2 seconds in all
    assert (flowing.status, flowing.body) == (200, str(2**17).encode())
    assert limit.held == 0


def test_bodies_that_are_held_count_as_load() -> None:
    limit = BodyLimit(echo_size, Limits(bodies_bytes=1800))

    async def several() -> list[ReceivedResponse]:
        return await asyncio.gather(*(answered(limit, [b"x" * 500] * 2, 0.02) for _ in range(4)))

    responses = asyncio.run(several())
    assert {response.status for response in responses} == {200, 503}
    refused = next(response for response in responses if response.status == 503)
    assert (refused.headers["retry-after"], "try again" in refused.error) == ("3", True)
    assert limit.held == 0
    assert [response.status for response in asyncio.run(several())].count(200) >= 2  # nothing stays behind


@pytest.mark.parametrize(
    ("name", "value"),
    [("upload_bytes", 0), ("seconds", 0.0), ("at_once", -1), ("waiting", -1), ("idle_seconds", float("inf"))],
)
def test_limits_are_positive(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=f"The limit '{name}' must be") as error:
        Limits(**{name: value})  # type: ignore[arg-type]  # a wrong value is the point
    assert "\n" not in str(error.value)
    assert Limits(waiting=0).waiting == 0


# ---------------------------------------------------------------------------- the log


def test_a_log_line_has_the_route_and_nothing_of_the_request() -> None:
    log: list[str] = []
    observed: list[tuple[str, str, int]] = []
    app = AccessLog(
        guarded(), log.append, lambda method, route, status, _seconds: observed.append((method, route, status))
    )
    send_request(app, "/api/v1/search", "POST", body=[b"a secret"])
    send_request(app, "/secret/path")
    send_request(app, "/secret", "SECRET")
    failed = send_request(app, "/api/v1/documents/secret/id")
    assert failed.status == 500
    assert [line.split(" ms ")[0].rsplit(" ", 1)[0] for line in log if " ms " in line] == [
        "POST /api/v1/search 200",
        "GET - 404",
        "- - 404",
        "GET /api/v1/documents/{id} 500",
    ]
    assert observed[-1] == ("GET", "/api/v1/documents/{id}", 500)
    (trace,) = (line for line in log if " ms " not in line)
    assert trace.startswith("ValueError at ")
    assert trace.endswith(" fail")
    assert "secret" not in "".join(log)


def test_an_uncaught_error_gets_a_response() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError("the text of a document")

    log: list[str] = []
    response = send_request(AccessLog(app, log.append))
    assert response.status == 500
    assert "text" not in "".join(log) + response.error


def test_a_disconnection_during_a_request_is_not_an_error() -> None:
    async def disconnect() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        """The client has disconnected."""

    log: list[str] = []
    scope: Scope = {"type": "http", "method": "POST", "path": "/api/v1/search", "headers": [], "query_string": b""}
    asyncio.run(AccessLog(APP, log.append)(scope, disconnect, send))
    assert [line.split(" no response ")[0] for line in log] == ["POST /api/v1/search"]


def test_frames_contain_all_types_of_a_chain_and_no_messages() -> None:
    try:
        try:
            int("a secret")
        except ValueError as error:
            raise UsageError("a secret") from error
    except UsageError as error:
        trace = frames(error)
    assert "secret" not in trace
    assert trace.startswith("rprs.errors.UsageError at ")
    assert " ← ValueError at " in trace
    assert f"{Path(__file__).parent.name}/{Path(__file__).name}:" in trace


# ---------------------------------------------------------------------------- /docs

EVIL = "<script>alert('x')</script>"


def test_the_api_reference_is_complete_and_escaped() -> None:
    schema = {
        "info": {"title": f"Cases {EVIL}", "version": "1", "description": f"One `word`.\n\n    code {EVIL}"},
        "paths": {
            "/api/v1/find/{id}": {
                "post": {
                    "description": f"Finds. {EVIL}",
                    "parameters": [
                        {
                            "name": "id",
                            "in": "path",
                            "required": True,
                            "schema": {"type": "string", "examples": ["it's"]},
                        },
                        {"name": EVIL, "in": "header", "schema": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
                    ],
                    "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Ask"}}}},
                    "responses": {
                        "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Hit"}}}},
                        "404": {"description": EVIL},
                        "5XX": {},
                    },
                }
            }
        },
        "components": {
            "schemas": {
                "Ask": {
                    "required": ["text"],
                    "properties": {
                        "text": {"type": "string", "maxLength": 20000, "examples": [EVIL]},
                        "inner": {"type": "array", "items": {"$ref": "#/components/schemas/Ask"}},
                        "kind": {"enum": ["a", "b"], "default": "a"},
                    },
                },
                "Hit": {"description": EVIL, "properties": {"score": {"type": "number"}}, "required": ["score"]},
            }
        },
    }
    page = docs_page(schema)
    assert "<script" not in page
    assert "style=" not in page
    assert page.count("&lt;script&gt;alert") >= 6
    assert '<h3 id="post-api-v1-find-id">' in page
    assert '<a href="#post-api-v1-find-id">' in page
    assert 'list of <a href="#object-Ask">Ask</a>' in page
    assert "at most 20,000 characters" in page
    assert "<code>text</code> <span" in page  # required of a request
    assert "<code>score</code></td>" in page  # fields of a response have no such mark
    assert "curl -X POST &#x27;http://127.0.0.1:8017/api/v1/find/it" in page
