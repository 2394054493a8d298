"""The work behind the routes: each handler returns the response body as bytes, in a thread, and can be cancelled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rprs.aligning import align
from rprs.document import Document, Sentences, combine
from rprs.results import FORMATS
from rprs.results.hits import Explanation, Results
from rprs.results.names import hits_name, report_name
from rprs.results.report import explanation_report
from rprs.results.serialize import About, alignment_object, explanation_object, results_object
from rprs.search import Searcher
from rprs.serve.collections import Collections
from rprs.serve.jobs import Job
from rprs.serve.limits import Limits
from rprs.serve.models import AlignRequest, ExplainRequest, ExportRequest, ReportRequest, SearchRequest
from rprs.serve.requests import Submission, aligned_document, query_documents, seeds_object
from rprs.serve.service import Snapshot

__all__ = ["File", "Handlers", "Search", "as_json"]


def as_json(value: Mapping[str, Any]) -> bytes:
    """JSON as the command line prints it."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


@dataclass(frozen=True, slots=True)
class File:
    """A file to be downloaded."""

    name: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Search:
    """A search request with its query documents, on one snapshot of the index."""

    request: SearchRequest
    seeds: list[Document]
    query: Document
    searcher: Searcher
    fingerprint: str
    notes: tuple[str, ...] = ()  # on how the files of the query were read

    @property
    def about(self) -> About:
        """Everything needed to reproduce the result."""
        options = {**self.filters, "group": self.request.group, "boilerplate": self.request.boilerplate}
        return self.searcher.about(self.seeds, self.request.k, **options, fingerprint=self.fingerprint)

    @property
    def query_object(self) -> dict[str, Any]:
        """The query as it was run."""
        return {
            "id": self.query.id,
            "title": self.query.title,
            "text": self.query.text if self.request.echo else None,
            "hash": self.query.content_hash,
            "seeds": seeds_object(self.seeds, self.searcher.index),
        }

    def results(self) -> Results:
        """The hits within the cut-off of the system."""
        request = self.request
        evidence: dict[str, Any] = {name: getattr(request, name) for name in ("pairs", "group", "boilerplate")}
        results = self.searcher.search(self.seeds, request.k, **self.filters, **evidence)
        return replace(results, notes=(*self.notes, *results.notes, *self._same_ids()))

    def _same_ids(self) -> list[str]:
        """A line for each document that is left out only because of its id: its text may be a different one."""
        ids = [] if self.request.keep_self else self.searcher.index.namesakes(self.seeds)
        return [f"{id!r} in the index is left out because it has the same id as the query" for id in ids]

    def explanation(self, id: str) -> Explanation:
        """The evidence for one document."""
        return self.searcher.explain(self.seeds, id, **self.filters, boilerplate=self.request.boilerplate)

    @property
    def filters(self) -> dict[str, Any]:
        """What restricts the hits."""
        request = self.request
        names = ("where", "keep_self", "exclude", "before", "undated", "like", "unlike", "key", "ignore")
        return {name: getattr(request, name) for name in names}


