"""Limits on requests, and the ASGI middleware that enforces them on request bodies."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from random import uniform
from typing import Any

from rprs.errors import UsageError
from rprs.read.ocr import Ocr, check_mode

__all__ = [
    "LINGER",
    "MIN_ARRIVAL",
    "RETRY",
    "ASGIApp",
    "BodyLimit",
    "Limits",
    "Message",
    "Receive",
    "Scope",
    "Send",
    "declared",
    "refuse",
]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

# A refused body is read and discarded up to these limits, so that the client gets to read the response.
LINGER = 2.0  # seconds
RETRY = "3"  # seconds that a client is asked to wait when the server is busy
DISCARD = 16 * 2**20

SPREAD = 1.1  # at most, times the time limit of slow bodies: if hundreds began together, they are not cut together
MIN_ARRIVAL = 2**14  # bytes of a body that must arrive in `header_seconds`, unless that is its end


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server does for a request. One beyond these limits is refused with one line."""

    upload_bytes: int = 64 * 2**20  # of a request body
    bodies_bytes: int = 512 * 2**20  # of all bodies that the server holds; a request that would exceed it is refused
    text_characters: int = 20_000_000  # of a query
    seconds: float = 120.0  # to process a request
    index_seconds: float = 24 * 3600.0  # to create a collection or add documents to one
    at_once: int = field(default_factory=lambda: os.cpu_count() or 1)  # requests processed at the same time
    waiting: int = 32  # requests in the queue; further ones are refused
    reading_seconds: float = 60.0  # to parse one upload
    reading_bytes: int = 2 * 2**30  # of address space to parse it
    header_seconds: float = 20.0  # for the head of a request, and for each 16 kB of its body
    body_seconds: float = 300.0  # until its body is complete
    idle_seconds: float = 30.0  # on a kept-alive connection, or for a client that does not read its response
    connections: int = 512  # open at the same time
    ocr: Ocr = "never"  # of the pages of uploads, and of files in folders

    def __post_init__(self) -> None:
        check_mode(self.ocr)
        for each in dataclasses.fields(self):
            if each.name == "ocr":
                continue
            value, least = getattr(self, each.name), 0 if each.name == "waiting" else 1
            integer = each.type == "int"
            if not (least <= value < float("inf") if integer else 0 < value < float("inf")):
                allowed = f"an integer in [{least}, inf)" if integer else "a number in (0, inf)"
                raise UsageError(f"The limit {each.name!r} must be {allowed}. Got {value!r} instead.")


class BodyLimit:
    """Refuses a body that is too large (413) or too slow (408), or one too many (503), as early as possible.

    For the application, such a client disconnects; whatever it sends afterwards is discarded.
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.app = app
        self.limits = limits
        self.held = 0  # bytes of the bodies of all present requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body = _Body(self, receive, send)
        if (declared(scope["headers"]) or 0) > self.limits.upload_bytes:
            await body.refuse_size()
        else:
            try:
                await self.app(scope, body.receive, body.send)
            except Exception:
                # The application may fail on the apparent disconnection; that is not worth reporting.
                if not body.refused:
                    raise
            finally:
                body.release()
        await body.finish()


class _Body:
    """The body of one request on its way to the application."""

    def __init__(self, all_bodies: BodyLimit, receive: Receive, send: Send) -> None:
        self._all, self._limits, self._receive, self._send = all_bodies, all_bodies.limits, receive, send
        self._size_so_far = 0
        self._held = 0  # of `all_bodies.held`
        self._complete = False
        self._started = False  # the application's answer
        self._due: float | None = None  # when the body must be complete
        self._patience = self._limits.header_seconds * uniform(1, SPREAD)
        self._next_due = 0.0  # when the next `MIN_ARRIVAL` bytes must have arrived
        self._last_size = 0
        self.refused = False

    async def receive(self) -> Message:
        """The next message, or a disconnection in its place."""
        if self.refused:
            return {"type": "http.disconnect"}
        if self._complete:
            return await self._receive()
        loop = asyncio.get_running_loop()
        if self._due is None:  # counted from the first read
            now = loop.time()
            self._due, self._next_due = now + self._limits.body_seconds, now + self._patience
        try:
            async with asyncio.timeout_at(min(self._due, self._next_due)):
                message = await self._receive()
        except TimeoutError:
            self._complete = True  # there is nothing left to discard
            return await self._refuse(408, "Request Timeout", self._too_slow())
        self._count(len(message.get("body", b"")), loop.time())
        self._complete = not message.get("more_body", False)
        if self._size_so_far > self._limits.upload_bytes:
            return await self.refuse_size()
        if self._all.held > self._limits.bodies_bytes:
            line = "The server holds as many requests as its memory allows: try again in a few seconds"
            return await self._refuse(503, "Busy", line, {"retry-after": RETRY})
        return message

    def _count(self, size: int, now: float) -> None:
        """Count what has arrived, and give the client more time once it is enough."""
        self._size_so_far += size
        self._held += size
        self._all.held += size
        if self._size_so_far >= self._last_size + MIN_ARRIVAL:
            self._last_size, self._next_due = self._size_so_far, now + self._patience

    def release(self) -> None:
        """The application needs the body no longer."""
        self._all.held -= self._held
        self._held = 0

    def _too_slow(self) -> str:
        if self._due is not None and self._due <= self._next_due:
            return f"The request's body did not arrive within {self._limits.body_seconds:g} seconds"
        return f"Less than 16 kB of the request's body arrived within {self._limits.header_seconds:g} seconds"

    async def send(self, message: Message) -> None:
        """Pass an answer on, unless the request has been answered here."""
        if not self.refused:
            self._started = True
            await self._send(message)

    async def refuse_size(self) -> Message:
        """Refuse a body that is too large."""
        line = f"The request is larger than the {_size(self._limits.upload_bytes)} that this server accepts"
        return await self._refuse(413, "TooLarge", line)

    async def _refuse(self, status: int, kind: str, line: str, headers: Mapping[str, str] | None = None) -> Message:
        self.refused = True
        self.release()
        if not self._started:
            await refuse(self._send, status, kind, line, {"connection": "close", **(headers or {})}, more=True)
        return {"type": "http.disconnect"}

    async def finish(self) -> None:
        """End a refusal: closing with unread bytes would reset the connection before the client reads the response."""
        if not self.refused or self._started:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                most = self._size_so_far + DISCARD
                while not self._complete and self._size_so_far < most:
                    message = await self._receive()
                    self._size_so_far += len(message.get("body", b""))
                    self._complete = not message.get("more_body", False)
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def declared(headers: Iterable[tuple[bytes, bytes]]) -> int | None:
    """The declared length of a body, if any; the HTTP parser has checked that it is a number."""
    return max((int(value) for name, value in headers if name == b"content-length" and value.isdigit()), default=None)


def _size(count: int) -> str:
    for unit, name in ((2**30, "GB"), (2**20, "MB"), (2**10, "kB")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count} bytes"


async def refuse(
    send: Send, status: int, kind: str, line: str, headers: Mapping[str, str] | None = None, *, more: bool = False
) -> None:
    """Respond with an error of the API; with `more`, the response is left open."""
    body = json.dumps({"error": line, "kind": kind}, ensure_ascii=False).encode()
    fields = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
    start = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields.items()]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": body, "more_body": more})
