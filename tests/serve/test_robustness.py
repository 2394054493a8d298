"""A real server with slow, silent, greedy or hostile clients: they do no harm, and others are served."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rprs.errors import UsageError
from rprs.serve.connection import serve
from rprs.serve.limits import Limits, Receive, Scope, Send
from tests.support import hostile_files
from tests.support.cli import QUERY, sample_index
from tests.support.server import Server

# `rprs serve` with time limits that a test can wait for.
SHORT_LIMITS = """
import functools, json, sys
from rprs.serve import connection, limits
connection.GRACE = 1
limits.Limits = functools.partial(limits.Limits, **json.loads(sys.argv.pop(1)))
from rprs.cli import main
main()
"""
TIMES = {"header_seconds": 1.0, "body_seconds": 1.0, "idle_seconds": 1.0, "reading_seconds": 4.0, "connections": 100}
LARGE = 2**30


@contextmanager
def impatient(index: Path, log: Path, *options: str, **limits: float) -> Iterator[Server]:
    """A server on a free port, killed at the end if it still runs."""
    command = [
        sys.executable,
        "-c",
        SHORT_LIMITS,
        json.dumps(TIMES | limits),
        "serve",
        str(index),
        "--port",
        "0",
        "--no-open",
    ]
    with log.open("w") as errors:
        process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        assert process.stdout is not None
        announcement = process.stdout.readline().split()
        assert announcement, f"no server: {log.read_text()}"
        yield Server(announcement[-1].rstrip("/"), process, log)
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("hardship"))


@pytest.fixture(scope="module")
def server(index: Path) -> Iterator[Server]:
    with impatient(index, index.parent / "log", "--max-upload", "4") as running:
        yield running
        assert running.process.poll() is None
        assert "Error at" not in running.logged()


@pytest.fixture
def api(server: Server) -> Iterator[httpx.Client]:
    """A client that must be served as usual after each test."""
    with server.client() as client:
        yield client
    with server.client() as client:
        searched(client)


def searched(api: httpx.Client) -> None:
    """Run a search, which must succeed within the timeout of the client."""
    response = api.post("/search", json={"text": QUERY, "k": 3})
    assert response.status_code == 200, response.text
    assert len(response.json()["hits"]) == 3


def connected(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=30)


def head(server: Server, line: str, *headers: str) -> bytes:
    return "\r\n".join([f"{line} HTTP/1.1", f"Host: 127.0.0.1:{server.port}", *headers, "", ""]).encode()


def status(connection: socket.socket) -> int:
    """The status of the next response, which is read to its end."""
    response = http.client.HTTPResponse(connection)
    response.begin()
    response.read()
    return response.status


def until_closed(connection: socket.socket) -> bytes:
    """Everything that the server sends before it closes a connection; a timeout is an error."""
    data = b""
    with connection:
        try:
            while piece := connection.recv(2**16):
                data += piece
        except ConnectionResetError:
            pass
    return data


# ---------------------------------------------------------------------------- silent and slow


def test_connections_without_a_complete_request_are_closed(server: Server, api: httpx.Client) -> None:
    silent, begun, kept, once_more = (connected(server) for _ in range(4))
    begun.sendall(head(server, "GET /")[:20])
    kept.sendall(head(server, "GET /api/v1/health"))
    once_more.sendall(head(server, "GET /api/v1/health") + b"GET /api")
    for connection, gets_response in ((silent, False), (begun, False), (kept, True), (once_more, True)):
        assert until_closed(connection).startswith(b"HTTP/1.1 200") == gets_response


def test_a_head_sent_byte_by_byte_is_cut_off_on_a_kept_connection_too(server: Server, api: httpx.Client) -> None:
    with connected(server) as connection:
        connection.sendall(head(server, "GET /api/v1/health"))
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
        with pytest.raises(OSError, match=r"reset|pipe"):
            send_slowly(connection, head(server, "GET /", "X-Long: " + "x" * 3000))


def send_slowly(connection: socket.socket, data: bytes) -> None:
    """A minute's worth of single bytes: enough to be cut off long before the end."""
    for byte in data:
        connection.sendall(bytes([byte]))
        time.sleep(0.02)


