"""Matters over HTTP: checked against the index, and kept in a folder if the server has one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from rprs.errors import InvalidIndex, InvalidMatter, UsageError
from rprs.matters import (
    MATTER_FORMATS,
    SUFFIX,
    Matter,
    MatterReport,
    Search,
    Section,
    changes,
    matter_from,
    matter_object,
    read_matter,
    report_search,
    save_matter,
)
from rprs.results.names import matter_name
from rprs.serve.collections import Collections
from rprs.serve.described import Described
from rprs.serve.handlers import File, as_json
from rprs.serve.jobs import Job
from rprs.serve.limits import Limits
from rprs.serve.requests import Submission, body_schema, check_length, read_request
from rprs.serve.responses import XJob, download, errors, success

if TYPE_CHECKING:
    from rprs.serve.routes import JobRunner

__all__ = [
    "MODELS",
    "MatterExportRequest",
    "MatterRequest",
    "MatterResponse",
    "MatterSummary",
    "Matters",
    "add_matters",
]

_NAME = re.compile(rf"[^./\\\x00-\x1f][^/\\\x00-\x1f]{{0,150}}{re.escape(SUFFIX)}")


class MatterRequest(BaseModel):
    """A matter, in the format of its file."""

    model_config = ConfigDict(extra="forbid")

    matter: dict[str, Any] = Field(description="The content of a .rprs-matter file: see docs/how-to/matters.md.")


class MatterExportRequest(MatterRequest):
    """A matter to export as a file for readers without rprs."""

    format: Literal["docx", "html", "md", "csv"]
    search: int | None = Field(
        None, ge=1, description="The number of one search in the matter; all of them without it."
    )


class MatterResponse(Described):
    """A valid matter, and what has changed in the collection since each of its searches was saved."""

    matter: dict[str, Any]
    changes: list[list[str]]


class MatterSummary(Described):
    """A matter in the folder of the server; `error` says why it cannot be opened."""

    file: str
    name: str
    saved: str
    revision: int
    searches: int
    error: str | None


class Matters(Described):
    """The matters in the folder of the server."""

    matters: list[MatterSummary]


MODELS = (MatterRequest, MatterExportRequest, MatterResponse, MatterSummary, Matters)  # of the schema


class _Folder:
    """The folder for matters, if the server was started with one."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def path(self, file: str) -> Path:
        """Where a matter of this name is; names cannot leave the folder."""
        folder = self.require()
        if not _NAME.fullmatch(file):
            raise UsageError(f"The name of a matter is a file name that ends in {SUFFIX}. Got {file!r:.80}")
        return folder / file

    def require(self) -> Path:
        if self.folder is None:
            raise HTTPException(404, "This server has no folder for matters: start it with --matters FOLDER")
        return self.folder

    def summaries(self) -> list[dict[str, Any]]:
        paths = sorted(path for path in self.require().iterdir() if _NAME.fullmatch(path.name))
        return [self._summary(path) for path in paths]

    def _summary(self, path: Path) -> dict[str, Any]:
        try:
            matter = self.read(path)
        except (InvalidMatter, OSError) as error:
            empty = {"name": "", "saved": "", "revision": 0, "searches": 0}
            return {"file": path.name, **empty, "error": str(error)}
        facts = {"name": matter.name, "saved": matter.saved, "revision": matter.revision}
        return {"file": path.name, **facts, "searches": len(matter.searches), "error": None}

    def read(self, path: Path) -> Matter:
        with _RelativeNames(self.require()):
            return read_matter(path)

    def save(self, path: Path, matter: Matter) -> Matter:
        with _RelativeNames(self.require()):
            return save_matter(path, matter)


