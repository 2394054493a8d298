"""The routes of the API."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response, StreamingResponse
from starlette.exceptions import HTTPException

from rprs.errors import RprsError, UsageError
from rprs.read.source import suffixes
from rprs.results import FORMATS
from rprs.serve import models
from rprs.serve.errors import failure
from rprs.serve.events import event, stream
from rprs.serve.handlers import Answers, as_json
from rprs.serve.jobs import Gate, Job, Jobs
from rprs.serve.limits import Limits
from rprs.serve.log import frames
from rprs.serve.requests import asked, body_schema
from rprs.serve.service import Service

__all__ = ["API", "Desk", "make_router"]

API = "/api/v1"
EVENTS = "text/event-stream"

XJob = Annotated[
    str | None, Header(description="A name for the job, by which it can be cancelled: 8 to 64 hexadecimal digits.")
]


def _can_fail(*statuses: int) -> dict[int | str, dict[str, Any]]:
    always = (400, 401, 403, 408, 413, 421, 422, 500, 503, 507)
    return {status: {"model": models.Error} for status in sorted({*always, *statuses})}


def _gives(model: type[Any], streams: bool = False) -> dict[int | str, dict[str, Any]]:
    found: dict[int | str, dict[str, Any]] = {200: {"model": model}}
    if streams:
        found[200]["content"] = {EVENTS: {"schema": {"type": "string"}}}
        found[200]["description"] = "The answer; as a stream of events if `Accept` asks for that."
    return found


class Desk:
    """Takes requests that take time to the gate, and their answers back."""

    def __init__(self, gate: Gate, index: Path, say: Callable[[str], None]) -> None:
        self.gate, self.index, self.say, self.jobs = gate, index, say, Jobs()

    async def answer(self, request: Request, name: str | None, work: Callable[[Job], bytes]) -> Response:
        """JSON, or the events of the job if the client wants to see how far it is."""
        if EVENTS in request.headers.get("accept", ""):
            self.jobs.check(name)
            self.gate.check()
            return StreamingResponse(self._events(name, work), media_type=EVENTS, headers={"Cache-Control": "no-store"})
        return Response(await self.data(request, name, work), media_type="application/json")

    async def data(self, request: Request, name: str | None, work: Callable[[Job], bytes]) -> bytes:
        """The answer; a client that goes away stops the work."""
        with self.jobs.opened(name) as job:
            leaving = asyncio.ensure_future(_gone(request, job))
            try:
                return await self.gate.run(job, work)
            finally:
                leaving.cancel()

    async def _events(self, name: str | None, work: Callable[[Job], bytes]) -> AsyncIterator[bytes]:
        try:
            with self.jobs.opened(name) as job:
                async for each in stream(job, lambda: self.gate.run(job, work), self._failed, self.gate.ahead):
                    yield each
        except UsageError as error:  # another of that name has begun since it was looked for
            yield event("error", as_json(self._failed(error)))

    def _failed(self, error: Exception) -> dict[str, Any]:
        if not isinstance(error, RprsError):
            self.say(frames(error))
        return failure(error, self.index)


async def _gone(request: Request, job: Job) -> None:
    """Stop a job when its client has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    job.end()


def make_router(service: Service, gate: Gate, limits: Limits, writable: bool, say: Callable[[str], None]) -> APIRouter:
    """Which documents of this index are like a whole document, and why? Nothing is cut off, and nothing is sent on."""
    router, answers = APIRouter(prefix=API, tags=["rprs"]), Answers(service, limits)
    desk = Desk(gate, service.path, say)
    _add_asking(router, desk, answers)
    _add_taking_away(router, desk, answers)
    _add_documents(router, desk, answers, service)

    @router.get("/info", responses={**_gives(models.Info), **_can_fail()})
    def info() -> Response:
        """What the index holds, how it is asked, and what this server takes."""
        told = {name: getattr(limits, name) for name in ("upload_bytes", "text_characters", "seconds")}
        with service.snapshot() as snapshot:
            found = {**snapshot.facts, "settings": service.system_texts, "writable": writable, "limits": told}
        return Response(as_json({**found, "suffixes": suffixes()}), media_type="application/json")

    @router.get("/health", responses={**_gives(models.Health), **_can_fail()})
    def health() -> Response:
        """That the server is there."""
        return Response(as_json({"status": "ok"}), media_type="application/json")

    @router.delete("/jobs/{job}", status_code=204, responses=_can_fail(404))
    def cancel(job: str) -> Response:
        """Stop a job by its name: the answer of its request is then an error. One that has just ended is no error."""
        if not desk.jobs.cancel(job):
            raise HTTPException(404, "There is no such job: it has long been over, or never was")
        return Response(status_code=204)

    return router


