"""What a client is told when something goes wrong."""

from __future__ import annotations

from errno import EDQUOT, ENOSPC
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
        phrase, line = HTTPStatus(error.status_code).phrase, str(error.detail)
        line = f"{phrase}: /docs says what can be asked of this server" if line == phrase else line
        return {"status": error.status_code, "kind": phrase, "error": line}
    if isinstance(error, errors.RprsError):
        status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)
        line = " ".join(str(error).split()).replace(str(index), index.name or "the index")
        return {"status": status, "kind": type(error).__name__, "error": line}
    if isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT):  # of uploads on their way to be read
        line = "No space is left for temporary files where the server runs: free some, and ask again"
        return {"status": 507, "kind": errors.DiskFull.__name__, "error": line}
    return {"status": 500, "kind": "RprsError", "error": "The server has made a mistake: see its log"}
