"""The middlewares: access control, and the log."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rprs.errors import UsageError
from rprs.serve.guard import HEADERS, hosts_of, is_loopback, read_token
from rprs.serve.limits import Message, Receive, Scope, Send
from rprs.serve.log import AccessLog, frames
from tests.support.asgi import APP, HOST, HOSTS, TOKEN, Headers, guarded, send_request

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
