"""A server of rprs as if its index were here: the interface of `Searcher`, over HTTP.

with rprs.Client("http://127.0.0.1:8017") as client:
    for hit in client.search(rprs.read_one("brief.pdf"), k=3):
        print(f"{hit.score:.3f}", hit.id, "because", hit.pairs[0].document)

Scores, pairs and spans are the server's bit by bit. What goes wrong there is the same error here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from ipaddress import ip_address
from time import sleep
from typing import Any, NoReturn, TypeVar
from urllib.parse import quote, urlsplit

import httpx
import numpy as np

from rprs import errors
from rprs.document import Document, Query, Ranking, query_documents
from rprs.errors import Busy, NoDocument, RprsError, ServiceError, UsageError
from rprs.index import Added
from rprs.progress import Advance, Progress, silent
from rprs.results.hits import Explanation, Results
from rprs.results.serialize import explanation_from, results_from

__all__ = ["Client"]

Answer = TypeVar("Answer")

ALL = 1_000_000  # hits: more than any first stage hands on
TRIES = 5  # of a request that finds the server busy
PATIENCE = 30.0  # seconds: no longer wait between two of them, whatever the server says
BATCH = 1_000  # documents that are added at once
BATCH_BYTES = 16 * 2**20


class Client:
    """Asks the server at `url`, which `rprs serve` has started, with the token that it wants, if any.

    `timeout` is how many seconds it may be silent. With a `progress`, the server tells how far it is. A server that is
    busy is asked again a few times. Threads may share a client.
    """

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = 300, progress: Progress = silent
    ) -> None:
        self.url = url.rstrip("/")
        self.timeout = timeout
        self.progress = progress
        host = _host(self.url)
        token = None if token is None else token.strip()
        if token is not None and not (token and token.isascii() and token.isprintable()):
            raise UsageError("The token must be one line of ASCII characters")
        self._http = httpx.Client(
            base_url=f"{self.url}/api/v1/",
            headers={} if token is None else {"Authorization": f"Bearer {token}"},
            timeout=timeout,
            trust_env=not _is_loopback(host),  # no proxy stands between a machine and itself
        )

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------------ the interface of Searcher

    def search(
        self, query: Query, k: int = 10, *, where: str | None = None, keep_self: bool = False, pairs: int = 3
    ) -> Results:
        """The k documents most like this one, or like several together, each with its best aligned pairs."""
        return self._read(results_from, self._ask("search", _asked(query, where, keep_self, k=k, pairs=pairs)))

    def rank(self, query: Query, *, where: str | None = None, keep_self: bool = False) -> Ranking:
        """The whole re-ranked list without evidence; its notes are those of a search."""
        found = self._read(results_from, self._ask("search", _asked(query, where, keep_self, k=ALL, pairs=0)))
        names = dict.fromkeys(name for hit in found for name in hit.parts)
        return Ranking(
            ids=tuple(hit.id for hit in found),
            scores=np.array([hit.score for hit in found], dtype=np.float64),
            parts={name: np.array([hit.parts.get(name, np.nan) for hit in found]) for name in names},
            notes=found.notes,
        )

    def explain(self, query: Query, id: str, *, where: str | None = None, keep_self: bool = False) -> Explanation:
        """Every aligned pair between a document and one of the index, in the pool that the same search would have."""
        return self._read(_explained, self._ask("explain", _asked(query, where, keep_self, document=id)))

    # ------------------------------------------------------------------------ the index

    def document(self, id: str) -> Document:
        """A document of the index with its text and metadata."""
        return self._read(_document, self._call("GET", _path(id)))

    def find(self, words: str, limit: int = 20) -> tuple[list[Document], int]:
        """Documents with all these words in their id or title, without their texts; and how many there are in all."""
        found = self._call("GET", "documents", params={"find": words, "limit": limit})
        return self._read(lambda found: ([_document(each) for each in found["documents"]], found["total"]), found)

    def add(self, documents: Iterable[Document]) -> Added:
        """Add documents, a thousand at a time; those of the same ids are replaced."""
        total = Added()
        for batch in _batches(documents):
            found = self._call("POST", "documents", b'{"documents":[' + b",".join(batch) + b"]}")
            counts = self._read(lambda found: [found[name] for name in ("added", "changed", "unchanged")], found)
            total = Added(total.added + counts[0], total.changed + counts[1], total.unchanged + counts[2])
        return total

    def remove(self, id: str) -> int:
        """Remove a document; how many there were of it, which is one."""
        return self._read(lambda found: int(found["removed"]), self._call("DELETE", _path(id)))

    def info(self) -> dict[str, Any]:
        """What the index holds, its fields, and how the server asks it."""
        return self._call("GET", "info")

    def health(self) -> str:
        """`ok`, from a server that is there; it needs no token."""
        return self._read(lambda found: str(found["status"]), self._call("GET", "health"))

    # ------------------------------------------------------------------------ HTTP

    def _ask(self, route: str, request: Mapping[str, Any]) -> dict[str, Any]:
        body = _json(request)
        if self.progress is silent:
            return self._call("POST", route, body)
        return self._patiently(lambda: self._followed(route, body))

    def _call(self, method: str, route: str, body: bytes | None = None, params: Any = None) -> dict[str, Any]:
        headers = {} if body is None else {"Content-Type": "application/json"}

        def once() -> dict[str, Any]:
            with self._reported():
                answer = self._http.request(method, route, content=body, headers=headers, params=params)
            return self._checked(answer)

        return self._patiently(once)

    def _patiently(self, once: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The answer, also of a server that is busy for a while."""
        for left in reversed(range(TRIES)):
            try:
                return once()
            except _Later as later:
                if not left:
                    raise later.error from None
                sleep(later.seconds)
        raise AssertionError("not reached")

    def _followed(self, route: str, body: bytes) -> dict[str, Any]:
        """The answer at the end of a stream of events, with the progress on the way there."""
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        with (
            self._reported(),
            self._http.stream("POST", route, content=body, headers=headers) as answer,
            _Stages(self.progress) as stages,
        ):
            if not answer.headers.get("Content-Type", "").startswith("text/event-stream"):
                answer.read()
                return self._checked(answer)
            for name, data in _events(_lines(answer.iter_text())):
                if name == "progress":
                    stages.tell(**data)
                elif name == "result":
                    return data
                elif name == "error":
                    _raise(data.get("status", 500), data, answer.headers)
        raise self._broken()

    def _checked(self, answer: httpx.Response) -> dict[str, Any]:
        try:
            found = answer.json()
        except ValueError:
            found = None
        if not isinstance(found, dict) or (answer.is_success and "error" in found):
            raise self._stranger(f"status {answer.status_code}")
        if not answer.is_success:
            _raise(answer.status_code, found, answer.headers)
        return found

    def _read(self, read: Callable[[dict[str, Any]], Answer], found: dict[str, Any]) -> Answer:
        """What an answer says; one that says something else is not of a server of rprs."""
        try:
            return read(found)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self._stranger(f"{type(error).__name__} {error}") from error

    def _stranger(self, sign: str) -> ServiceError:
        return ServiceError(f"{self.url} does not answer as a server of rprs ({sign})")

    @contextmanager
    def _reported(self) -> Iterator[None]:
        """Whatever goes wrong on the way there or back, as one line."""
        try:
            yield
        except httpx.ConnectError as error:
            raise ServiceError(f"No server answers at {self.url}: start one with `rprs serve INDEX`") from error
        except httpx.TimeoutException as error:
            raise ServiceError(f"The server at {self.url} was silent for {self.timeout:g} seconds") from error
        except httpx.RequestError as error:
            raise self._broken() from error

    def _broken(self) -> ServiceError:
        return ServiceError(f"The server at {self.url} stopped before its answer was complete: ask again")


