"""Passages over HTTP: the requests and responses, the work, and the routes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import Field
from starlette.exceptions import HTTPException

from rprs.alignment.values import KINDS, Kind, Pair
from rprs.passages.export import PASSAGE_FORMATS, AboutPassages, about_passages, passages_object
from rprs.passages.find import MOST_CHARACTERS, MOST_CONTEXT, MOST_HITS
from rprs.passages.values import PassageResults
from rprs.results.names import passages_name
from rprs.serve.collections import Collections
from rprs.serve.described import Described
from rprs.serve.handlers import File, as_json
from rprs.serve.jobs import Job
from rprs.serve.models import DocumentInput, Id, Strict, Value
from rprs.serve.requests import Submission, body_schema, document_of, read_request
from rprs.serve.responses import XJob, download, errors, success

if TYPE_CHECKING:
    from rprs.serve.routes import JobRunner

__all__ = [
    "MODELS",
    "Passage",
    "PassageHandlers",
    "PassageHit",
    "PassagesExportRequest",
    "PassagesRequest",
    "PassagesResponse",
    "add_passages",
]


class PassagesRequest(Strict):
    """A passage to look for in the whole collection."""

    text: str = Field(
        description=f"The passage; at most {MOST_CHARACTERS:,} characters.", examples=["The tenant withheld the rent."]
    )
    metadata: dict[str, Value] = Field(default_factory=dict, description="Of its document, for a date limit.")
    k: int = Field(10, ge=1, le=MOST_HITS, description="Number of passages.")
    kinds: list[Kind] = Field(list(KINDS), min_length=1, max_length=3, description="The kinds of match to include.")
    context: int = Field(1, ge=0, le=MOST_CONTEXT, description="Number of sentences before and behind each passage.")
    where: str | None = Field(None, max_length=10_000, description="A metadata filter.", examples=["court = ca9"])
    exclude: list[Id] = Field(
        default_factory=list,
        max_length=10_000,
        description="Documents to leave out, such as the one that the passage comes from.",
    )
    before: str | None = Field(
        None,
        min_length=1,
        max_length=1000,
        description="A date limit: a metadata field (nothing newer than the passage), a date, or both.",
        examples=["2015-06-01"],
    )
    undated: Literal["keep", "drop"] = Field(
        "keep", description="What a date limit does with documents without a date."
    )
    boilerplate: bool = Field(True, description="Include what many documents have.")


class PassagesExportRequest(PassagesRequest):
    """A passage to look for, whose matches are exported as a file."""

    format: Literal["csv", "jsonl"]


class PassageHit(Described):
    """A passage of a document, in its context."""

    rank: int
    id: str
    title: str
    metadata: dict[str, Value]
    score: float = Field(description="The similarity, times the share of your passage that has a counterpart here.")
    before: str
    after: str
    sentences: list[int] = Field(min_length=2, max_length=2, description="Numbers of its first and last sentence.")
    of: int = Field(description="The number of sentences of the document.")
    collection: str = Field("", description="Of all collections together: the name of the one that has the document.")
    pair: Pair


class Passage(Described):
    """The passage that was looked for."""

    id: str
    text: str
    metadata: dict[str, Value]


class PassagesResponse(Described):
    """The most similar passages, best first."""

    job: str
    about: AboutPassages
    passage: Passage
    total: int
    compared: int
    notes: list[str]
    seconds: dict[str, float]
    hits: list[PassageHit]


MODELS = (PassagesRequest, PassagesExportRequest, PassagesResponse)  # of the schema


class PassageHandlers:
    """One method for each route."""

    def __init__(self, service: Collections) -> None:
        self.service = service

    def passages(self, job: Job, submission: Submission[PassagesRequest]) -> bytes:
        """Passages as JSON."""
        results, about = self._find(job, submission.request)
        return as_json({"job": job.id, "about": about.object(), **passages_object(results)})

    def export(self, job: Job, submission: Submission[PassagesExportRequest]) -> File:
        """Passages as a file, named for the first words of the passage."""
        results, about = self._find(job, submission.request)
        format = PASSAGE_FORMATS[submission.request.format]
        name = passages_name(results.passage.text, format.suffix)
        return File(name, format.media_type, format.write(results, about).encode(format.encoding))

    def _find(self, job: Job, request: PassagesRequest) -> tuple[PassageResults, AboutPassages]:
        passage = document_of(DocumentInput(text=request.text, id="passage", title="", metadata=request.metadata))
        names = ("where", "exclude", "before", "undated", "kinds", "context", "boilerplate")
        options: dict[str, Any] = {name: getattr(request, name) for name in names}
        with self.service.snapshot() as snapshot:
            searcher = self.service.searcher(snapshot, job.progress)
            results = searcher.passages(passage, request.k, **options)
            about = about_passages(snapshot.index, passage, request.k, **options, fingerprint=snapshot.fingerprint)
        return results, about


def add_passages(
    router: APIRouter, runner: JobRunner, tasks: Mapping[str, Callable[[Job, Submission[Any]], Any]]
) -> None:
    """Add the routes for passages."""
    files = {format.media_type: {"schema": {"type": "string"}} for format in PASSAGE_FORMATS.values()}

    @router.post(
        "/passages",
        responses={**success(PassagesResponse, True), **errors(409, 415, 504)},
        openapi_extra=body_schema(PassagesRequest, files=False),
    )
    async def passages(request: Request, x_job: XJob = None) -> Response:
        """Find the passages of all documents that are most like a text: identical, reworded, or with the same idea."""
        submission = _without_files(await read_request(request, PassagesRequest))
        return await runner.respond(request, x_job, lambda job: tasks["passages"](job, submission))

    @router.post(
        "/passages/export",
        responses={200: {"content": files, "description": "The file."}, **errors(409, 415, 504)},
        openapi_extra=body_schema(PassagesExportRequest, files=False),
        response_class=Response,
    )
    async def export_passages(request: Request, x_job: XJob = None) -> Response:
        """Export passages as a file, with everything needed to find them again."""
        submission = _without_files(await read_request(request, PassagesExportRequest))
        return download(await runner.run(request, x_job, lambda job: tasks["passages/export"](job, submission)))


def _without_files(submission: Submission[Any]) -> Submission[Any]:
    if submission.files:
        raise HTTPException(415, "The body must be application/json: send the passage as text")
    return submission
