"""A client for `rprs serve` with the interface of `Searcher`.

with rprs.Client("http://127.0.0.1:8017") as client:
    for hit in client.search(rprs.read_one("brief.pdf"), k=3):
        for pair in hit.pairs[:1]:
            print(f"{hit.score:.3f}", hit.id, "because", pair.document)

Scores, pairs and spans are bit-identical to the server's, and errors are the same as those of the library.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date
from typing import Any, Unpack
from urllib.parse import quote

import numpy as np

from rprs.alignment.values import KINDS, Alignment, Kind
from rprs.charts import SOURCES
from rprs.charts.serialize import chart_from
from rprs.charts.values import Chart
from rprs.document import Document, Query, Ranking, Sentences, combine, query_documents, text_document
from rprs.errors import NoDocument, UsageError
from rprs.index import Added
from rprs.matters import SUFFIX, Matter, matter_from, matter_object
from rprs.passages.export import passages_from
from rprs.passages.values import PassageResults
from rprs.progress import Progress, silent
from rprs.rank.date_limit import Undated
from rprs.rank.restrictions import SearchOptions
from rprs.rank.steering import MarkOptions, as_marks
from rprs.results.hits import Explanation, Results
from rprs.results.serialize import alignment_from, explanation_from, results_from
from rprs.serve.transport import Transport, as_json

__all__ = ["Client"]

ALL = 1_000_000  # hits: more than any first stage returns
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
        self._http = Transport(url, _collection_path(collection), token, timeout, progress)
        self.url, self.timeout, self._token = self._http.url, timeout, token

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
        pairs: int = 3,
        group: bool = True,
        boilerplate: bool = True,
        **options: Unpack[SearchOptions],
    ) -> Results:
        """The k documents most similar to a text, a document, or several combined, with their most telling pairs."""
        evidence = {"k": k, "pairs": pairs, "group": group, "boilerplate": boilerplate}
        request = _request(query, evidence, options)
        return self._http.read(results_from, self._http.run("search", request))

    def rank(
        self,
        query: Query,
        **options: Unpack[SearchOptions],
    ) -> Ranking:
        """The whole ranking without evidence; its notes are those of a search."""
        request = _request(query, {"k": ALL, "pairs": 0, "group": False}, options)
        results = self._http.read(results_from, self._http.run("search", request))
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
        boilerplate: bool = True,
        **options: Unpack[SearchOptions],
    ) -> Explanation:
        """The alignment of a query with a document of the index, and the document's place in the same search."""
        request = _request(query, {"document": id, "boilerplate": boilerplate}, options)
        return self._http.read(_explanation, self._http.run("explain", request))

    def sentences(self, query: Query) -> tuple[Document, Sentences]:
        """The query as one document, and where its sentences are, for the marks of a search."""
        body = self._http.call("POST", "sentences", as_json(_request(query, {}, {})))
        return self._http.read(lambda body: (_document(body), _sentences(body)), body)

    def align(self, query: Query, document: Document | str, *, boilerplate: bool = True) -> Alignment:
        """What a query and a document have in common; the document is an id in the index, or a Document."""
        request = {
            "query": _document_object(combine(query_documents(query))),
            "document": _document_object(document) if isinstance(document, Document) else document,
            "boilerplate": boilerplate,
        }
        return self._http.read(_alignment, self._http.run("align", request))

    def coverage(
        self,
        query: Query,
        ids: Sequence[str] | None = None,
        k: int = SOURCES,
        *,
        group: bool = True,
        boilerplate: bool = True,
        **options: Unpack[SearchOptions],
    ) -> Chart:
        """Which parts of a query are covered by the k best hits, or by the documents with some `ids`, and by none."""
        sources = None if ids is None else list(ids)
        evidence = {"k": k, "group": group, "boilerplate": boilerplate, "sources": sources, "echo": True}
        request = _request(query, evidence, options)
        return self._http.read(_chart, self._http.run("coverage", request))

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
            "before": _day(before),
            "undated": undated,
            "kinds": [kinds] if isinstance(kinds, str) else list(kinds),
            "context": context,
            "boilerplate": boilerplate,
        }
        results = self._http.read(passages_from, self._http.run("passages", request))
        return replace(results, passage=passage)

    # ------------------------------------------------------------------------ the index

    def document(self, id: str) -> Document:
        """A document in the index with its text and metadata."""
        return self._http.read(_document, self._http.call("GET", _path(id)))

    def find(self, words: str, limit: int = 20) -> tuple[list[Document], int]:
        """Documents with all these words in their id or title, without their texts, and the total number of matches."""
        body = self._http.call("GET", "documents", params={"find": words, "limit": limit})
        return self._http.read(lambda body: ([_document(each) for each in body["documents"]], body["total"]), body)

    def add(self, documents: Iterable[Document]) -> Added:
        """Add documents, a thousand at a time; those with the same ids are replaced."""
        return self._add_batches(_batches(documents))

    def _add_batches(self, batches: Iterable[list[bytes]]) -> Added:
        total = Added()
        for batch in batches:
            body = self._http.call("POST", "documents", b'{"documents":[' + b",".join(batch) + b"]}")
            counts = self._http.read(lambda body: [body[name] for name in ("added", "changed", "unchanged")], body)
            total = Added(total.added + counts[0], total.changed + counts[1], total.unchanged + counts[2])
        return total

    def remove(self, id: str) -> int:
        """Remove a document; returns how many were removed, which is one."""
        return self._http.read(lambda body: int(body["removed"]), self._http.call("DELETE", _path(id)))

    def collections(self) -> dict[str, Any]:
        """The collections of the server, and whether they can be searched together."""
        return self._http.call("GET", "collections")

    def create(self, name: str, documents: Iterable[Document], encoder: str | None = None) -> Added:
        """Create a collection of these documents, if the server was started with a folder for collections."""
        batches = _batches(documents)
        head = json.dumps({"name": name, "encoder": encoder})[:-1].encode()
        body = self._http.call("POST", "collections", head + b', "documents":[' + b",".join(next(batches, [])) + b"]}")
        counts = self._http.read(lambda body: [body[key] for key in ("added", "changed", "unchanged")], body)
        with Client(self.url, self._token, collection=name, timeout=self.timeout) as created:
            rest = created._add_batches(batches)
        return Added(counts[0] + rest.added, counts[1] + rest.changed, counts[2] + rest.unchanged)

    # ------------------------------------------------------------------------ matters

    def matters(self) -> list[dict[str, Any]]:
        """The matters in the folder of the server: `file`, `name`, `saved`, `revision`, `searches`, `error`."""
        return self._http.read(lambda body: list(body["matters"]), self._http.call("GET", "matters"))

    def matter(self, file: str) -> Matter:
        """A matter in the folder of the server, by the name of its file."""
        return self._http.read(_matter, self._http.call("GET", _matter_path(file)))

    def save_matter(self, file: str, matter: Matter) -> Matter:
        """Save a matter and return it with its new revision; `MatterConflict` if it was saved elsewhere since."""
        return self._http.read(
            _matter, self._http.call("PUT", _matter_path(file), as_json({"matter": matter_object(matter)}))
        )

    def changes(self, matter: Matter) -> list[tuple[str, ...]]:
        """What has changed in the collection since each search of a matter was saved, one line each."""
        body = self._http.call("POST", "matters/check", as_json({"matter": matter_object(matter)}))
        return self._http.read(lambda body: [tuple(map(str, lines)) for lines in body["changes"]], body)

    def export_matter(self, matter: Matter, format: str = "docx", *, search: int | None = None) -> bytes:
        """The file that `rprs matter export` writes: docx, html, md or csv; of all searches, or of one by its number.

        Each search is run on the collection that it was saved with, or else on that of the client.
        """
        request = {"matter": matter_object(matter), "format": format, "search": search}
        return self._http.download("matters/export", request)

    # ------------------------------------------------------------------------ the server

    def info(self) -> dict[str, Any]:
        """The index, its fields, the system and the limits of the server."""
        return self._http.call("GET", "info")

    def health(self) -> str:
        """`ok` if the server is running; no token is required."""
        return self._http.read(lambda body: str(body["status"]), self._http.call("GET", "health"))