def _add_asking(router: APIRouter, desk: Desk, answers: Answers) -> None:
    @router.post(
        "/search",
        responses={**_gives(models.SearchAnswer, True), **_can_fail(404, 409, 415, 504)},
        openapi_extra=body_schema(models.SearchRequest),
    )
    async def search(request: Request, x_job: XJob = None) -> Response:
        """Find the documents that are most like a whole document, or like several together."""
        found = await asked(request, models.SearchRequest)
        return await desk.answer(request, x_job, lambda job: answers.search(job, found))

    @router.post(
        "/explain",
        responses={**_gives(models.ExplainAnswer, True), **_can_fail(404, 409, 415, 504)},
        openapi_extra=body_schema(models.ExplainRequest),
    )
    async def explain(request: Request, x_job: XJob = None) -> Response:
        """Show why a document of the index is like the query: both texts, and every pair of sentences."""
        found = await asked(request, models.ExplainRequest)
        return await desk.answer(request, x_job, lambda job: answers.explain(job, found))


def _add_taking_away(router: APIRouter, desk: Desk, answers: Answers) -> None:
    kinds = {format.media_type: {"schema": {"type": "string"}} for format in FORMATS.values()}

    @router.post(
        "/export",
        responses={200: {"content": kinds, "description": "The file."}, **_can_fail(404, 409, 415, 504)},
        openapi_extra=body_schema(models.ExportRequest),
        response_class=Response,
    )
    async def export(request: Request, x_job: XJob = None) -> Response:
        """The hits of a search as a file, with what it takes to have them again."""
        found = await asked(request, models.ExportRequest)
        format = FORMATS[found.request.format]
        data = await desk.data(request, x_job, lambda job: answers.export(job, found))
        return _file(data, format.media_type, f"hits{format.suffix}")

    @router.post(
        "/report",
        responses={200: {"content": {"text/html": {"schema": {"type": "string"}}}}, **_can_fail(404, 409, 415, 504)},
        openapi_extra=body_schema(models.ReportRequest),
        response_class=Response,
    )
    async def report(request: Request, x_job: XJob = None) -> Response:
        """Both texts with their matches as one HTML file that can be mailed."""
        found = await asked(request, models.ReportRequest)
        data = await desk.data(request, x_job, lambda job: answers.report(job, found))
        return _file(data, "text/html", f"{found.request.document}.html")


def _file(data: bytes, media_type: str, name: str) -> Response:
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).lstrip(".-") or "rprs"
    header = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name.replace('/', '-'), safe='')}"
    return Response(data, media_type=media_type, headers={"Content-Disposition": header})


def _add_documents(router: APIRouter, desk: Desk, answers: Answers, service: Service) -> None:
    @router.get("/documents", responses={**_gives(models.Documents), **_can_fail()})
    def find(
        find: Annotated[str, Query(max_length=1000, description="Words in the id or the title.")] = "",
        limit: Annotated[int, Query(ge=1, le=1000)] = 20,
    ) -> Response:
        """Documents of the index by the words of their ids and titles."""
        with service.snapshot() as snapshot:
            found, total = snapshot.index.find(find, limit)
        listed = [{"id": each.id, "title": each.title, "metadata": dict(each.metadata)} for each in found]
        return Response(as_json({"documents": listed, "total": total}), media_type="application/json")

    @router.get("/documents/{id:path}", responses={**_gives(models.Document), **_can_fail(404)})
    def document(id: str) -> Response:
        """A document of the index."""
        with service.snapshot() as snapshot:
            found = snapshot.index.document(id)
            sentences = len(snapshot.index.sentences(id))
        told = {"id": found.id, "title": found.title, "metadata": dict(found.metadata)}
        return Response(as_json({**told, "text": found.text, "sentences": sentences}), media_type="application/json")

    @router.post(
        "/documents",
        responses={**_gives(models.Added), **_can_fail(409, 415, 504)},
        openapi_extra=body_schema(models.AddRequest),
    )
    async def add(request: Request, x_job: XJob = None) -> Response:
        """Add documents, or put them in the place of those with the same ids."""
        found = await asked(request, models.AddRequest)
        data = await desk.data(request, x_job, lambda job: answers.add(job, found))
        return Response(data, media_type="application/json")

    @router.delete("/documents/{id:path}", responses={**_gives(models.Removed), **_can_fail(404, 409, 504)})
    async def remove(request: Request, id: str, x_job: XJob = None) -> Response:
        """Remove a document."""
        data = await desk.data(request, x_job, lambda job: answers.remove(job, id))
        return Response(data, media_type="application/json")
