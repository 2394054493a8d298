"""Connections: uvicorn with bounds on those that say nothing, say it slowly, or do not take their answer.

A connection is *waiting* while no whole head of a request has come: it is new, kept for a next request, or slow. A
waiting one is closed in time; and where there are too many connections, the oldest waiting one gives way to the new, so
that a crowd of slow ones keeps nobody out.
"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import resource
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from rprs.errors import UsageError
from rprs.serve.guard import HEADERS
from rprs.serve.limits import LINGER, ASGIApp, Limits, Receive, Scope, Send
from rprs.serve.log import frames

__all__ = ["serve"]

BACKLOG = 512
LEAST = 2**14  # bytes of an answer that have to be taken in `idle_seconds`
FAREWELL = 3  # seconds that requests at work have to end when the server is stopped


def serve(
    app: ASGIApp,
    host: str,
    port: int,
    limits: Limits,
    ready: Callable[[str, int], None],
    say: Callable[[str], None] = lambda _line: None,
) -> None:
    """Serve until SIGINT or SIGTERM. `ready` is told the address and the port, which for 0 is a free one.

    `say` gets a line, without any message, for an error that no request is to blame for.
    """
    _more_files()
    bound = _bound(host, port)
    failures: list[Exception] = []

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        except Exception as error:  # raised again: it is only that uvicorn would not tell what kept it from starting
            if scope["type"] == "lifespan":
                failures.append(error)
            raise

    _hush()
    config = uvicorn.Config(
        cast("Any", watched),
        http=_protocol(limits),
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=cast("int", limits.idle_seconds),  # it goes to call_later, which takes fractions
        timeout_graceful_shutdown=FAREWELL,
    )
    try:
        _Server(config, lambda: ready(host, bound.getsockname()[1]), say).run([bound])
    except SystemExit:
        if failures:
            raise failures[0] from None
        raise
    finally:
        bound.close()


def _bound(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, protocol)
    except (OSError, OverflowError) as error:
        raise UsageError(f"The address {host} port {port} is not known: {_reason(error)}") from error
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        found.close()
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        advice = f"Port {port} of {host} is in use: choose another with --port, or 0 for a free one"
        raise UsageError(advice if taken else f"Cannot listen on {host} port {port}: {_reason(error)}") from error
    return found


def _more_files() -> None:
    """As many open files as the system lets us have: an index has hundreds, and twice while it is opened anew."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # where "infinite" is allowed but not possible, it stays as it was
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _hush() -> None:
    """They log messages of errors, which may hold text of a request; without handlers Python would print them."""
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "python_multipart"):
        log = logging.getLogger(name)
        log.handlers, log.propagate = [logging.NullHandler()], False


class _Server(uvicorn.Server):
    """Says when it listens, and ends quietly when it is told to."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None], say: Callable[[str], None]) -> None:
        super().__init__(config)
        self.ready = ready
        self.say = say

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(self._tell)
        await super().startup(sockets)
        self.ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """As uvicorn does it, except that the signal is not raised once more after the end."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True

    def _tell(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self.say(frames(error) if isinstance(error, BaseException) else "An error of the event loop")


# ---------------------------------------------------------------------------- one connection


def _protocol(limits: Limits) -> type[H11Protocol]:
    """The class of the connections of one server, which know of each other."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = limits.connections if files == resource.RLIM_INFINITY else min(limits.connections, max(1, files // 2))
    waiting: dict[_Connection, None] = {}  # the oldest first

    class _Bounded(_Connection):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            self.limits, self.most, self.waiting = limits, most, waiting
            self.coming, self.taking = _Clock(), _Clock()

    return _Bounded


class _Clock:
    """Something that happens after a while, unless it is stopped or started anew."""

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None

    def start(self, seconds: float, then: Callable[..., None], *arguments: Any) -> None:
        self.stop()
        self._timer = asyncio.get_running_loop().call_later(seconds, then, *arguments)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def runs(self) -> bool:
        return self._timer is not None


class _Connection(H11Protocol):
    """A connection with two clocks: one runs while something has to come, the other while an answer has to be taken."""

    limits: Limits
    most: int  # connections
    waiting: dict[_Connection, None]
    coming: _Clock
    taking: _Clock
    draining = False  # a body goes on after its answer

    # ------------------------------------------------------------------------ what comes

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """A new connection, if need be in the place of the oldest one that waits."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            oldest = next(iter(self.waiting), None)
            if oldest is None:
                self._turn_away()
                return
            oldest._leave()
        self.waiting[self] = None
        self._expect(self.limits.header_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """The end of it, whoever wanted it."""
        self.coming.stop()
        self.taking.stop()
        self._unset_keepalive_if_required()
        self.waiting.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """A piece of a head or a body. The clock of a head is not set back by a piece of it."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self.waiting[self] = None
            if self.draining or not self.coming.runs:
                self.draining = False
                self._expect(self.limits.header_seconds)
        elif self.waiting.pop(self, self) is None:  # it waited, and now the head has come
            self.coming.stop()
            self.taking.stop()

    def on_response_complete(self) -> None:
        """An answer is written. What is left of the request's body is soon not taken any more."""
        super().on_response_complete()
        self._watch()
        self.draining = self.conn.their_state is h11.SEND_BODY
        if self.draining:
            self._expect(LINGER)
        elif self.conn.their_state is h11.IDLE:
            self.waiting[self] = None

    def _expect(self, seconds: float) -> None:
        self.coming.start(seconds, self.transport.abort)

    def _leave(self) -> None:
        self.connections.discard(self)
        self.waiting.pop(self, None)
        self.transport.abort()

    # ------------------------------------------------------------------------ what is taken

    def timeout_keep_alive_handler(self) -> None:
        """Nothing has come on a connection that was kept; one that still takes its answer is for the other clock."""
        self.transport.close()

    def pause_writing(self) -> None:
        """An answer is not taken as fast as it is written."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """Most of what was written is taken."""
        self.taking.stop()
        if self.cycle.response_complete:
            self._watch()
        super().resume_writing()

    def shutdown(self) -> None:
        """The server is stopped."""
        if not self.transport.is_closing():
            super().shutdown()

    def _watch(self, before: int | None = None) -> None:
        """See that what is written is taken, and not by the byte. Nothing is written while this clock runs."""
        left = self.transport.get_write_buffer_size()
        if left and before is not None and left > before - LEAST:
            self.transport.abort()
        elif left:
            self.taking.start(self.limits.idle_seconds, self._watch, left)

    # ------------------------------------------------------------------------ answers without a request

    def _turn_away(self) -> None:
        line = "The server has too many connections: try again in a few seconds"
        self._answer(503, "Service Unavailable", "Busy", line, {"retry-after": "5"})

    def send_400_response(self, msg: str) -> None:
        """What came is not HTTP. In the middle of an answer there is no place to say so."""
        if self.conn.our_state is h11.SEND_BODY:
            self.transport.abort()
        else:
            self._answer(400, "Bad Request", "Bad Request", msg, {})

    def _answer(self, status: int, reason: str, kind: str, line: str, more: dict[str, str]) -> None:
        body = json.dumps({"error": line, "kind": kind}).encode()
        fields = {
            "content-type": "application/json",
            "content-length": str(len(body)),
            "connection": "close",
            "cache-control": "no-store",
            **HEADERS,
            **more,
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self.transport.write(f"HTTP/1.1 {status} {reason}\r\n{head}\r\n".encode() + body)
        self.transport.close()
        self._watch()