class _RelativeNames:
    """Errors name files of the folder without the path to it, which is of no concern to clients."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if isinstance(error, InvalidMatter):
            raise type(error)(str(error).replace(f"{self.folder}/", "")) from error


async def _sent(submission: Submission[Any]) -> Matter:
    """The matter of a request, checked like a file."""
    if submission.files:
        raise HTTPException(415, "The body must be application/json")
    return await run_in_threadpool(matter_from, json.dumps(submission.request.matter), "The matter")


def _responses(model: type[BaseModel], *statuses: int) -> dict[int | str, dict[str, Any]]:
    return {**success(model), **errors(*statuses)}


def add_matters(
    router: APIRouter, runner: JobRunner, service: Collections, limits: Limits, folder: Path | None
) -> None:
    """The routes of matters; they are kept in the folder, if there is one."""

    def answer(matter: Matter) -> Response:
        with service.snapshot() as snapshot:
            lines = [list(changes(each, snapshot.index, snapshot.fingerprint)) for each in matter.searches]
        body = as_json({"matter": matter_object(matter), "changes": lines})
        return Response(body, media_type="application/json")

    _add_check(router, answer)
    _add_export(router, runner, _Exporter(service, limits))
    _add_folder(router, _Folder(folder), answer)


def _add_check(router: APIRouter, answer: Callable[[Matter], Response]) -> None:
    @router.post(
        "/matters/check",
        responses=_responses(MatterResponse, 415),
        openapi_extra=body_schema(MatterRequest, files=False),
    )
    async def check(request: Request) -> Response:
        """Check a matter, and say what has changed in the collection since; nothing is stored."""
        matter = await _sent(await read_request(request, MatterRequest))
        return await run_in_threadpool(answer, matter)


def _add_folder(router: APIRouter, matters: _Folder, answer: Callable[[Matter], Response]) -> None:
    @router.get("/matters", responses=_responses(Matters, 404))
    def list_matters() -> Response:
        """List the matters in the folder of this server."""
        return Response(as_json({"matters": matters.summaries()}), media_type="application/json")

    @router.get("/matters/{file}", responses=_responses(MatterResponse, 404))
    def open_matter(file: str) -> Response:
        """Open a matter in the folder of this server."""
        return answer(matters.read(matters.path(file)))

    @router.put(
        "/matters/{file}",
        responses=_responses(MatterResponse, 404, 409, 415),
        openapi_extra=body_schema(MatterRequest, files=False),
    )
    async def save(request: Request, file: str) -> Response:
        """Save a matter; refused if it was saved elsewhere since it was opened."""
        path, matter = matters.path(file), await _sent(await read_request(request, MatterRequest))
        return await run_in_threadpool(lambda: answer(matters.save(path, matter)))


# ---------------------------------------------------------------------------- export


class _Exporter:
    """Runs the searches of a matter and writes their results with everything that the user marked and wrote."""

    def __init__(self, service: Collections, limits: Limits) -> None:
        self.service, self.limits = service, limits

    def export(self, job: Job, matter: Matter, request: MatterExportRequest) -> File:
        """The file, named for the matter."""
        format, searches = MATTER_FORMATS[request.format], matter.searches
        if request.search is not None:
            if request.search > len(searches):
                raise UsageError(f"The matter has {len(searches):,} searches. Got the number {request.search:,}")
            searches = searches[request.search - 1 : request.search]
        report = MatterReport(matter, tuple(self._section(job, search) for search in searches))
        return File(matter_name(matter.name, format.suffix), format.media_type, format.write(report))

    def _section(self, job: Job, search: Search) -> Section:
        """A search on the collection that it was saved with, if this server has it, or else on that of the request."""
        check_length("The query", sum(len(document.text) for document in search.documents), self.limits)
        try:
            with self.service.snapshot_of(search.collection.name) as snapshot:
                return report_search(search, self.service.searcher(snapshot, job.progress))
        except InvalidIndex:  # it is gone or damaged: what the user wrote is exported without results
            return report_search(search, None)


def _add_export(router: APIRouter, runner: JobRunner, exporter: _Exporter) -> None:
    files = {format.media_type: {"schema": {"type": "string"}} for format in MATTER_FORMATS.values()}

    @router.post(
        "/matters/export",
        responses={200: {"content": files, "description": "The file."}, **errors(404, 409, 415, 504)},
        openapi_extra=body_schema(MatterExportRequest, files=False),
        response_class=Response,
    )
    async def export_matter(request: Request, x_job: XJob = None) -> Response:
        """Export a matter for readers without rprs: its searches, run again, with all marks, tags and notes."""
        submission = await read_request(request, MatterExportRequest)
        matter = await _sent(submission)
        return download(await runner.run(request, x_job, lambda job: exporter.export(job, matter, submission.request)))
