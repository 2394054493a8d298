"""What a client is told when something goes wrong."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from rprs import errors

__all__ = ["failure"]

_STATUS: dict[type[errors.RprsError], int] = {
    errors.NoDocument: 404,
    errors.UsageError: 400,
    errors.ReadError: 422,
    errors.EmptyQuery: 422,
    errors.IndexLocked: 409,
    errors.DiskFull: 507,
    errors.Busy: 503,
    errors.Cancelled: 409,
    errors.TooLarge: 413,
    errors.TooLong: 504,
}


def failure(error: Exception, index: Path) -> dict[str, Any]:
    """What a client is told: the status, the class, and one line, in which the index goes by its name alone."""
    if isinstance(error, HTTPException):
        return {"status": error.status_code, "kind": HTTPStatus(error.status_code).phrase, "error": str(error.detail)}
    if isinstance(error, errors.RprsError):
        status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)
        line = " ".join(str(error).split()).replace(str(index), index.name or "the index")
        return {"status": status, "kind": type(error).__name__, "error": line}
    return {"status": 500, "kind": "RprsError", "error": "The server has made a mistake: see its log"}
