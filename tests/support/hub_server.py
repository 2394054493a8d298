"""A model hub on localhost that serves the folders owner/model of a root folder."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

__all__ = ["serving"]


class _Hub(SimpleHTTPRequestHandler):
    """The URLs of the hub that downloads use: /{owner}/{model}/resolve/main/{file}."""

    def send_head(self) -> Any:
        self.path = self.path.replace("/resolve/main/", "/")
        return super().send_head()

    def end_headers(self) -> None:
        self.send_header("ETag", f'"{abs(hash(self.path))}"')
        self.send_header("X-Repo-Commit", "0" * 40)
        super().end_headers()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        self.send_response(code)
        self.send_header("X-Error-Code", "EntryNotFound")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(shelf: Path) -> Iterator[str]:
    """The address of a hub with the models in a folder."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Hub, directory=str(shelf))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
