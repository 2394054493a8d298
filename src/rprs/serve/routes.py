"""The routes of the API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from rprs.charts.formats import CHART_FORMATS
from rprs.errors import InvalidIndex, RprsError, UsageError
from rprs.read.source import suffixes
from rprs.results import FORMATS
from rprs.serve import coverage_models, index_models, models
from rprs.serve.adding import Adding
from rprs.serve.collections import Collections
from rprs.serve.errors import failure
from rprs.serve.events import event, stream
from rprs.serve.handlers import File, Handlers, as_json
from rprs.serve.jobs import Job, Jobs, Limiter
from rprs.serve.limits import Limits
from rprs.serve.log import frames
from rprs.serve.matters import add_matters
from rprs.serve.passages import add_passages
from rprs.serve.requests import Submission, body_schema, read_request
from rprs.serve.responses import EVENTS, XJob
from rprs.serve.responses import download as _download
from rprs.serve.responses import errors as _errors
from rprs.serve.responses import success as _success
from rprs.serve.tasks import Tasks, make_tasks
from rprs.serve.workers import Workers

__all__ = ["API", "JobRunner", "make_router"]

API = "/api/v1"
Result = TypeVar("Result")
Body = TypeVar("Body", bound=BaseModel)
_STATUSES = (404, 409, 415, 504)  # of requests with a query


class JobRunner:
    """Runs the work of a request as a job and returns its result."""

    def __init__(self, limiter: Limiter, collections: Collections, log: Callable[[str], None]) -> None:
        self.limiter, self.collections, self.log, self.jobs = limiter, collections, log, Jobs()

    async def respond(
        self, request: Request, name: str | None, work: Callable[[Job], bytes], seconds: float | None = None
    ) -> Response:
        """A response with JSON, or with the events of the job if the client accepts them.

        `seconds` replaces the limit of the server, for work that is expected to take long.
        """
        if EVENTS in request.headers.get("accept", ""):
            self.jobs.check(name)
            self.limiter.check()
            events = self._events(name, work, seconds)
            return StreamingResponse(events, media_type=EVENTS, headers={"Cache-Control": "no-store"})
        return Response(await self.run(request, name, work, seconds), media_type="application/json")

    async def run(
        self, request: Request, name: str | None, work: Callable[[Job], Result], seconds: float | None = None
    ) -> Result:
        """The result of the work, which stops if the client disconnects."""
        with self.jobs.open(name) as job:
            disconnection = asyncio.ensure_future(_stop_on_disconnect(request, job))
            try:
                return await self.limiter.run(job, work, seconds)
            finally:
                disconnection.cancel()

    async def _events(
        self, name: str | None, work: Callable[[Job], bytes], seconds: float | None
    ) -> AsyncIterator[bytes]:
        try:
            with self.jobs.open(name) as job:
                run = partial(self.limiter.run, job, work, seconds)
                async for each in stream(job, run, self._describe, self.limiter.ahead):
                    yield each
        except UsageError as error:  # a job of the same name has started since the check
            yield event("error", as_json(self._describe(error)))

    def _describe(self, error: Exception) -> dict[str, Any]:
        if not isinstance(error, RprsError):
            self.log(frames(error))
        return failure(error, self.collections.paths)


async def _stop_on_disconnect(request: Request, job: Job) -> None:
    """Stop a job when its client disconnects."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    job.end()