def test_a_kept_connection_is_usable_after_a_body_that_was_not_read(server: Server) -> None:
    """A request for an unknown route is answered without its body, and the next request gets its own response."""
    with connected(server) as connection:
        connection.sendall(head(server, "POST /nowhere", "Content-Length: 100") + b"x" * 100)
        assert status(connection) == 404
        connection.sendall(head(server, "GET /api/v1/health"))
        assert status(connection) == 200


def test_what_is_not_http_gets_a_400(server: Server, api: httpx.Client) -> None:
    connection = connected(server)
    connection.sendall(b"What is the law?\r\n\r\n")
    response = until_closed(connection)
    assert response.startswith(b"HTTP/1.1 400 ")
    assert b"law" not in response


def test_a_body_that_does_not_arrive(server: Server, api: httpx.Client) -> None:
    start = head(server, "POST /api/v1/search", "Content-Type: application/json", "Content-Length: 100")
    connection = connected(server)
    connection.sendall(start + b"{")
    assert b" 408 " in until_closed(connection).splitlines()[0]
    unread = connected(server)  # of a route that does not exist
    unread.sendall(head(server, "POST /nowhere", "Content-Length: 100") + b"{")
    assert b" 404 " in until_closed(unread).splitlines()[0]


def test_a_response_that_is_not_read(server: Server, api: httpx.Client) -> None:
    """The same file requested again and again by a client that never reads."""
    with connected(server) as connection:
        connection.settimeout(30)
        with pytest.raises(OSError, match=r"reset|pipe"):
            connection.sendall(head(server, "GET /api/v1/openapi.json") * 100_000)


def test_hundreds_of_slow_clients_do_not_keep_others_out(server: Server, api: httpx.Client) -> None:
    """More than the limit on connections: the oldest without a request are closed."""
    slow = [connected(server) for _ in range(3 * Limits(connections=int(TIMES["connections"])).connections)]
    closed = 0
    for byte in head(server, "GET /")[:8]:
        for connection in slow:
            try:
                connection.sendall(bytes([byte]))
            except OSError:
                closed += 1
        with server.client() as fresh:  # a new connection each time
            searched(fresh)
    assert closed > 0
    assert files_of(server) < TIMES["connections"] + 50
    for connection in slow:
        assert until_closed(connection) == b""


def test_hundreds_of_slow_bodies_do_not_keep_others_out(server: Server, api: httpx.Client) -> None:
    """At the limit on connections, the oldest request whose body is still arriving makes room; /health answers."""
    request = head(server, "POST /api/v1/search", "Content-Type: application/json", "Content-Length: 100000")
    slow = []
    for _ in range(2 * int(TIMES["connections"])):
        slow.append(connected(server))
        slow[-1].sendall(request + b"{")
    with server.client() as fresh:
        assert fresh.get("/health").status_code == 200
        searched(fresh)
    for connection in slow:
        until_closed(connection)  # a timeout would be an error


def test_if_all_connections_have_requests_the_next_is_refused() -> None:
    """A server for one connection in this process; its client, in a thread, stops it."""
    requested = threading.Event()

    async def work(request: Request) -> Response:
        requested.set()
        await request.receive()
        await request.receive()  # until the client disconnects
        return Response()

    def client(port: int) -> bytes:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=10) as first:
                first.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
                assert requested.wait(30)
                return until_closed(socket.create_connection(("127.0.0.1", port), timeout=30))
        finally:
            signal.raise_signal(signal.SIGINT)

    app: Any = Starlette(routes=[Route("/", work)])
    with ThreadPoolExecutor(1) as threads:
        responses: list[Future[bytes]] = []
        serve(
            app, "127.0.0.1", 0, Limits(connections=1), lambda _, port: responses.append(threads.submit(client, port))
        )
        response = responses[0].result(30)
    assert response.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert b"\r\nretry-after: 5\r\n" in response
    assert b'"kind": "Busy"' in response


def files_of(server: Server) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


# ---------------------------------------------------------------------------- large


def test_a_declared_gigabyte_is_refused_before_it_is_sent(server: Server, api: httpx.Client) -> None:
    headers = (f"Content-Length: {LARGE}", "Expect: 100-continue", "Content-Type: application/json")
    connection = connected(server)
    connection.sendall(head(server, "POST /api/v1/search", *headers))
    response = until_closed(connection)
    assert response.startswith(b"HTTP/1.1 413 ")  # and not 100 Continue
    assert b"larger than the 4 MB" in response
    assert b'"kind": "TooLarge"' in response


