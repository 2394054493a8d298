"""The HTTP of a client: requests that are repeated while the server is busy, events, and errors of the library."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from ipaddress import ip_address
from time import sleep
from typing import Any, NoReturn, TypeVar
from urllib.parse import urlsplit

import httpx

from rprs import errors
from rprs.errors import Busy, RprsError, ServiceError, UsageError
from rprs.progress import Advance, Progress, silent

__all__ = ["Transport", "as_json", "events", "lines"]

Result = TypeVar("Result")

TRIES = 5  # of a request while the server is busy
MAX_DELAY = 30.0  # seconds between two of them, whatever the server asks for


class Transport:
    """Requests to the API of a server, below a path."""

    def __init__(self, url: str, path: str, token: str | None, timeout: float, progress: Progress) -> None:
        if not isinstance(url, str):
            raise UsageError(f"The address of a server must have the form http://HOST:PORT. Got {url!r:.80}")
        self.url, self.timeout, self.progress = url.rstrip("/"), timeout, progress
        host = _host(self.url)
        token = None if token is None else token.strip()
        if token is not None and not (token and token.isascii() and token.isprintable()):
            raise UsageError("The token must be one line of ASCII characters")
        self._http = httpx.Client(
            base_url=f"{self.url}/api/v1/{path}",
            headers={} if token is None else {"Authorization": f"Bearer {token}"},
            timeout=timeout,
            trust_env=not _is_loopback(host),  # loopback connections never use a proxy
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def run(self, route: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """The result of a request that takes long; with a progress, the server reports its own."""
        body = as_json(request)
        if self.progress is silent:
            return self.call("POST", route, body)
        return self._with_retries(lambda: self._follow(route, body))

    def call(self, method: str, route: str, body: bytes | None = None, params: Any = None) -> dict[str, Any]:
        """The body of the response to a request."""
        headers = {} if body is None else {"Content-Type": "application/json"}

        def once() -> dict[str, Any]:
            with self._translated_errors():
                response = self._http.request(method, route, content=body, headers=headers, params=params)
            return self._check(response)

        return self._with_retries(once)

    def download(self, route: str, request: Mapping[str, Any]) -> bytes:
        """The file that a server makes for a request."""
        body = as_json(request)

        def once() -> bytes:
            with self._translated_errors():
                response = self._http.post(route, content=body, headers={"Content-Type": "application/json"})
            if not response.is_success or "content-disposition" not in response.headers:
                self._check(response)
                raise self._unexpected("it sent no file")
            return response.content

        return self._with_retries(once)

    def _with_retries(self, once: Callable[[], Result]) -> Result:
        """Repeat a request while the server is busy."""
        for left in reversed(range(TRIES)):
            try:
                return once()
            except _Retry as retry:
                if not left:
                    raise retry.error from None
                sleep(retry.seconds)
        raise AssertionError("not reached")

    def _follow(self, route: str, body: bytes) -> dict[str, Any]:
        """Read a stream of events: progress, then the result or an error."""
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        with (
            self._translated_errors(),
            self._http.stream("POST", route, content=body, headers=headers) as response,
            _Stages(self.progress) as stages,
        ):
            if not response.headers.get("Content-Type", "").startswith("text/event-stream"):
                response.read()
                return self._check(response)
            for name, data in events(lines(response.iter_text())):
                if name == "progress":
                    stages.update(**data)
                elif name == "result":
                    return data
                elif name == "error":
                    _raise(data.get("status", 500), data, response.headers)
        raise self._broken()

    def _check(self, response: httpx.Response) -> dict[str, Any]:
        try:
            body = response.json()
        except ValueError:
            body = None
        if not isinstance(body, dict) or (response.is_success and "error" in body):
            raise self._unexpected(f"status {response.status_code}")
        if not response.is_success:
            _raise(response.status_code, body, response.headers)
        return body

    def read(self, read: Callable[[dict[str, Any]], Result], body: dict[str, Any]) -> Result:
        """Convert a body; one of another form does not come from an rprs server."""
        try:
            return read(body)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self._unexpected(f"{type(error).__name__} {error}") from error

    def _unexpected(self, detail: str) -> ServiceError:
        return ServiceError(f"{self.url} does not respond like an rprs server ({detail})")

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Connection errors as one line."""
        try:
            yield
        except httpx.ConnectError as error:
            raise ServiceError(f"No server answers at {self.url}: start one with `rprs serve INDEX`") from error
        except httpx.TimeoutException as error:
            raise ServiceError(f"The server at {self.url} was silent for {self.timeout:g} seconds") from error
        except httpx.RequestError as error:
            raise self._broken() from error

    def _broken(self) -> ServiceError:
        return ServiceError(f"The server at {self.url} stopped before its response was complete: try again")


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # an invalid port is a ValueError
        httpx.URL(url).host.encode("idna")
    except (ValueError, httpx.InvalidURL):
        host = None
    if not host or parts.scheme not in ("http", "https") or parts.query or parts.fragment:
        raise UsageError(f"The address of a server must have the form http://127.0.0.1:8017. Got {url!r} instead.")
    return host


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def as_json(value: Mapping[str, Any]) -> bytes:
    """The body of a request."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:  # including UnicodeEncodeError
        raise UsageError(f"A document cannot be sent: {str(error)[:200]}") from error


# ---------------------------------------------------------------------------- errors and events


class _Retry(Exception):
    """The server is busy: try again after some seconds, or give up with the error."""

    def __init__(self, error: RprsError, seconds: float) -> None:
        self.error, self.seconds = error, seconds


def _raise(status: int, body: Mapping[str, Any], headers: Mapping[str, str]) -> NoReturn:
    """Raise the server's error as the same class with the same message."""
    line = str(body.get("error") or f"The server answered with status {status}")
    kind = getattr(errors, str(body.get("kind", "")), None)
    if not (isinstance(kind, type) and issubclass(kind, RprsError)):
        kind = Busy if status == 503 else RprsError
    error = kind.__new__(kind, line)  # some classes take other arguments than their message
    raise _Retry(error, _seconds(headers.get("Retry-After", ""))) if status == 503 else error


def _seconds(text: str) -> float:
    return min(float(text), MAX_DELAY) if text.isdecimal() else 1.0


def lines(pieces: Iterable[str]) -> Iterator[str]:
    """The lines of a stream, separated by line feeds only: a text may contain other line separators."""
    rest = list[str]()
    for piece in pieces:
        first, *others = piece.split("\n")
        rest.append(first)
        for other in others:
            yield "".join(rest).removesuffix("\r")
            rest = [other]


def events(lines: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events of a stream: names and parsed data."""
    name, data = "message", list[str]()
    for line in lines:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if data:
                yield name, json.loads("\n".join(data))
            name, data = "message", []
        elif field == "event":
            name = value
        elif field == "data":
            data.append(value)


class _Stages:
    """Reports the current stage of the server to a `Progress`."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.stack = ExitStack()
        self.stage: tuple[str, int | None] | None = None
        self.done = 0

    def __enter__(self) -> _Stages:
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def update(self, stage: str, done: int, total: int | None, unit: str) -> None:
        if (stage, total) != self.stage or done < self.done:
            self.stack.close()
            self.advance: Advance = self.stack.enter_context(self.progress(stage, total, unit))
            self.stage, self.done = (stage, total), 0
        self.advance(done - self.done)
        self.done = done
