"""Run the application on uvicorn, with limits on idle, slow and stalled connections.

A connection is *waiting* while it has no request: it is new, kept alive, or its request's head is still arriving. A
waiting connection is closed after a time limit. At the limit on connections, the oldest waiting one is closed in favour
of a new one, or else the oldest whose request's body is still arriving, so that many slow clients cannot keep others
out.

uvicorn itself closes only kept-alive connections. So each of its protocols is wrapped in one that sees the bytes arrive
and the write buffer drain; when a request begins and ends is known from its ASGI calls.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import logging
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from time import monotonic
from typing import Any, cast

import h11
import uvicorn

from rprs.errors import UsageError
from rprs.serve.gathering import Gathering, Timer
from rprs.serve.guard import HEADERS
from rprs.serve.limits import LINGER, ASGIApp, Limits, Message, Receive, Scope, Send, declared
from rprs.serve.log import frames
from rprs.serve.turns import Turns

__all__ = ["serve"]

BACKLOG = 512
MIN_PROGRESS = 2**14  # bytes of a response that a client must read in `idle_seconds`
SWITCH = 0.0005  # seconds that a thread may compute while the event loop waits for Python's lock, where it can be taken
JUST_COME = 1.0  # seconds
HEALTH = b"/api/v1/health HTTP/1.1"  # ends the first line of a request that does not wait for its turn
COLLECT_AFTER = 700  # new objects, as Python does by default: garbage of many requests takes longer to collect at once
# Searching the objects of hundreds of connections for garbage takes 60 ms, in which nobody gets an answer. So Python
# itself hardly ever does it; we do, every half minute with few connections, and every five minutes with many.
FULL_AFTER = 1000  # of the smaller collections; Python's default is 10
TIDY_EVERY, FEW, MOST_POSTPONED = 30.0, 50, 10  # seconds; connections; times in a row
FREEZE_AFTER = (1, 10, 100)  # requests: what the first ones import is never garbage, and need not be searched again
GRACE = 3  # seconds for running requests to finish when the server stops


def serve(
    app: ASGIApp,
    host: str,
    port: int,
    limits: Limits,
    ready: Callable[[str, int], None],
    log: Callable[[str], None] = lambda _line: None,
) -> None:
    """Serve until SIGINT or SIGTERM. `ready` is called with the address and the port, which is a free one for port 0.

    `log` receives one line, without the error's message, for an error outside any request.
    """
    _raise_file_limit()
    sys.setswitchinterval(SWITCH)
    listener = _listen(host, port)
    connections = _Connections(limits)
    failures: list[Exception] = []

    async def main(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await connections.handle(app, scope, receive, send)
            return
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: log(_describe(context)))
        connections.tidy()
        try:
            await app(scope, receive, _on_startup(send, lambda: ready(host, listener.getsockname()[1])))
        except Exception as error:  # kept, because uvicorn does not report why the application failed to start
            failures.append(error)
            raise

    _silence_loggers()
    gc.collect()
    gc.freeze()  # what was imported stays: searching it for garbage would stop all threads for a tenth of a second
    gc.set_threshold(COLLECT_AFTER, gc.get_threshold()[1], FULL_AFTER)
    server = uvicorn.Server(_config(main, limits, connections))
    try:
        with _signals_stop(server):
            server.run([listener])
    except SystemExit:
        if not failures:
            raise
    finally:
        listener.close()
    if failures:
        raise failures[0]


def _config(app: ASGIApp, limits: Limits, connections: _Connections) -> uvicorn.Config:
    config = uvicorn.Config(
        cast("Any", app),
        http="h11",
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=cast("int", limits.idle_seconds),  # passed to call_later, which accepts fractions
        timeout_graceful_shutdown=GRACE,
    )
    config.load()
    protocol = config.http_protocol_class

    def wrapped(**options: Any) -> asyncio.Protocol:
        return _Connection(protocol(**options), connections)

    config.http_protocol_class = cast("type[asyncio.Protocol]", wrapped)
    return config


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, OverflowError) as error:
        raise UsageError(f"The address {host} port {port} is not known: {_reason(error)}") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        in_use = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        advice = f"Port {port} of {host} is in use: choose another with --port, or 0 for a free one"
        raise UsageError(advice if in_use else f"Cannot listen on {host} port {port}: {_reason(error)}") from error
    return listener


def _raise_file_limit() -> None:
    """Allow as many open files as the system permits: an index has hundreds, and twice as many during a reload."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # some systems report "infinite" but refuse it; the limit then stays as it was
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _silence_loggers() -> None:
    """These loggers write error messages, which may contain text of a request; without handlers Python prints them."""
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "python_multipart"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [logging.NullHandler()], False


