"""A real server among clients that are slow, silent, greedy or hostile: they do no harm, and others are served."""

from __future__ import annotations

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
from tests.support.cli import QUERY, made_index
from tests.support.server import Server

# `rprs serve` itself, with times that a test can wait for.
HURRIED = """
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
def hurried(index: Path, log: Path, *options: str, **limits: float) -> Iterator[Server]:
    """A server on a free port; at the end it is killed if it is still there."""
    words = [sys.executable, "-c", HURRIED, json.dumps(TIMES | limits), "serve", str(index), "--port", "0", "--no-open"]
    with log.open("w") as errors:
        process = subprocess.Popen([*words, *options], stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        assert process.stdout is not None
        said = process.stdout.readline().split()
        assert said, f"no server: {log.read_text()}"
        yield Server(said[-1].rstrip("/"), process, log)
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_index(tmp_path_factory.mktemp("hardship"))


@pytest.fixture(scope="module")
def server(index: Path) -> Iterator[Server]:
    with hurried(index, index.parent / "log", "--max-upload", "4") as running:
        yield running
        assert running.process.poll() is None
        assert "Error at" not in running.said()


@pytest.fixture
def api(server: Server) -> Iterator[httpx.Client]:
    """A client that must be served as ever after each hardship."""
    with server.client() as client:
        yield client
    with server.client() as client:
        assert searched(client) < 5


def searched(api: httpx.Client) -> float:
    """Seconds of a search, which has its hits."""
    started = time.monotonic()
    response = api.post("/search", json={"text": QUERY, "k": 3})
    assert response.status_code == 200, response.text
    assert len(response.json()["hits"]) == 3
    return time.monotonic() - started


def connected(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=10)


def head(server: Server, line: str, *headers: str) -> bytes:
    return "\r\n".join([f"{line} HTTP/1.1", f"Host: 127.0.0.1:{server.port}", *headers, "", ""]).encode()


def until_closed(connection: socket.socket) -> tuple[float, bytes]:
    """Seconds until the server closes a connection, and what it says before."""
    started, said = time.monotonic(), b""
    with connection:
        try:
            while piece := connection.recv(2**16):
                said += piece
        except ConnectionResetError:
            pass
    return time.monotonic() - started, said


# ---------------------------------------------------------------------------- silent and slow


def test_connections_that_do_not_say_what_they_want_are_closed(server: Server, api: httpx.Client) -> None:
    silent, begun, kept, once_more = (connected(server) for _ in range(4))
    begun.sendall(head(server, "GET /")[:20])
    kept.sendall(head(server, "GET /api/v1/health"))
    once_more.sendall(head(server, "GET /api/v1/health") + b"GET /api")
    for connection, asked in ((silent, False), (begun, False), (kept, True), (once_more, True)):
        seconds, said = until_closed(connection)
        assert seconds < 5
        assert said.startswith(b"HTTP/1.1 200") == asked


def test_a_dribbled_head_is_not_waited_for_also_not_on_a_kept_connection(server: Server, api: httpx.Client) -> None:
    with connected(server) as connection:
        connection.sendall(head(server, "GET /api/v1/health"))
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
        started = time.monotonic()
        with pytest.raises(OSError, match=r"reset|pipe"):
            dribble(connection, head(server, "GET /", "X-Long: " + "x" * 1000))
        assert 0.5 < time.monotonic() - started < 5


def dribble(connection: socket.socket, data: bytes) -> None:
    for byte in data:
        connection.sendall(bytes([byte]))
        time.sleep(0.02)


def test_a_body_that_does_not_come(server: Server, api: httpx.Client) -> None:
    wanted = head(server, "POST /api/v1/search", "Content-Type: application/json", "Content-Length: 100")
    connection = connected(server)
    connection.sendall(wanted + b"{")
    seconds, said = until_closed(connection)
    assert b" 408 " in said.splitlines()[0]
    assert seconds < 5
    unread = connected(server)  # one that nobody wanted
    unread.sendall(head(server, "POST /nowhere", "Content-Length: 100") + b"{")
    seconds, said = until_closed(unread)
    assert b" 404 " in said.splitlines()[0]
    assert seconds < 5


def test_an_answer_that_is_not_taken(server: Server, api: httpx.Client) -> None:
    """The page and its modules, asked for again and again by one who reads nothing."""
    with connected(server) as connection:
        connection.settimeout(6)
        with pytest.raises(OSError, match=r"reset|pipe"):
            connection.sendall(head(server, "GET /api/v1/openapi.json") * 100_000)


def test_hundreds_of_slow_clients_keep_nobody_out(server: Server, api: httpx.Client) -> None:
    """More of them than there may be connections: the oldest that have not asked give way."""
    slow = [connected(server) for _ in range(3 * Limits(connections=int(TIMES["connections"])).connections)]
    closed = 0
    for byte in head(server, "GET /")[:8]:
        for connection in slow:
            try:
                connection.sendall(bytes([byte]))
            except OSError:
                closed += 1
        with server.client() as fresh:  # a new connection each time
            assert searched(fresh) < 5
    assert closed > 0
    assert files_of(server) < TIMES["connections"] + 50
    for connection in slow:
        assert until_closed(connection)[1] == b""


def test_where_all_connections_are_at_work_the_next_is_told_to_come_back() -> None:
    """A server of one connection, in this process; its client, in a thread, ends it."""
    asked = threading.Event()

    async def work(request: Request) -> Response:
        asked.set()
        await request.receive()
        await request.receive()  # until the client leaves
        return Response()

    def client(port: int) -> bytes:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=10) as first:
                first.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
                assert asked.wait(10)
                return until_closed(socket.create_connection(("127.0.0.1", port), timeout=10))[1]
        finally:
            signal.raise_signal(signal.SIGINT)

    app: Any = Starlette(routes=[Route("/", work)])
    with ThreadPoolExecutor(1) as threads:
        told: list[Future[bytes]] = []
        serve(app, "127.0.0.1", 0, Limits(connections=1), lambda _, port: told.append(threads.submit(client, port)))
        said = told[0].result(10)
    assert said.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert b"\r\nretry-after: 5\r\n" in said
    assert b'"kind": "Busy"' in said


def files_of(server: Server) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


# ---------------------------------------------------------------------------- large


def test_a_gigabyte_that_says_so_is_refused_before_it_comes(server: Server, api: httpx.Client) -> None:
    headers = (f"Content-Length: {LARGE}", "Expect: 100-continue", "Content-Type: application/json")
    connection = connected(server)
    connection.sendall(head(server, "POST /api/v1/search", *headers))
    seconds, said = until_closed(connection)
    assert said.startswith(b"HTTP/1.1 413 ")  # and not 100 Continue
    assert b"larger than the 4 MB" in said
    assert b'"kind": "TooLarge"' in said
    assert seconds < 5


def test_a_gigabyte_that_does_not_say_so_is_refused_when_it_passes_the_limit(server: Server, api: httpx.Client) -> None:
    searched(api)
    before, sent = server.memory(), 0

    def pieces() -> Iterator[bytes]:
        nonlocal sent
        while sent < LARGE:
            sent += 2**20
            yield bytes(2**20)

    for _ in range(3):
        started = time.monotonic()
        sent = 0
        response = api.post("/search", content=pieces(), headers={"Content-Type": "application/json"})
        assert response.status_code == 413
        assert response.json()["kind"] == "TooLarge"
        assert time.monotonic() - started < 10
        assert sent < 64 * 2**20
    assert server.memory() - before < 32 * 2**20


# ---------------------------------------------------------------------------- hostile


@pytest.mark.parametrize("name", ["bomb", "nested", pytest.param("endless", marks=pytest.mark.slow)])
def test_files_that_are_made_to_harm_get_one_line(server: Server, api: httpx.Client, name: str) -> None:
    before = server.memory()
    response = api.post("/search", files={"file": (f"{name}.pdf", getattr(hostile_files, name)())})
    assert response.status_code == 422
    told = response.json()
    assert told["kind"] == "ReadError"
    assert told["error"].startswith(f"{name}.pdf: ")
    assert readers_of(server) == []
    assert server.memory() - before < 32 * 2**20


def readers_of(server: Server) -> list[str]:
    """The processes that the server has started and that have not ended."""
    tasks = Path(f"/proc/{server.process.pid}/task").glob("*/children")
    return [pid for task in tasks for pid in task.read_text().split()]


def until(what: Any, seconds: float = 5) -> float:
    """Seconds until something is so."""
    started = time.monotonic()
    while not what():
        assert time.monotonic() - started < seconds
        time.sleep(0.02)
    return time.monotonic() - started


def test_a_file_is_not_read_on_when_its_sender_has_left(server: Server, api: httpx.Client) -> None:
    mark, data = "--mark", hostile_files.endless()
    part = f'{mark}\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n'.encode()
    body = part + data + f"\r\n{mark}--\r\n".encode()
    kind = f"Content-Type: multipart/form-data; boundary={mark[2:]}"
    with connected(server) as connection:
        connection.sendall(head(server, "POST /api/v1/search", kind, f"Content-Length: {len(body)}") + body)
        until(lambda: readers_of(server))
    assert until(lambda: not readers_of(server)) < 2


# ---------------------------------------------------------------------------- start and end


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_it_ends_when_it_is_told_to_whoever_is_there(index: Path, tmp_path: Path, number: signal.Signals) -> None:
    with hurried(index, tmp_path / "log", header_seconds=60.0, idle_seconds=60.0, reading_seconds=60.0) as server:
        silent, kept, busy = (connected(server) for _ in range(3))
        kept.sendall(head(server, "GET /api/v1/health"))
        body = b'--m\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n' + hostile_files.endless()
        headers = ("Content-Type: multipart/form-data; boundary=m", "Accept: text/event-stream")
        length = f"Content-Length: {len(body) + 9}"
        busy.sendall(head(server, "POST /api/v1/search", *headers, length) + body + b"\r\n--m--\r\n")
        until(lambda: readers_of(server))
        readers = readers_of(server)
        server.process.send_signal(number)
        assert server.process.wait(10) == 0
        until(lambda: not any(Path(f"/proc/{reader}").exists() for reader in readers))
        assert "Traceback" not in server.said()
        for connection in (silent, kept, busy):
            connection.close()


def test_a_port_that_is_taken_is_one_line() -> None:
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


def test_what_keeps_a_server_from_starting_is_told() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise UsageError("The index is not there")

    with pytest.raises(UsageError, match="The index is not there"):
        serve(app, "127.0.0.1", 0, Limits(), lambda _host, _port: None)
