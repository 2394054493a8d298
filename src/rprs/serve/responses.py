"""What the routes declare about their responses, and responses with files."""

from __future__ import annotations

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
    return {status: {"model": models.Error} for status in sorted({*always, *statuses})}


def success(model: type[Any], streams: bool = False) -> dict[int | str, dict[str, Any]]:
    """The result of a route, as JSON or also as the last event of a stream."""
    response: dict[int | str, dict[str, Any]] = {200: {"model": model}}
    if streams:
        response[200]["content"] = {EVENTS: {"schema": {"type": "string"}}}
        response[200]["description"] = "The result; server-sent events if `Accept` is `text/event-stream`."
    return response


def download(file: File) -> Response:
    """A file that browsers save under its name."""
    names = f"filename=\"{ascii_name(file.name)}\"; filename*=UTF-8''{quote(file.name, safe='')}"
    headers = {"Content-Disposition": f"attachment; {names}"}
    return Response(file.data, media_type=file.media_type, headers=headers)
