"""The answers of the routes that take time, as bytes: made in a thread, stopped through their job."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rprs.document import Document, Sentences, combine
from rprs.errors import ReadError
from rprs.results import FORMATS
from rprs.results.hits import Explanation, Results
from rprs.results.report import report
from rprs.results.serialize import About, explanation_object, results_object
from rprs.search import Searcher
from rprs.serve.jobs import Job
from rprs.serve.limits import Limits
from rprs.serve.models import AddRequest, ExplainRequest, ExportRequest, ReportRequest, SearchRequest
from rprs.serve.requests import Asked, document_of, seeds_object, seeds_of
from rprs.serve.service import Service, Snapshot
from rprs.serve.uploads import read_uploads

__all__ = ["Answers", "as_json"]


def as_json(value: Mapping[str, Any]) -> bytes:
    """JSON as the command line prints it."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


@dataclass(frozen=True, slots=True)
class _Question:
    """A request with its documents read, on one snapshot of the index."""

    request: SearchRequest
    seeds: list[Document]
    query: Document
    searcher: Searcher
    fingerprint: str

    @property
    def about(self) -> About:
        """What the answer will depend on."""
        return self.searcher.about(
            self.query,
            self.request.k,
            where=self.request.where,
            keep_self=self.request.keep_self,
            fingerprint=self.fingerprint,
        )

    def results(self) -> Results:
        """The hits, cut as the settings say."""
        asked = self.request
        found = self.searcher.search(
            self.seeds, asked.k, where=asked.where, keep_self=asked.keep_self, pairs=asked.pairs
        )
        return replace(found, notes=(*found.notes, *self._left_out()))

    def _left_out(self) -> list[str]:
        """A line for a document that only shares the id of the query: it may be another text of that name."""
        left = [] if self.request.keep_self else self.searcher.index.namesakes(self.seeds)
        return [f"{id!r} of the index is left out, having the id of the query" for id in left]

    def explanation(self, id: str) -> Explanation:
        """Why one document."""
        return self.searcher.explain(self.seeds, id, where=self.request.where, keep_self=self.request.keep_self)


class Answers:
    """What the server does for a request."""

    def __init__(self, service: Service, limits: Limits) -> None:
        self.service, self.limits = service, limits

    def _question(self, job: Job, snapshot: Snapshot, found: Asked[Any]) -> _Question:
        searcher = self.service.searcher(snapshot, job.progress)
        seeds = seeds_of(job, snapshot.index, found, self.limits)
        return _Question(found.request, seeds, combine(seeds), searcher, snapshot.fingerprint)

    def search(self, job: Job, found: Asked[SearchRequest]) -> bytes:
        """The hits as JSON."""
        with self.service.snapshot() as snapshot:
            question = self._question(job, snapshot, found)
            query = question.query
            results = question.results()
            told = {
                "id": query.id,
                "title": query.title,
                "text": query.text if found.request.echo else None,
                "hash": query.content_hash,
                "seeds": seeds_object(question.seeds, snapshot.index),
            }
            head = {"job": job.id, "about": question.about.object(), "query": told}
            return as_json({**head, **results_object(results, query.id)})

    def explain(self, job: Job, found: Asked[ExplainRequest]) -> bytes:
        """Both texts and every pair as JSON."""
        with self.service.snapshot() as snapshot:
            question, id = self._question(job, snapshot, found), found.request.document
            explanation = question.explanation(id)
            query, document = snapshot.index.query_sentences(question.query), snapshot.index.sentences(id)
            seeds = seeds_object(question.seeds, snapshot.index)
            return as_json(
                {
                    "job": job.id,
                    "about": question.about.object(),
                    "explanation": explanation_object(explanation, len(document)),
                    "query": _side(question.query, query, seeds),
                    "document": _side(explanation.document, document, []),
                }
            )

    def export(self, job: Job, found: Asked[ExportRequest]) -> bytes:
        """The hits as a file."""
        with self.service.snapshot() as snapshot:
            question = self._question(job, snapshot, found)
            left_out = set(found.request.without)
            hits = [hit for hit in question.results() if hit.id not in left_out]
            format = FORMATS[found.request.format]
            return format.write(hits, question.about).encode(format.encoding)

    def report(self, job: Job, found: Asked[ReportRequest]) -> bytes:
        """An aligned view as a page to mail."""
        with self.service.snapshot() as snapshot:
            question, id = self._question(job, snapshot, found), found.request.document
            explanation = question.explanation(id)
            query, document = snapshot.index.query_sentences(question.query), snapshot.index.sentences(id)
            return report(explanation, query, document, question.about, found.request.min_similarity).encode()

    def add(self, job: Job, found: Asked[AddRequest]) -> bytes:
        """Documents put into the index."""
        skipped: list[str] = []
        documents: list[Document] = []
        for file in found.files:
            read, left_out = read_uploads(file.file, file.filename or "", self.limits, job.stop)
            documents += read
            skipped += left_out
        documents += [document_of(given) for given in found.request.documents]
        skipped += [f"{document.id}: no text in it" for document in documents if not document.text.strip()]
        documents = [document for document in documents if document.text.strip()]
        if not documents:
            more = f" (and {len(skipped) - 1:,} more like it)" if len(skipped) > 1 else ""
            raise ReadError(f"{skipped[0]}{more}" if skipped else "There is nothing to add: give documents or files")
        added = self.service.add(documents, job.progress)
        counts = {"added": added.added, "changed": added.changed, "unchanged": added.unchanged}
        return as_json({**counts, "skipped": skipped, "fingerprint": self._fingerprint()})

    def remove(self, job: Job, id: str) -> bytes:
        """A document taken out of the index."""
        return as_json({"removed": self.service.remove(id, job.check), "fingerprint": self._fingerprint()})

    def _fingerprint(self) -> str:
        with self.service.snapshot() as snapshot:
            return snapshot.fingerprint


def _side(document: Document, sentences: Sentences, seeds: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": document.id,
        "title": document.title,
        "metadata": dict(document.metadata),
        "text": document.text,
        "spans": sentences.spans.tolist(),
        "paragraphs": sentences.paragraphs.tolist(),
        "seeds": seeds,
    }
