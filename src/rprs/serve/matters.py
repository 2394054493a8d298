"""Matters over HTTP: checked against the index, and kept in a folder if the server has one."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from rprs.errors import InvalidMatter, UsageError
from rprs.matters import SUFFIX, Matter, changes, matter_from, matter_object, read_matter, save_matter
from rprs.serve.collections import Collections
from rprs.serve.handlers import as_json
from rprs.serve.requests import body_schema, read_request

__all__ = ["MatterRequest", "MatterResponse", "MatterSummary", "Matters", "add_matters"]

_NAME = re.compile(rf"[^./\\\x00-\x1f][^/\\\x00-\x1f]{{0,150}}{re.escape(SUFFIX)}")


class MatterRequest(BaseModel):
    """A matter, in the format of its file."""

    model_config = ConfigDict(extra="forbid")

    matter: dict[str, Any] = Field(description="The content of a .rprs-matter file: see docs/how-to/matters.md.")


class MatterResponse(BaseModel):
    """A valid matter, and what has changed in the collection since each of its searches was saved."""

    matter: dict[str, Any]
    changes: list[list[str]]


class MatterSummary(BaseModel):
    """A matter in the folder of the server; `error` says why it cannot be opened."""

    file: str
    name: str
    saved: str
    revision: int
    searches: int
    error: str | None


class Matters(BaseModel):
    """The matters in the folder of the server."""

    matters: list[MatterSummary]


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


def add_matters(router: APIRouter, service: Collections, folder: Path | None, responses: Callable[..., Any]) -> None:
    """The routes of matters; `responses` describes a model and further statuses."""
    matters = _Folder(folder)

    def answer(matter: Matter) -> Response:
        with service.snapshot() as snapshot:
            lines = [list(changes(each, snapshot.index, snapshot.fingerprint)) for each in matter.searches]
        body = as_json({"matter": matter_object(matter), "changes": lines})
        return Response(body, media_type="application/json")

    async def in_thread(work: Callable[[], Response]) -> Response:
        return await run_in_threadpool(work)

    async def sent(request: Request) -> Matter:
        submission = await read_request(request, MatterRequest)
        if submission.files:
            raise HTTPException(415, "The body must be application/json")
        content = json.dumps(submission.request.matter)
        return await run_in_threadpool(matter_from, content, "The matter")

    _add_check(router, responses, sent, lambda matter: in_thread(lambda: answer(matter)))

    @router.get("/matters", responses=responses(Matters, 404))
    async def list_matters() -> Response:
        """List the matters in the folder of this server."""
        return await in_thread(
            lambda: Response(as_json({"matters": matters.summaries()}), media_type="application/json")
        )

    @router.get("/matters/{file}", responses=responses(MatterResponse, 404))
    async def open_matter(file: str) -> Response:
        """Open a matter in the folder of this server."""
        path = matters.path(file)
        return await in_thread(lambda: answer(matters.read(path)))

    @router.put(
        "/matters/{file}",
        responses=responses(MatterResponse, 404, 409, 415),
        openapi_extra=body_schema(MatterRequest, files=False),
    )
    async def save(request: Request, file: str) -> Response:
        """Save a matter; refused if it was saved elsewhere since it was opened."""
        path, matter = matters.path(file), await sent(request)
        return await in_thread(lambda: answer(matters.save(path, matter)))


def _add_check(
    router: APIRouter,
    responses: Callable[..., Any],
    sent: Callable[[Request], Awaitable[Matter]],
    respond: Callable[[Matter], Awaitable[Response]],
) -> None:
    @router.post(
        "/matters/check",
        responses=responses(MatterResponse, 415),
        openapi_extra=body_schema(MatterRequest, files=False),
    )
    async def check(request: Request) -> Response:
        """Check a matter, and say what has changed in the collection since; nothing is stored."""
        return await respond(await sent(request))
