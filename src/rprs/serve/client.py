"""A client for `rprs serve` with the interface of `Searcher`.

with rprs.Client("http://127.0.0.1:8017") as client:
    for hit in client.search(rprs.read_one("brief.pdf"), k=3):
        for pair in hit.pairs[:1]:
            print(f"{hit.score:.3f}", hit.id, "because", pair.document)

Scores, pairs and spans are bit-identical to the server's, and errors are the same as those of the library.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from datetime import date
from ipaddress import ip_address
from time import sleep
from typing import Any, NoReturn, TypeVar, Unpack
from urllib.parse import quote, urlsplit

import httpx
import numpy as np

from rprs import errors
from rprs.alignment.values import KINDS, Alignment, Kind
from rprs.charts.build import SOURCES
from rprs.charts.serialize import chart_from
from rprs.charts.values import Chart
from rprs.document import Document, Query, Ranking, Sentences, combine, query_documents, text_document
from rprs.errors import Busy, NoDocument, RprsError, ServiceError, UsageError
from rprs.index import Added
from rprs.matters import SUFFIX, Matter, matter_from, matter_object
from rprs.passages.export import passages_from
from rprs.passages.values import PassageResults
from rprs.progress import Advance, Progress, silent
from rprs.rank.date_limit import Undated
from rprs.rank.steering import MarkOptions, as_marks
from rprs.results.hits import Explanation, Results
from rprs.results.serialize import alignment_from, explanation_from, results_from

__all__ = ["Client"]

Result = TypeVar("Result")

ALL = 1_000_000  # hits: more than any first stage returns
TRIES = 5  # of a request while the server is busy
MAX_DELAY = 30.0  # seconds between two of them, whatever the server asks for
BATCH = 1_000  # documents added per request
BATCH_BYTES = 16 * 2**20


class Client:
    """Searches the index behind a server at `url`, with its token if it requires one.

    Of several, it is the first, or the `collection` of a name; `collection="_together"` is all of them as one.
    `timeout` is how many seconds the server may be silent. With a `progress`, the server reports its own. A request to
    a busy server is repeated a few times. Threads may share a client.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        collection: str | None = None,
        timeout: float = 300,
        progress: Progress = silent,
    ) -> None:
        if not isinstance(url, str):
            raise UsageError(f"The address of a server must have the form http://HOST:PORT. Got {url!r:.80}")
        self.url = url.rstrip("/")
        self.timeout, self._token = timeout, token
        self.progress = progress
        host = _host(self.url)
        token = None if token is None else token.strip()
        if token is not None and not (token and token.isascii() and token.isprintable()):
            raise UsageError("The token must be one line of ASCII characters")
        self._http = httpx.Client(
            base_url=f"{self.url}/api/v1/{_collection_path(collection)}",
            headers={} if token is None else {"Authorization": f"Bearer {token}"},
            timeout=timeout,
            trust_env=not _is_loopback(host),  # loopback connections never use a proxy
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------------ the interface of Searcher

    def search(
        self,
        query: Query,
        k: int = 10,
        *,
        where: str | None = None,
        keep_self: bool = False,
        exclude: Iterable[str] = (),
        before: str | date | None = None,
        undated: Undated = "keep",
        pairs: int = 3,
        group: bool = True,
        boilerplate: bool = True,
        **marks: Unpack[MarkOptions],
    ) -> Results:
        """The k documents most similar to a text, a document, or several combined, with their most telling pairs."""
        evidence: dict[str, object] = {"pairs": pairs, "group": group, "boilerplate": boilerplate, **_marks(marks)}
        request = _request(query, where, keep_self, exclude, before, undated, k=k, **evidence)
        return self._read(results_from, self._run("search", request))

    def rank(
        self,
        query: Query,
        *,
        where: str | None = None,
        keep_self: bool = False,
        exclude: Iterable[str] = (),
        before: str | date | None = None,
        undated: Undated = "keep",
        **marks: Unpack[MarkOptions],
    ) -> Ranking:
        """The whole ranking without evidence; its notes are those of a search."""
        options: dict[str, object] = {"k": ALL, "pairs": 0, "group": False, **_marks(marks)}
        request = _request(query, where, keep_self, exclude, before, undated, **options)
        results = self._read(results_from, self._run("search", request))
        names = dict.fromkeys(name for hit in results for name in hit.parts)
        return Ranking(
            ids=tuple(hit.id for hit in results),
            scores=np.array([hit.score for hit in results], dtype=np.float64),
            parts={name: np.array([hit.parts.get(name, np.nan) for hit in results]) for name in names},
            notes=results.notes,
        )

    def explain(
        self,
        query: Query,
        id: str,
        *,
        where: str | None = None,
        keep_self: bool = False,
        exclude: Iterable[str] = (),
        before: str | date | None = None,
        undated: Undated = "keep",
        boilerplate: bool = True,
        **marks: Unpack[MarkOptions],
    ) -> Explanation:
        """The alignment of a query with a document of the index, and the document's place in the same search."""
        options: dict[str, object] = {"document": id, "boilerplate": boilerplate, **_marks(marks)}
        request = _request(query, where, keep_self, exclude, before, undated, **options)
        return self._read(_explanation, self._run("explain", request))

    def sentences(self, query: Query) -> tuple[Document, Sentences]:
        """The query as one document, and where its sentences are, for the marks of a search."""
        body = self._call("POST", "sentences", _json(_request(query, None, False, (), None, "keep")))
        return self._read(lambda body: (_document(body), _sentences(body)), body)

    def align(self, query: Query, document: Document | str, *, boilerplate: bool = True) -> Alignment:
        """What a query and a document have in common; the document is an id in the index, or a Document."""
        request = {
            "query": _document_object(combine(query_documents(query))),
            "document": _document_object(document) if isinstance(document, Document) else document,
            "boilerplate": boilerplate,
        }
        return self._read(_alignment, self._run("align", request))

    def coverage(
        self,
        query: Query,
        ids: Sequence[str] | None = None,
        k: int = SOURCES,
        *,
        where: str | None = None,
        keep_self: bool = False,
        exclude: Iterable[str] = (),
        before: str | date | None = None,
        undated: Undated = "keep",
        group: bool = True,
        boilerplate: bool = True,
        **marks: Unpack[MarkOptions],
    ) -> Chart:
        """Which parts of a query are covered by the k best hits, or by the documents with some `ids`, and by none."""
        sources = None if ids is None else list(ids)
        evidence: dict[str, object] = {"group": group, "boilerplate": boilerplate, "sources": sources, "echo": True}
        request = _request(query, where, keep_self, exclude, before, undated, k=k, **evidence, **_marks(marks))
        return self._read(_chart, self._run("coverage", request))

    def passages(
        self,
        text: str | Document,
        k: int = 10,
        *,
        where: str | None = None,
        exclude: Iterable[str] = (),
        before: str | date | None = None,
        undated: Undated = "keep",
        kinds: Sequence[Kind] = KINDS,
        context: int = 1,
        boilerplate: bool = True,
    ) -> PassageResults:
        """The k passages of all documents that are most like a passage, each with its context."""
        passage = text_document(text) if isinstance(text, str) else text
        request = {
            "text": passage.text,
            "metadata": dict(passage.metadata),
            "k": k,
            "where": where,
            "exclude": list(exclude),
            "before": before.isoformat() if isinstance(before, date) else before,
            "undated": undated,
            "kinds": [kinds] if isinstance(kinds, str) else list(kinds),
            "context": context,
            "boilerplate": boilerplate,
        }
        results = self._read(passages_from, self._run("passages", request))
        return replace(results, passage=passage)

    # ------------------------------------------------------------------------ the index

    def document(self, id: str) -> Document:
        """A document in the index with its text and metadata."""
        return self._read(_document, self._call("GET", _path(id)))

    def find(self, words: str, limit: int = 20) -> tuple[list[Document], int]:
        """Documents with all these words in their id or title, without their texts, and the total number of matches."""
        body = self._call("GET", "documents", params={"find": words, "limit": limit})
        return self._read(lambda body: ([_document(each) for each in body["documents"]], body["total"]), body)

    def add(self, documents: Iterable[Document]) -> Added:
        """Add documents, a thousand at a time; those with the same ids are replaced."""
        return self._add_batches(_batches(documents))

    def _add_batches(self, batches: Iterable[list[bytes]]) -> Added:
        total = Added()
        for batch in batches:
            body = self._call("POST", "documents", b'{"documents":[' + b",".join(batch) + b"]}")
            counts = self._read(lambda body: [body[name] for name in ("added", "changed", "unchanged")], body)
            total = Added(total.added + counts[0], total.changed + counts[1], total.unchanged + counts[2])
        return total

    def remove(self, id: str) -> int:
        """Remove a document; returns how many were removed, which is one."""
        return self._read(lambda body: int(body["removed"]), self._call("DELETE", _path(id)))

    def collections(self) -> dict[str, Any]:
        """The collections of the server, and whether they can be searched together."""
        return self._call("GET", "collections")

    def create(self, name: str, documents: Iterable[Document], encoder: str | None = None) -> Added:
        """Create a collection of these documents, if the server was started with a folder for collections."""
        batches = _batches(documents)
        head = json.dumps({"name": name, "encoder": encoder})[:-1].encode()
        body = self._call("POST", "collections", head + b', "documents":[' + b",".join(next(batches, [])) + b"]}")
        counts = self._read(lambda body: [body[key] for key in ("added", "changed", "unchanged")], body)
        with Client(self.url, self._token, collection=name, timeout=self.timeout) as created:
            rest = created._add_batches(batches)
        return Added(counts[0] + rest.added, counts[1] + rest.changed, counts[2] + rest.unchanged)

    # ------------------------------------------------------------------------ matters

    def matters(self) -> list[dict[str, Any]]:
        """The matters in the folder of the server: `file`, `name`, `saved`, `revision`, `searches`, `error`."""
        return self._read(lambda body: list(body["matters"]), self._call("GET", "matters"))

    def matter(self, file: str) -> Matter:
        """A matter in the folder of the server, by the name of its file."""
        return self._read(_matter, self._call("GET", _matter_path(file)))

    def save_matter(self, file: str, matter: Matter) -> Matter:
        """Save a matter and return it with its new revision; `MatterConflict` if it was saved elsewhere since."""
        return self._read(_matter, self._call("PUT", _matter_path(file), _json({"matter": matter_object(matter)})))

    def changes(self, matter: Matter) -> list[tuple[str, ...]]:
        """What has changed in the collection since each search of a matter was saved, one line each."""
        body = self._call("POST", "matters/check", _json({"matter": matter_object(matter)}))
        return self._read(lambda body: [tuple(map(str, lines)) for lines in body["changes"]], body)

    # ------------------------------------------------------------------------ the server

    def info(self) -> dict[str, Any]:
        """The index, its fields, the system and the limits of the server."""
        return self._call("GET", "info")

    def health(self) -> str:
        """`ok` if the server is running; no token is required."""
        return self._read(lambda body: str(body["status"]), self._call("GET", "health"))

    # ------------------------------------------------------------------------ HTTP

    def _run(self, route: str, request: Mapping[str, Any]) -> dict[str, Any]:
        body = _json(request)
        if self.progress is silent:
            return self._call("POST", route, body)
        return self._with_retries(lambda: self._follow(route, body))

    def _call(self, method: str, route: str, body: bytes | None = None, params: Any = None) -> dict[str, Any]:
        headers = {} if body is None else {"Content-Type": "application/json"}

        def once() -> dict[str, Any]:
            with self._translated_errors():
                response = self._http.request(method, route, content=body, headers=headers, params=params)
            return self._check(response)

        return self._with_retries(once)

    def _with_retries(self, once: Callable[[], dict[str, Any]]) -> dict[str, Any]:
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
            for name, data in _events(_lines(response.iter_text())):
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

    def _read(self, read: Callable[[dict[str, Any]], Result], body: dict[str, Any]) -> Result:
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


# ---------------------------------------------------------------------------- requests


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


def _request(
    query: Query,
    where: str | None,
    keep_self: bool,
    exclude: Iterable[str],
    before: str | date | None,
    undated: Undated,
    **options: object,
) -> dict[str, Any]:
    return {
        "documents": [_document_object(each) for each in query_documents(query)],
        "where": where,
        "keep_self": keep_self,
        "exclude": list(exclude),
        "before": before.isoformat() if isinstance(before, date) else before,
        "undated": undated,
        **options,
    }


def _marks(marks: MarkOptions) -> dict[str, object]:
    """Checked as in a search, so that errors are the same."""
    return {name: values for name, values in asdict(as_marks(**marks)).items() if values}


def _document_object(document: Document) -> dict[str, Any]:
    return {
        "id": document.id,
        "text": document.text,
        "title": document.title,
        "metadata": dict(document.metadata),
    }


def _json(value: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:  # including UnicodeEncodeError
        raise UsageError(f"A document cannot be sent: {str(error)[:200]}") from error


def _collection_path(name: str | None) -> str:
    return "" if name is None else f"collections/{quote(name, safe='')}/"


def _batches(documents: Iterable[Document]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for document in documents:
        item = _json(_document_object(document))
        if batch and (len(batch) >= BATCH or size + len(item) > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += len(item)
    if batch:
        yield batch


def _path(id: str) -> str:
    """The route of a document, with the dots and slashes of its id escaped."""
    if not id:
        raise NoDocument("There is no document without an id")
    try:
        return f"documents/{quote(id, safe='').replace('.', '%2E')}"
    except UnicodeEncodeError as error:
        raise NoDocument(f"There is no document {id!r}: an id must be valid Unicode") from error


def _matter_path(file: str) -> str:
    if not str(file).endswith(SUFFIX):
        raise UsageError(f"The name of a matter is a file name that ends in {SUFFIX}. Got {file!r:.80}")
    return f"matters/{quote(file, safe='')}"


# ---------------------------------------------------------------------------- responses


def _matter(body: Mapping[str, Any]) -> Matter:
    return matter_from(json.dumps(body["matter"]))


def _document(body: Mapping[str, Any]) -> Document:
    return Document(body["id"], body.get("text", ""), body["title"], body["metadata"])


def _explanation(body: Mapping[str, Any]) -> Explanation:
    query, document = body["query"], body["document"]
    sentences = _sentences(query), _sentences(document)
    return explanation_from(body["explanation"], _document(query), _document(document), sentences)


def _alignment(body: Mapping[str, Any]) -> Alignment:
    query, document = body["query"], body["document"]
    sentences = _sentences(query), _sentences(document)
    return alignment_from(body["alignment"], _document(query), _document(document), sentences)


def _chart(body: Mapping[str, Any]) -> Chart:
    query = body["query"]
    return chart_from(body["chart"], Document(query["id"], query["text"], query["title"]))


def _sentences(body: Mapping[str, Any]) -> Sentences:
    spans, paragraphs = body["spans"], body["paragraphs"]
    return Sentences(np.array(spans, dtype=np.int64).reshape(-1, 2), np.array(paragraphs, dtype=np.int32))


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


def _lines(pieces: Iterable[str]) -> Iterator[str]:
    """The lines of a stream, separated by line feeds only: a text may contain other line separators."""
    rest = list[str]()
    for piece in pieces:
        first, *others = piece.split("\n")
        rest.append(first)
        for other in others:
            yield "".join(rest).removesuffix("\r")
            rest = [other]


def _events(lines: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
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
