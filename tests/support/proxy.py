"""A small reverse proxy with a path prefix, as an office has in front of its programs."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade"}


class Proxy(ThreadingHTTPServer):
    """Forwards the paths below a prefix to a server on this computer, with the prefix or without it."""

    daemon_threads = True

    def __init__(self, prefix: str, *, strip: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.prefix, self.strip, self.upstream = prefix, strip, 0

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}{self.prefix}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def _forward(self) -> None:
        if not self.path.startswith(self.server.prefix):
            self.send_error(404, "Outside of the prefix")
            return
        path = self.path.removeprefix(self.server.prefix) if self.server.strip else self.path
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        upstream = http.client.HTTPConnection("127.0.0.1", self.server.upstream, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        upstream.request(self.command, path or "/", body, headers)
        response = upstream.getresponse()
        self.send_response_only(response.status)
        for name, value in response.getheaders():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        while data := response.read1(65536):
            self.wfile.write(data)
            self.wfile.flush()
        upstream.close()
        self.close_connection = True

    do_GET = do_POST = do_DELETE = do_HEAD = _forward  # noqa: N815  # the names that http.server calls

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@contextmanager
def proxied(prefix: str, *, strip: bool) -> Iterator[Proxy]:
    """A running proxy; its `upstream` is set once the server listens."""
    proxy = Proxy(prefix, strip=strip)
    thread = threading.Thread(target=proxy.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.shutdown()
        proxy.server_close()
        thread.join()
