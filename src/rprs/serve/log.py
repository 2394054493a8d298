"""What is said of a request, and what is not: no ids, query strings, names of files or text ever come into a log."""

from __future__ import annotations

import traceback
from asyncio import CancelledError
from collections.abc import Callable, Iterator
from pathlib import PurePath
from time import perf_counter

from starlette.requests import ClientDisconnect

from rprs.serve.limits import ASGIApp, Message, Receive, Scope, Send, refuse

__all__ = ["AccessLog", "frames"]

_METHODS = {"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}
_UNKNOWN = "-"


Observe = Callable[[str, str, int, float], None]  # method, route, status (0: no answer), seconds


def _nobody(_method: str, _route: str, _status: int, _seconds: float) -> None:
    """Count nothing."""


class AccessLog:
    """One line a request: `POST /api/v1/search 200 1,234 ms 56 kB`. The path is the route's, with `{id}` for an id.

    An error that nobody has caught is a line with its type and place, and the client's answer is 500.
    """

    def __init__(self, app: ASGIApp, say: Callable[[str], None], observe: Observe = _nobody) -> None:
        self.app = app
        self.say = say
        self.observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status, size = perf_counter(), 0, 0

        async def counted(message: Message) -> None:
            nonlocal status, size
            status = message.get("status", status)
            size += len(message.get("body", b""))
            await send(message)

        try:
            await self.app(scope, receive, counted)
        except ClientDisconnect:  # in the middle of its request: nobody's error, and no answer that anybody has seen
            status = 0
        except CancelledError:  # the server is stopped, and has waited for this long enough
            if not status:
                await refuse(counted, 503, "Busy", "The server is being stopped", {"retry-after": "5"})
            raise
        except Exception as error:
            # The last place that sees an error: the server would print its message, which may hold a document's text.
            self.say(frames(error))
            if not status:
                await refuse(counted, 500, "Internal Server Error", "The server has made a mistake: see its log")
        finally:
            self._tell(scope, status, perf_counter() - started, size)

    def _tell(self, scope: Scope, status: int, seconds: float, size: int) -> None:
        method = scope["method"] if scope["method"] in _METHODS else _UNKNOWN
        route = getattr(scope.get("route"), "path_format", None) or _UNKNOWN
        told = f"{status}" if status else "no answer"
        self.say(f"{method} {route} {told} {seconds * 1000:,.0f} ms {size / 1000:,.0f} kB")
        self.observe(method, route, status, seconds)


def frames(error: BaseException) -> str:
    """Where an error came from, outermost call first, and its type, but not its message: that may hold text."""
    return " ← ".join(_place(each) for each in _chain(error))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _place(error: BaseException) -> str:
    found = traceback.StackSummary.extract(traceback.walk_tb(error.__traceback__), lookup_lines=False)
    calls = [f"{'/'.join(PurePath(frame.filename).parts[-2:])}:{frame.lineno} {frame.name}" for frame in found]
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return f"{name} at {' > '.join(calls)}" if calls else name