@contextmanager
def _signals_stop(server: uvicorn.Server) -> Iterator[None]:
    """Handle SIGINT and SIGTERM before uvicorn does, and when it raises them again after it has stopped."""

    def stop(*_: object) -> None:
        server.should_exit = True

    handlers = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _on_startup(send: Send, ready: Callable[[], None]) -> Send:
    async def watched(message: Message) -> None:
        await send(message)
        if message["type"] == "lifespan.startup.complete":
            ready()

    return watched


def _describe(context: dict[str, Any]) -> str:
    error = context.get("exception")
    return frames(error) if isinstance(error, BaseException) else "An error in the event loop"


# ---------------------------------------------------------------------------- all connections


class _Connections:
    """The open connections of one server."""

    def __init__(self, limits: Limits) -> None:
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.limits = limits
        self.most = (
            limits.connections if files == resource.RLIM_INFINITY else min(limits.connections, max(1, files // 2))
        )
        self.open: dict[object, _Connection] = {}  # by the client's address and port
        self.waiting: dict[_Connection, float] = {}  # since when, oldest first
        self.sending: dict[_Connection, None] = {}  # those with a body that is still arriving, oldest first
        self.turns = Turns()
        self.requests = 0  # that were handled
        self.postponed = 0  # collections of garbage

    def admit(self, connection: _Connection) -> bool:
        """Register a connection, if necessary in place of the oldest slow one; false if all requests are complete."""
        if len(self.open) >= self.most:
            oldest = self._oldest()
            if oldest is None:
                return False
            self.discard(oldest)
            oldest.transport.abort()
        self.open[connection.client] = connection
        self.waiting[connection] = monotonic()
        return True

    def _oldest(self) -> _Connection | None:
        """The connection to give up: if others are slow, not one that has just come, whose request is on its way."""
        waiting, sending = next(iter(self.waiting), None), next(iter(self.sending), None)
        if waiting is None or (sending is not None and monotonic() - self.waiting[waiting] < JUST_COME):
            return sending or waiting
        return waiting

    def tidy(self) -> None:
        """Collect garbage now and then, less often while there are many connections."""
        if len(self.open) <= FEW or self.postponed >= MOST_POSTPONED:
            self.postponed = 0
            gc.collect()
        else:
            self.postponed += 1
        asyncio.get_running_loop().call_later(TIDY_EVERY, self.tidy)

    def discard(self, connection: _Connection) -> None:
        self.waiting.pop(connection, None)
        self.sending.pop(connection, None)
        if self.open.get(connection.client) is connection:
            del self.open[connection.client]

    async def handle(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Run one request; its connection is not waiting from its head to the end of its response."""
        connection = self.open.get(scope["client"])
        if connection is None:
            await app(scope, receive, send)
            return
        unread = any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])
        ended = False

        async def received() -> Message:
            nonlocal unread
            message = await receive()
            unread = unread and bool(message.get("more_body", False))
            connection.body.read(len(message.get("body", b"")))
            if not unread:
                self.sending.pop(connection, None)
                connection.body.end()
            return message

        async def sent(message: Message) -> None:
            nonlocal ended
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body", False) and not ended:
                ended = True
                connection.end_request(unread)

        connection.begin_request()
        if unread:
            self.sending[connection] = None
            chunked = any(name == b"transfer-encoding" for name, _ in scope["headers"])
            connection.body.begin(None if chunked else declared(scope["headers"]))
        try:
            await app(scope, received, sent)
        finally:
            self.sending.pop(connection, None)
            connection.body.end()
            if not ended:
                connection.end_request(unread)
            self.requests += 1
            if self.requests in FREEZE_AFTER:
                gc.freeze()


# ---------------------------------------------------------------------------- one connection


class _Connection(asyncio.Protocol):
    """uvicorn's protocol with two timers: one for data to arrive, one for the client to read the response.

    What is not part of a body waits for its turn, except a request for /health.
    """

    def __init__(self, inner: asyncio.Protocol, connections: _Connections) -> None:
        self.inner, self.connections, self.limits = inner, connections, connections.limits
        self.transport: asyncio.Transport
        self.client: object = self
        self.arriving, self.draining, self.body = Timer(), Timer(), Gathering(self._pass_on)
        self.held = b""  # what has arrived and waits for its turn
        self.admitted = self.paused = False
        self.kept = False  # alive after a response, and nothing of the next request has arrived
        self.unread = False  # the last request may have had a body that was not read to its end

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        self.client = tuple(peer[:2]) if peer else self
        self.admitted = self.connections.admit(self)
        if not self.admitted:
            self._refuse()
            return
        self.inner.connection_made(transport)
        self.arriving.start(self.limits.header_seconds, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self.arriving.stop()
        self.draining.stop()
        self.held = b""
        self.body.drop()
        self.connections.discard(self)
        if hasattr(self.transport, "_read_ready_cb"):
            self.transport._read_ready_cb = None  # a reference of asyncio to itself: without it, it is freed at once
        if self.admitted:
            self.connections.turns.add(partial(self.inner.connection_lost, exc))

    def data_received(self, data: bytes) -> None:
        """Pass data on. Only the first piece of a request's head starts the timer, so a slow head cannot extend it."""
        if not self.admitted or self.transport.is_closing():
            return
        if self.kept:
            self.kept = False
            # This may be the rest of a body that nobody reads, which is discarded for a short while only.
            self.arriving.start(LINGER if self.unread else self.limits.header_seconds, self.transport.abort)
        if self.body.gathers or (not self.held and data.split(b"\r", 1)[0].endswith(HEALTH)):
            self.body.add(data)
            return
        if not self.held:
            self.transport.pause_reading()
            self.connections.turns.add(self._take_turn)
        self.held += data

    def _take_turn(self) -> None:
        held, self.held = self.held, b""
        if held and not self.transport.is_closing():
            self.transport.resume_reading()
            self.body.add(held)

    def _pass_on(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        try:
            self.inner.data_received(data)
        except h11.LocalProtocolError:  # an invalid body while its response is being sent, too late for a status 400
            self.transport.abort()

    def eof_received(self) -> bool | None:
        self._take_turn()
        self.body.flush()
        return self.inner.eof_received() if self.admitted else None

    # ------------------------------------------------------------------------ requests

    def begin_request(self) -> None:
        """The head of a request is complete."""
        self.kept = False
        self.connections.waiting.pop(self, None)
        self.arriving.stop()
        if not self.paused:
            self.draining.stop()

    def end_request(self, unread: bool) -> None:
        """The response is written, not necessarily read."""
        self._check_drained()
        if self.transport.is_closing():
            return
        self.kept, self.unread = True, unread
        self.connections.waiting[self] = monotonic()
        self.arriving.start(self.limits.idle_seconds, self.transport.close)

    # ------------------------------------------------------------------------ responses

    def pause_writing(self) -> None:
        """The client reads more slowly than the response is written."""
        self.paused = True
        if self.admitted:
            self.inner.pause_writing()
        self._check_drained()

    def resume_writing(self) -> None:
        """Most of the write buffer has been sent."""
        self.paused = False
        self.draining.stop()
        if self in self.connections.waiting or self.transport.is_closing():
            self._check_drained()
        if self.admitted:
            self.inner.resume_writing()

    def _check_drained(self, before: int | None = None) -> None:
        """Abort if the client has read too little since the last check; nothing is written between two checks."""
        left = self.transport.get_write_buffer_size()
        if left and before is not None and left > before - MIN_PROGRESS:
            self.transport.abort()
        elif left:
            self.draining.start(self.limits.idle_seconds, self._check_drained, left)

    def _refuse(self) -> None:
        """Answer 503 without a request."""
        line = "The server has too many connections: try again in a few seconds"
        body = json.dumps({"error": line, "kind": "Busy"}).encode()
        fields = {
            "content-type": "application/json",
            "content-length": str(len(body)),
            "connection": "close",
            "cache-control": "no-store",
            "retry-after": "5",
            **HEADERS,
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self.transport.write(f"HTTP/1.1 503 Service Unavailable\r\n{head}\r\n".encode() + body)
        self.transport.close()
        self._check_drained()
