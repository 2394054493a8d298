"""The status and the one-line message of each error."""

from __future__ import annotations

from collections.abc import Iterable
from errno import EDQUOT, ENOSPC
from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from rprs import errors
from rprs.serve.log import internal_error

__all__ = ["failure"]

_STATUS: dict[type[errors.RprsError], int] = {
    errors.NoCollection: 404,
    errors.NoDocument: 404,
    errors.IndexMismatch: 409,
    errors.UsageError: 400,
    errors.ReadError: 422,
    errors.EmptyQuery: 422,
    errors.MatterConflict: 409,
    errors.InvalidMatter: 422,
    errors.IndexLocked: 409,
    errors.DiskFull: 507,
    errors.Busy: 503,
    errors.ShardUnavailable: 503,
    errors.StoreError: 503,
    errors.Cancelled: 409,
    errors.NotAllowed: 403,
    errors.TooLarge: 413,
    errors.TooLong: 504,
}


def failure(error: Exception, indexes: Iterable[Path]) -> dict[str, Any]:
    """The status, class and message of an error, in one line; the path of an index is reduced to its name."""
    if isinstance(error, HTTPException):
        phrase, line = HTTPStatus(error.status_code).phrase, str(error.detail)
        line = f"{phrase}: see /docs for the routes of this server" if line == phrase else line
        return {"status": error.status_code, "kind": phrase, "error": line}
    if isinstance(error, errors.RprsError):
        status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)
        line = " ".join(str(error).split())
        for index in indexes:
            line = line.replace(str(index), index.name or "the index")
        return {"status": status, "kind": type(error).__name__, "error": line}
    if isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT):  # while uploads are stored for reading
        line = "The server has no space left for temporary files: free some, and try again"
        return {"status": 507, "kind": errors.DiskFull.__name__, "error": line}
    return {"status": 500, "kind": "RprsError", "error": internal_error()}
