"""A path prefix, for a proxy that serves several programs under one name."""

from __future__ import annotations

import re

from rprs.errors import UsageError
from rprs.serve.guard import HEADERS
from rprs.serve.limits import ASGIApp, Receive, Scope, Send

__all__ = ["RootPath", "as_root_path", "to_home"]

_VALID = re.compile(r"(/[\w.~-]+)+", re.ASCII)


def as_root_path(text: str) -> str:
    """The prefix as `/search`; empty for none."""
    path = text.rstrip("/")
    if path and (not _VALID.fullmatch(path) or {".", ".."} & {*path.split("/")}):
        raise UsageError(f"--root-path must be a path such as /search. Got {text!r:.80}")
    return path


def to_home(path: str) -> str:
    """The relative link from a path of this server to its root: `./`, or `../` for each folder."""
    return "../" * (path.count("/") - 1) or "./"


class RootPath:
    """Removes the prefix from the paths of requests. A proxy may also have removed it: paths without it are accepted.

    The prefix alone leads to the same with a slash, by a relative address: all links of the pages are relative to it.
    """

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self.app, self.prefix = app, prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "http" and scope["path"] == self.prefix:
            location = f"{self.prefix.rpartition('/')[2]}/".encode()
            fields = {"content-length": "0", **HEADERS}
            headers = [(b"location", location), *((name.encode(), value.encode()) for name, value in fields.items())]
            await send({"type": "http.response.start", "status": 308, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        if scope["type"] == "http" and scope["path"].startswith(f"{self.prefix}/"):
            raw = scope.get("raw_path") or b""
            scope = {
                **scope,
                "path": scope["path"].removeprefix(self.prefix),
                "raw_path": raw.removeprefix(self.prefix.encode()),
            }
        await self.app(scope, receive, send)
