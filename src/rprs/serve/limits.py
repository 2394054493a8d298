"""How much a request may bring, how long it may take, and the ASGI middleware that bounds its body."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from rprs.errors import UsageError

__all__ = ["LINGER", "ASGIApp", "BodyLimit", "Limits", "Message", "Receive", "Scope", "Send", "refuse"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

# So long, and so many bytes, a refused body is still taken and thrown away, so that its sender reads the answer.
LINGER = 2.0  # seconds
DISCARD = 16 * 2**20


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server takes on. A request that asks for more is refused with one line."""

    upload_bytes: int = 64 * 2**20  # a whole request body
    text_characters: int = 20_000_000  # of a query
    seconds: float = 120.0  # a request's work
    at_once: int = field(default_factory=lambda: os.cpu_count() or 1)  # requests that work at the same time
    waiting: int = 32  # that may wait; one more is told to come back
    reading_seconds: float = 60.0  # one upload's parsing
    reading_bytes: int = 2 * 2**30  # its address space
    header_seconds: float = 20.0  # until the head of a request has come, also on a connection that says nothing
    body_seconds: float = 300.0  # until its body has come
    idle_seconds: float = 30.0  # of a connection that is kept for a next request, or does not take its answer
    connections: int = 512  # that are open at the same time

    def __post_init__(self) -> None:
        for each in dataclasses.fields(self):
            value, least = getattr(self, each.name), 0 if each.name == "waiting" else 1
            whole = each.type == "int"
            if not (least <= value < float("inf") if whole else 0 < value < float("inf")):
                allowed = f"an integer in [{least}, inf)" if whole else "a number in (0, inf)"
                raise UsageError(f"The limit {each.name!r} must be {allowed}. Got {value!r} instead.")


class BodyLimit:
    """Refuses a body that is too large (413) or too slow (408), as soon as that can be known.

    The application sees such a client go away; what it says after that is thrown away, for the client has its answer.
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.app = app
        self.limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body = _Body(self.limits, receive, send)
        if _declared(scope["headers"]) > self.limits.upload_bytes:
            await body.refuse_size()
        else:
            try:
                await self.app(scope, body.receive, body.send)
            except Exception:
                # Whatever the application makes of a client that is gone is nobody's news if it was sent away here.
                if not body.refused:
                    raise
        await body.finish()


class _Body:
    """The body of one request on its way to the application."""

    def __init__(self, limits: Limits, receive: Receive, send: Send) -> None:
        self._limits, self._receive, self._send = limits, receive, send
        self._taken = 0
        self._complete = False
        self._started = False  # the application's answer
        self._due: float | None = None
        self.refused = False

    async def receive(self) -> Message:
        """The next piece, or a disconnection in its place."""
        if self.refused:
            return {"type": "http.disconnect"}
        if self._complete:
            return await self._receive()
        loop = asyncio.get_running_loop()
        self._due = self._due or loop.time() + self._limits.body_seconds  # counted from when it is first wanted
        try:
            async with asyncio.timeout_at(self._due):
                message = await self._receive()
        except TimeoutError:
            self._complete = True  # for what it is worth here: there is nothing to wait for
            line = f"The request's body has not come within {self._limits.body_seconds:g} seconds"
            return await self._refuse(408, "Request Timeout", line)
        self._taken += len(message.get("body", b""))
        self._complete = not message.get("more_body", False)
        if self._taken > self._limits.upload_bytes:
            return await self.refuse_size()
        return message

    async def send(self, message: Message) -> None:
        """Pass an answer on, unless the request has been answered here."""
        if not self.refused:
            self._started = True
            await self._send(message)

    async def refuse_size(self) -> Message:
        """Say that it is too large."""
        line = f"The request is larger than the {_size(self._limits.upload_bytes)} that this server takes"
        return await self._refuse(413, "TooLarge", line)

    async def _refuse(self, status: int, kind: str, line: str) -> Message:
        self.refused = True
        if not self._started:
            await refuse(self._send, status, kind, line, {"connection": "close"}, more=True)
        return {"type": "http.disconnect"}

    async def finish(self) -> None:
        """End a refusal: closing at once, with bytes unread, would reset the connection before the answer is read."""
        if not self.refused or self._started:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                most = self._taken + DISCARD
                while not self._complete and self._taken < most:
                    message = await self._receive()
                    self._taken += len(message.get("body", b""))
                    self._complete = not message.get("more_body", False)
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def _declared(headers: Iterable[tuple[bytes, bytes]]) -> int:
    """The length that a request says its body has; the server has seen to it that it is a number."""
    return max((int(value) for name, value in headers if name == b"content-length" and value.isdigit()), default=0)


def _size(count: int) -> str:
    for unit, name in ((2**30, "GB"), (2**20, "MB"), (2**10, "kB")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count} bytes"


async def refuse(
    send: Send, status: int, kind: str, line: str, headers: Mapping[str, str] | None = None, *, more: bool = False
) -> None:
    """Answer with an error of the API; with `more`, the answer is said but not yet over."""
    body = json.dumps({"error": line, "kind": kind}, ensure_ascii=False).encode()
    fields = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
    start = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields.items()]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": body, "more_body": more})