def test_an_undeclared_gigabyte_is_refused_at_the_limit(server: Server, api: httpx.Client) -> None:
    searched(api)
    before, sent = server.memory(), 0

    def pieces() -> Iterator[bytes]:
        nonlocal sent
        while sent < LARGE:
            sent += 2**20
            yield bytes(2**20)

    for _ in range(3):
        sent = 0
        response = api.post("/search", content=pieces(), headers={"Content-Type": "application/json"})
        assert response.status_code == 413
        assert response.json()["kind"] == "TooLarge"
        assert sent < 64 * 2**20
    assert server.memory() - before < 32 * 2**20


# ---------------------------------------------------------------------------- hostile


@pytest.mark.parametrize("name", ["bomb", "nested", pytest.param("endless", marks=pytest.mark.slow)])
def test_hostile_files_get_one_line(server: Server, api: httpx.Client, name: str) -> None:
    before = server.memory()
    response = api.post("/search", files={"file": (f"{name}.pdf", getattr(hostile_files, name)())})
    assert response.status_code == 422
    error = response.json()
    assert error["kind"] == "ReadError"
    assert error["error"].startswith(f"{name}.pdf: ")
    assert readers_of(server) == []
    assert server.memory() - before < 32 * 2**20


def readers_of(server: Server) -> list[str]:
    """The running child processes of the server."""
    tasks = Path(f"/proc/{server.process.pid}/task").glob("*/children")
    return [pid for task in tasks for pid in task.read_text().split()]


def until(condition: Any) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "the condition was not met within 30 seconds"
        time.sleep(0.02)


def test_reading_a_file_stops_when_its_client_disconnects(server: Server, api: httpx.Client) -> None:
    mark, data = "--mark", hostile_files.endless()
    part = f'{mark}\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n'.encode()
    body = part + data + f"\r\n{mark}--\r\n".encode()
    kind = f"Content-Type: multipart/form-data; boundary={mark[2:]}"
    with connected(server) as connection:
        connection.sendall(head(server, "POST /api/v1/search", kind, f"Content-Length: {len(body)}") + body)
        until(lambda: readers_of(server))
    until(lambda: not readers_of(server))  # it would run into its own time limit, which is a test of its own


# ---------------------------------------------------------------------------- start and end


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_signal_stops_the_server_despite_open_connections(
    index: Path, tmp_path: Path, number: signal.Signals
) -> None:
    with impatient(index, tmp_path / "log", header_seconds=60.0, idle_seconds=60.0, reading_seconds=60.0) as server:
        silent, kept, busy = (connected(server) for _ in range(3))
        kept.sendall(head(server, "GET /api/v1/health"))
        body = b'--m\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n' + hostile_files.endless()
        headers = ("Content-Type: multipart/form-data; boundary=m", "Accept: text/event-stream")
        length = f"Content-Length: {len(body) + 9}"
        busy.sendall(head(server, "POST /api/v1/search", *headers, length) + body + b"\r\n--m--\r\n")
        until(lambda: readers_of(server))
        readers = readers_of(server)
        server.process.send_signal(number)
        assert server.process.wait(30) == 0
        until(lambda: not any(Path(f"/proc/{reader}").exists() for reader in readers))
        assert "Traceback" not in server.logged()
        for connection in (silent, kept, busy):
            connection.close()


def test_a_port_in_use_is_one_line() -> None:
    async def nobody(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError

    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(UsageError, match=f"^Port {port} of 127.0.0.1 is in use: choose another with --port"):
            serve(nobody, "127.0.0.1", port, Limits(), lambda _host, _port: None)
    with pytest.raises(UsageError, match=r"^The address no\.such\.invalid port 8017 is not known"):
        serve(nobody, "no.such.invalid", 8017, Limits(), lambda _host, _port: None)


def test_an_error_at_startup_is_raised() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise UsageError("The index is not there")

    with pytest.raises(UsageError, match="The index is not there"):
        serve(app, "127.0.0.1", 0, Limits(), lambda _host, _port: None)