class Handlers:
    """One method for each route that takes time."""

    def __init__(self, service: Collections, limits: Limits) -> None:
        self.service, self.limits = service, limits

    def opened(self, job: Job, snapshot: Snapshot, submission: Submission[Any]) -> Search:
        """The search of a request, with its query documents read."""
        searcher = self.service.searcher(snapshot, job.progress)
        seeds, notes = query_documents(job, snapshot.index, submission, self.limits)
        return Search(submission.request, seeds, combine(seeds), searcher, snapshot.fingerprint, tuple(notes))

    def search(self, job: Job, submission: Submission[SearchRequest]) -> bytes:
        """Hits as JSON."""
        with self.service.snapshot() as snapshot:
            search = self.opened(job, snapshot, submission)
            results = search.results()
            head = {"job": job.id, "about": search.about.object(), "query": search.query_object}
            return as_json({**head, **results_object(results, search.query.id)})

    def explain(self, job: Job, submission: Submission[ExplainRequest]) -> bytes:
        """Both texts and all aligned pairs as JSON."""
        with self.service.snapshot() as snapshot:
            search, id = self.opened(job, snapshot, submission), submission.request.document
            explanation = search.explanation(id)
            alignment = explanation.alignment
            seeds = seeds_object(search.seeds, snapshot.index)
            return as_json(
                {
                    "job": job.id,
                    "about": search.about.object(),
                    "explanation": explanation_object(explanation),
                    "query": _aligned_text(alignment.query, alignment.query_sentences, seeds),
                    "document": _aligned_text(alignment.document, alignment.document_sentences, []),
                }
            )

    def sentences(self, job: Job, submission: Submission[SearchRequest]) -> bytes:
        """The query as one text with its sentences, as JSON."""
        with self.service.snapshot() as snapshot:
            seeds, _ = query_documents(job, snapshot.index, submission, self.limits)
            query = combine(seeds)
            sentences = snapshot.index.splitter.split(query.text)
            return as_json(_aligned_text(query, sentences, seeds_object(seeds, snapshot.index)))

    def align(self, job: Job, submission: Submission[AlignRequest]) -> bytes:
        """What two documents have in common as JSON, with both texts."""
        request = submission.request
        with self.service.snapshot() as snapshot:
            index = snapshot.index
            query, document = (aligned_document(index, each, self.limits) for each in (request.query, request.document))
            alignment = align(query, document, index=index, boilerplate=request.boilerplate)
            return as_json(
                {
                    "job": job.id,
                    "alignment": alignment_object(alignment),
                    "query": _aligned_text(query, alignment.query_sentences, seeds_object([query], index)),
                    "document": _aligned_text(document, alignment.document_sentences, []),
                }
            )

    def export(self, job: Job, submission: Submission[ExportRequest]) -> File:
        """Hits as a file, named for the query."""
        with self.service.snapshot() as snapshot:
            search = self.opened(job, snapshot, submission)
            if submission.request.format == "trec":  # a run ranks documents, not groups
                search = replace(search, request=submission.request.model_copy(update={"group": False}))
            omitted = set(submission.request.without)
            hits = [hit for hit in search.results() if hit.id not in omitted]
            format = FORMATS[submission.request.format]
            data = format.write(hits, search.about).encode(format.encoding)
            return File(hits_name(search.query, format.suffix), format.media_type, data)

    def report(self, job: Job, submission: Submission[ReportRequest]) -> File:
        """The side-by-side view as one HTML file, named for both documents."""
        with self.service.snapshot() as snapshot:
            search, id = self.opened(job, snapshot, submission), submission.request.document
            explanation = search.explanation(id)
            html = explanation_report(explanation, search.about, submission.request.kinds)
            return File(report_name(search.query, explanation.document), "text/html", html.encode())

    def find(self, job: Job, words: str, limit: int) -> bytes:
        """Documents by words of their ids and titles."""
        job.check()
        with self.service.snapshot() as snapshot:
            documents, total = snapshot.index.find(words, limit)
        listed = [{"id": each.id, "title": each.title, "metadata": dict(each.metadata)} for each in documents]
        return as_json({"documents": listed, "total": total})

    def remove(self, job: Job, id: str) -> bytes:
        """Remove a document from the index."""
        return as_json({"removed": self.service.remove(id, job.check), "fingerprint": self._fingerprint()})

    def _fingerprint(self) -> str:
        with self.service.snapshot() as snapshot:
            return snapshot.fingerprint


def _aligned_text(document: Document, sentences: Sentences, seeds: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": document.id,
        "title": document.title,
        "metadata": dict(document.metadata),
        "text": document.text,
        "spans": sentences.spans.tolist(),
        "paragraphs": sentences.paragraphs.tolist(),
        "seeds": seeds,
    }