def make_router(
    service: Collections,
    limiter: Limiter,
    limits: Limits,
    writable: bool,
    log: Callable[[str], None],
    matters: Path | None = None,
    folders: Sequence[Path] = (),
    workers: Workers | None = None,
) -> APIRouter:
    """Find the documents in this index that are similar to a whole document, and see why.

    Documents are never truncated, and no data leaves this computer.
    """
    router, handlers = APIRouter(prefix=API, tags=["rprs"]), Handlers(service, limits)
    tasks = make_tasks(service, limits)
    tasks = workers.instead(tasks) if workers else tasks
    runner = JobRunner(limiter, service, log)
    adding = Adding(service, limits, folders)
    _add_search(router, runner, tasks)
    _add_export(router, runner, tasks)
    _add_coverage(router, runner, tasks)
    add_passages(router, runner, tasks)
    _add_documents(router, runner, handlers, service, adding)
    _add_collections(router, runner, adding)
    add_matters(router, runner, service, limits, matters)

    @router.get("/info", responses={**_success(index_models.Info), **_errors()})
    def info() -> Response:
        """The index, the system that searches it, and the limits of this server."""
        public_limits = {name: getattr(limits, name) for name in ("upload_bytes", "text_characters", "seconds")}
        with service.snapshot() as snapshot:
            facts = {**snapshot.facts, "settings": service.system_texts}
        facts |= {"writable": writable and service.writable, "matters": matters is not None}
        facts |= {"limits": public_limits, "suffixes": suffixes()}
        facts |= service.summary()
        return Response(as_json(facts), media_type="application/json")

    @router.get("/health", responses={**_success(index_models.Health), **_errors()})
    async def health() -> Response:  # on the event loop, so that no work in threads delays it
        """Check that the server is running."""
        return Response(as_json({"status": "ok"}), media_type="application/json")

    @router.get("/ready", responses={**_success(index_models.Health), **_errors()})
    def ready() -> Response:
        """Check that the index, or each shard of the cluster, can be searched: 503 while it cannot."""
        try:
            with service.snapshot() as snapshot:
                snapshot.check()
                return Response(as_json({"status": "ok"}), media_type="application/json")
        except InvalidIndex as error:
            raise HTTPException(503, failure(error, service.paths)["error"]) from error

    @router.delete("/jobs/{job}", status_code=204, responses=_errors(404))
    def cancel(job: str) -> Response:
        """Cancel a job by its name; its request then returns an error. One that has ended or not begun is accepted."""
        if not runner.jobs.cancel(job):
            raise HTTPException(404, "No job can have this name: it must be 32 to 64 hexadecimal digits")
        return Response(status_code=204)

    return router


def _add_search(router: APIRouter, runner: JobRunner, tasks: Tasks) -> None:
    _add_job(
        router,
        runner,
        ("search", models.SearchRequest, models.SearchResponse, tasks["search"]),
        "Find the documents most similar to a whole document, or to several combined into one query.",
    )
    _add_job(
        router,
        runner,
        ("explain", models.ExplainRequest, models.ExplainResponse, tasks["explain"]),
        "Show why a document in the index is similar to the query: both texts and all matching passages.",
    )

    @router.post(
        "/sentences",
        responses={**_success(models.AlignedText), **_errors(*_STATUSES)},
        openapi_extra=body_schema(models.SearchRequest),
    )
    async def sentences(request: Request, x_job: XJob = None) -> Response:
        """Show the query as one text with the places of its sentences, for the marks of a search."""
        submission = await read_request(request, models.SearchRequest)
        data = await runner.run(request, x_job, lambda job: tasks["sentences"](job, submission))
        return Response(data, media_type="application/json")

    _add_job(
        router,
        runner,
        ("align", models.AlignRequest, models.AlignResponse, tasks["align"]),
        "Show what two documents have in common, without a search; each is a text, or a document in the index.",
        no_files="The body must be application/json: send both documents as texts or ids",
    )


def _add_export(router: APIRouter, runner: JobRunner, tasks: Tasks) -> None:
    _add_download(
        router,
        runner,
        ("export", models.ExportRequest, tasks["export"]),
        [format.media_type for format in FORMATS.values()],
        "Export the hits of a search as a file named for the query, with everything needed to reproduce them.",
    )
    _add_download(
        router,
        runner,
        ("report", models.ReportRequest, tasks["report"]),
        ["text/html"],
        "Export both texts with their matches as one self-contained HTML file.",
    )


def _add_coverage(router: APIRouter, runner: JobRunner, tasks: Tasks) -> None:
    _add_job(
        router,
        runner,
        ("coverage", coverage_models.CoverageRequest, coverage_models.CoverageResponse, tasks["coverage"]),
        "Show which parts of a document the best hits cover, and how, and what none of them covers.",
    )
    _add_download(
        router,
        runner,
        ("coverage/export", coverage_models.CoverageExportRequest, tasks["coverage/export"]),
        [format.media_type for format in CHART_FORMATS.values()],
        "Export the chart of a coverage as a file for Word, as CSV or as JSON, named for the document.",
    )


