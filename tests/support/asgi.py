"""Requests to an ASGI application without a server, and an application to guard."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rprs.serve.guard import Guard, hosts_of
from rprs.serve.limits import ASGIApp, Message, Scope

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