# ---------------------------------------------------------------------------- requests


def _request(query: Query, evidence: Mapping[str, object], options: SearchOptions) -> dict[str, Any]:
    documents = [_document_object(each) for each in query_documents(query)]
    return {"documents": documents, **_restrictions(**options), **evidence}


def _restrictions(
    where: str | None = None,
    keep_self: bool = False,
    exclude: Iterable[str] = (),
    before: str | date | None = None,
    undated: Undated = "keep",
    **marks: Unpack[MarkOptions],
) -> dict[str, object]:
    """The options of a search as a request has them; marks are checked as in a search, so that errors are the same."""
    return {
        "where": where,
        "keep_self": keep_self,
        "exclude": list(exclude),
        "before": _day(before),
        "undated": undated,
        **{name: values for name, values in asdict(as_marks(**marks)).items() if values},
    }


def _day(before: str | date | None) -> str | None:
    return before.isoformat() if isinstance(before, date) else before


def _document_object(document: Document) -> dict[str, Any]:
    return {
        "id": document.id,
        "text": document.text,
        "title": document.title,
        "metadata": dict(document.metadata),
    }


def _collection_path(name: str | None) -> str:
    return "" if name is None else f"collections/{quote(name, safe='')}/"


def _batches(documents: Iterable[Document]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for document in documents:
        item = as_json(_document_object(document))
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