def _add_job(
    router: APIRouter,
    runner: JobRunner,
    route: tuple[str, type[Body], type[BaseModel], Callable[[Job, Submission[Body]], bytes]],
    description: str,
    *,
    no_files: str = "",
) -> None:
    """A route whose request is read and processed as a job; `no_files` says what to send in place of files."""
    path, model, response, handle = route

    async def respond(request: Request, x_job: XJob = None) -> Response:
        submission = await read_request(request, model)
        if no_files and submission.files:
            raise HTTPException(415, no_files)
        return await runner.respond(request, x_job, lambda job: handle(job, submission))

    router.add_api_route(
        f"/{path}",
        respond,
        methods=["POST"],
        name=path,
        description=description,
        responses={**_success(response, True), **_errors(*_STATUSES)},
        openapi_extra=body_schema(model, files=not no_files),
    )


def _add_download(
    router: APIRouter,
    runner: JobRunner,
    route: tuple[str, type[Body], Callable[[Job, Submission[Body]], File]],
    media_types: Iterable[str],
    description: str,
) -> None:
    """A route that responds with a file."""
    path, model, handle = route

    async def respond(request: Request, x_job: XJob = None) -> Response:
        submission = await read_request(request, model)
        return _download(await runner.run(request, x_job, lambda job: handle(job, submission)))

    kinds = {kind: {"schema": {"type": "object" if kind == "application/json" else "string"}} for kind in media_types}
    router.add_api_route(
        f"/{path}",
        respond,
        methods=["POST"],
        name=path.replace("/", "_"),
        description=description,
        responses={200: {"content": kinds, "description": "The file."}, **_errors(*_STATUSES)},
        openapi_extra=body_schema(model),
        response_class=Response,
    )


def _add_documents(
    router: APIRouter, runner: JobRunner, handlers: Handlers, service: Collections, adding: Adding
) -> None:
    @router.get("/documents", responses={**_success(index_models.Documents), **_errors()})
    async def find(
        request: Request,
        find: Annotated[str, Query(max_length=1000, description="Words of the id or title.")] = "",
        limit: Annotated[int, Query(ge=1, le=1000)] = 20,
    ) -> Response:
        """List documents whose id or title contains the given words."""
        data = await runner.run(request, None, lambda job: handlers.find(job, find, limit))
        return Response(data, media_type="application/json")

    @router.get("/documents/{id:path}", responses={**_success(index_models.Document), **_errors(404)})
    def document(id: str) -> Response:
        """Get a document with its text."""
        with service.snapshot() as snapshot:
            stored = snapshot.index.document(id)
            sentences = len(snapshot.index.sentences(id))
        summary = {"id": stored.id, "title": stored.title, "metadata": dict(stored.metadata)}
        return Response(
            as_json({**summary, "text": stored.text, "sentences": sentences}), media_type="application/json"
        )

    @router.post(
        "/documents",
        responses={**_success(index_models.Added, True), **_errors(404, 409, 415, 504)},
        openapi_extra=body_schema(index_models.AddRequest),
    )
    async def add(request: Request, x_job: XJob = None) -> Response:
        """Add documents; documents with the same ids are replaced."""
        submission = await read_request(request, index_models.AddRequest)
        work = partial(adding.add, submission=submission)
        return await runner.respond(request, x_job, work, adding.limits.index_seconds)

    @router.delete("/documents/{id:path}", responses={**_success(index_models.Removed), **_errors(404, 409, 504)})
    async def remove(request: Request, id: str, x_job: XJob = None) -> Response:
        """Remove a document."""
        data = await runner.run(request, x_job, lambda job: handlers.remove(job, id))
        return Response(data, media_type="application/json")


def _add_collections(router: APIRouter, runner: JobRunner, adding: Adding) -> None:
    @router.get("/collections", responses={**_success(index_models.CollectionList), **_errors()})
    def collections() -> Response:
        """List the collections of this server.

        Every route also exists below `/collections/NAME`, for the collection of that name; without it, a request is for
        the first collection. `/collections/_together` is all of them as one, with exactly the rankings of one index.
        """
        return Response(as_json(adding.overview()), media_type="application/json")

    @router.post(
        "/collections",
        responses={**_success(index_models.Created, True), **_errors(409, 415, 504)},
        openapi_extra=body_schema(index_models.CreateRequest),
    )
    async def create(request: Request, x_job: XJob = None) -> Response:
        """Create a collection from files, from documents, or from a folder that the server may read."""
        submission = await read_request(request, index_models.CreateRequest)
        work = partial(adding.create, submission=submission)
        return await runner.respond(request, x_job, work, adding.limits.index_seconds)
