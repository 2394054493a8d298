"""What the routes declare about their responses, and responses with files."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Header
from fastapi.responses import Response

from rprs.results.names import ascii_name
from rprs.serve import models
from rprs.serve.handlers import File

__all__ = ["EVENTS", "XJob", "download", "errors", "success"]

EVENTS = "text/event-stream"

XJob = Annotated[
    str | None,
    Header(description="A name for the job, to cancel it by: 32 to 64 random hexadecimal digits."),
]


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors that every route can return, and further ones."""
    always = (400, 401, 403, 408, 413, 421, 422, 500, 503, 507)
    return {status: _described(HTTPStatus(status).phrase, models.Error) for status in sorted({*always, *statuses})}


def success(model: type[Any], streams: bool = False) -> dict[int | str, dict[str, Any]]:
    """The result of a route, as JSON or also as the last event of a stream."""
    if not streams:
        return {200: _described("Successful Response", model)}
    response = _described("The result; server-sent events if `Accept` is `text/event-stream`.", model)
    response["content"][EVENTS] = {"schema": {"type": "string"}}
    return {200: response}


def _described(description: str, model: type[Any]) -> dict[str, Any]:
    """A response by a reference to its model: FastAPI would build a validator for each response of each route."""
    schema = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def download(file: File) -> Response:
    """A file that browsers save under its name."""
    names = f"filename=\"{ascii_name(file.name)}\"; filename*=UTF-8''{quote(file.name, safe='')}"
    headers = {"Content-Disposition": f"attachment; {names}"}
    return Response(file.data, media_type=file.media_type, headers=headers)