# ---------------------------------------------------------------------------- requests


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # a port that is none is a ValueError
        httpx.URL(url).host.encode("idna")
    except (ValueError, httpx.InvalidURL):
        host = None
    if not host or parts.scheme not in ("http", "https") or parts.query or parts.fragment:
        raise UsageError(f"The address of a server is like http://127.0.0.1:8017. Got {url!r} instead.")
    return host


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _asked(query: Query, where: str | None, keep_self: bool, **others: object) -> dict[str, Any]:
    return {
        "documents": [_given(each) for each in query_documents(query)],
        "where": where,
        "keep_self": keep_self,
        **others,
    }


def _given(document: Document) -> dict[str, Any]:
    return {
        "id": document.id,
        "text": document.text,
        "title": document.title,
        "metadata": dict(document.metadata),
    }


def _json(value: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:  # UnicodeEncodeError is one, too
        raise UsageError(f"A document cannot be sent: {str(error)[:200]}") from error


def _batches(documents: Iterable[Document]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for document in documents:
        item = _json(_given(document))
        if batch and (len(batch) >= BATCH or size + len(item) > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += len(item)
    if batch:
        yield batch


def _path(id: str) -> str:
    """The route of a document: dots and slashes of an id must not be steps of a path."""
    if not id:
        raise NoDocument("There is no document without an id")
    try:
        return f"documents/{quote(id, safe='').replace('.', '%2E')}"
    except UnicodeEncodeError as error:
        raise NoDocument(f"There is no document {id!r}: an id is valid Unicode") from error


# ---------------------------------------------------------------------------- answers


def _document(found: Mapping[str, Any]) -> Document:
    return Document(found["id"], found.get("text", ""), found["title"], found["metadata"])


def _explained(found: Mapping[str, Any]) -> Explanation:
    return explanation_from(found["explanation"], _document(found["query"]), _document(found["document"]))


class _Later(Exception):
    """The server is busy: ask again after so many seconds, or give up with the error."""

    def __init__(self, error: RprsError, seconds: float) -> None:
        self.error, self.seconds = error, seconds


def _raise(status: int, found: Mapping[str, Any], headers: Mapping[str, str]) -> NoReturn:
    """The server's error as the same class, with the same line."""
    line = str(found.get("error") or f"The server answered with status {status}")
    kind = getattr(errors, str(found.get("kind", "")), None)
    if not (isinstance(kind, type) and issubclass(kind, RprsError)):
        kind = Busy if status == 503 else RprsError
    error = kind.__new__(kind, line)  # as if unpickled: some are made of other words than their line
    raise _Later(error, _seconds(headers.get("Retry-After", ""))) if status == 503 else error


def _seconds(text: str) -> float:
    return min(float(text), PATIENCE) if text.isdecimal() else 1.0


def _lines(pieces: Iterable[str]) -> Iterator[str]:
    """The lines of a stream, which end with a line feed alone: other marks that end lines may be in a text."""
    rest = list[str]()
    for piece in pieces:
        first, *others = piece.split("\n")
        rest.append(first)
        for other in others:
            yield "".join(rest).removesuffix("\r")
            rest = [other]


def _events(lines: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events of a stream: their names and their JSON."""
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
    """One task of a `Progress` at a time: the stage that the server is in."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.stack = ExitStack()
        self.stage: tuple[str, int | None] | None = None
        self.done = 0

    def __enter__(self) -> _Stages:
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def tell(self, stage: str, done: int, total: int | None, unit: str) -> None:
        if (stage, total) != self.stage or done < self.done:
            self.stack.close()
            self.advance: Advance = self.stack.enter_context(self.progress(stage, total, unit))
            self.stage, self.done = (stage, total), 0
        self.advance(done - self.done)
        self.done = done
