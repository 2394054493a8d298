"""The access log. It never contains ids, query strings, file names or text of documents.

Each line begins with the time and the id of its request, which the response has as `X-Request-ID`.
"""

from __future__ import annotations

import re
import secrets
import traceback
from asyncio import CancelledError
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import PurePath
from time import perf_counter

from starlette.requests import ClientDisconnect

from rprs.serve.limits import ASGIApp, Message, Receive, Scope, Send, refuse

__all__ = ["AccessLog", "frames", "internal_error", "stamped"]

_METHODS = {"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}
_UNKNOWN = "-"
_ID = re.compile(rb"[0-9a-fA-F-]{8,64}")  # of a proxy; only digits, so that no name gets into the log

_request_id: ContextVar[str] = ContextVar("request_id", default=_UNKNOWN)


Observe = Callable[[str, str, int, float], None]  # method, route, status (0: no response), seconds


def _no_observer(_method: str, _route: str, _status: int, _seconds: float) -> None:
    """Count nothing."""


class AccessLog:
    """One line per request: `POST /api/v1/search 200 1,234 ms 56 kB`. The path is the route's, with `{id}` for an id.

    An uncaught error is logged with its type and place, and answered with status 500.
    """

    def __init__(self, app: ASGIApp, log: Callable[[str], None], observe: Observe = _no_observer) -> None:
        self.app = app
        self.log = log
        self.observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status, size = perf_counter(), 0, 0
        id = _id_of(scope)
        _request_id.set(id)

        async def counted(message: Message) -> None:
            nonlocal status, size
            status = message.get("status", status)
            size += len(message.get("body", b""))
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), (b"x-request-id", id.encode())]}
            await send(message)

        try:
            await self.app(scope, receive, counted)
        except ClientDisconnect:  # during its request: not an error, and no response was seen
            status = 0
        except CancelledError:  # the server is stopping and no longer waits for this request
            if not status:
                await refuse(counted, 503, "Busy", "The server is stopping", {"retry-after": "5"})
            raise
        except Exception as error:
            # uvicorn would print the message, which may contain text of a document.
            self.log(frames(error))
            if not status:
                await refuse(counted, 500, "Internal Server Error", internal_error())
        finally:
            self._record(scope, status, perf_counter() - started, size)

    def _record(self, scope: Scope, status: int, seconds: float, size: int) -> None:
        method = scope["method"] if scope["method"] in _METHODS else _UNKNOWN
        route = getattr(scope.get("route"), "path_format", None) or _UNKNOWN
        outcome = f"{status}" if status else "no response"
        self.log(f"{method} {route} {outcome} {seconds * 1000:,.0f} ms {size / 1000:,.0f} kB")
        self.observe(method, route, status, seconds)


def _id_of(scope: Scope) -> str:
    """The id that a proxy gave a request, or a new one."""
    given = [value for name, value in scope.get("headers", ()) if name == b"x-request-id"]
    return given[0].decode() if len(given) == 1 and _ID.fullmatch(given[0]) else secrets.token_hex(8)


def internal_error() -> str:
    """The message of an error that is not the user's, with what finds it in the log."""
    return f"Internal error of the server: see its log, request {_request_id.get()}"


def stamped(log: Callable[[str], None]) -> Callable[[str], None]:
    """A log whose lines begin with the time, in UTC, and the id of the current request."""

    def write(line: str) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        log(f"{now} {_request_id.get()} {line}")

    return write


def frames(error: BaseException) -> str:
    """The type and call stack of an error, outermost call first, without its message, which may contain text."""
    return " ← ".join(_place(each) for each in _chain(error))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _place(error: BaseException) -> str:
    stack = traceback.StackSummary.extract(traceback.walk_tb(error.__traceback__), lookup_lines=False)
    calls = [f"{'/'.join(PurePath(frame.filename).parts[-2:])}:{frame.lineno} {frame.name}" for frame in stack]
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return f"{name} at {' > '.join(calls)}" if calls else name
