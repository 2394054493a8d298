"""Access control: the ASGI middleware that every request passes first.

- Reject unknown Host headers (DNS rebinding): 421.
- Reject requests that a browser sends for another site (Origin, Sec-Fetch-Site): 403.
- If the server has a token, require it for everything with data; it is compared in constant time: 401.
- Reject writes unless they are allowed: 403.

Every response, including these, carries the security headers.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Sequence, Set
from ipaddress import ip_address
from pathlib import Path

from rprs.errors import UsageError
from rprs.serve.limits import ASGIApp, Message, Receive, Scope, Send, refuse

__all__ = ["HEADERS", "Guard", "hosts_of", "is_loopback", "read_token"]

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}
TOKEN_LENGTH = 16  # characters, at least
_READING = {"GET", "HEAD"}


# ---------------------------------------------------------------------------- names and tokens


def is_loopback(host: str) -> bool:
    """Whether an address can only be reached from this computer."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def hosts_of(host: str, port: int, allowed: Sequence[str] = ()) -> frozenset[str]:
    """The accepted values of the Host header, in lower case.

    These are the bound address and the loopback names, with the port, and the allowed names. An allowed name that has
    a port is accepted with that port only; without one, with the bound port or none, as a proxy on port 80 forwards it.
    """
    own = {f"{_bracketed(name)}:{port}" for name in (host, "localhost", "127.0.0.1", "::1")}
    default_port = {name.removesuffix(":80") for name in own} if port == 80 else set()
    names = {name if _has_port(name) else _bracketed(name) for name in allowed}
    with_port = {f"{name}:{port}" for name in names if not _has_port(name)}
    return frozenset(name.lower() for name in own | default_port | names | with_port)


def _bracketed(name: str) -> str:
    return f"[{name}]" if ":" in name and not name.startswith("[") else name


def _has_port(name: str) -> bool:
    return re.fullmatch(r"(\[[^\]]*\]|[^:\[\]]*):\d+", name) is not None


def read_token(path: Path) -> str:
    """The token in a file of one line, which only its owner may read."""
    try:
        mode, text = path.stat().st_mode, path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise UsageError(f"The token file {path} cannot be read: {reason}") from error
    if mode & 0o077:
        raise UsageError(f"The token file {path} can be read by others: chmod 600 {path}")
    if len(text) < TOKEN_LENGTH:
        problem = f"has a token of {len(text)} characters" if text else "is empty"
        raise UsageError(
            f"The token file {path} {problem}: write {TOKEN_LENGTH} or more (openssl rand -hex 32 > {path})"
        )
    if not re.fullmatch(r"[!-~]+", text):
        raise UsageError(
            f"The token file {path} must contain one line of ASCII letters, digits and punctuation, without spaces"
        )
    return text


# ---------------------------------------------------------------------------- the middleware


class Guard:
    """Passes a request on or refuses it with one line; see the module for the checks.

    It wraps the whole application, including the error handlers, so that every response has the headers.
    """

    def __init__(self, app: ASGIApp, hosts: Set[str], token: str | None, writable: bool) -> None:
        self.app = app
        self.hosts = hosts
        self.token = token
        self.writable = writable

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            private = _is_private(scope["path"])

            async def guarded(message: Message) -> None:
                await send(_secured(message, private))

            refusal = self._refusal(scope)
            if refusal is None:
                await self.app(scope, receive, guarded)
            else:
                status, kind, line = refusal
                challenge = {"www-authenticate": "Bearer"} if status == 401 else None
                await refuse(guarded, status, kind, line, challenge)
        else:  # WebSockets are not supported
            await send({"type": "websocket.close", "code": 1008})

    def _refusal(self, scope: Scope) -> tuple[int, str, str] | None:
        path, method = scope["path"], scope["method"]
        host = _single(scope, b"host").lower()
        if host not in self.hosts:
            name = host if re.fullmatch(r"[\w.:\[\]-]{1,255}", host) else "of the request"
            line = f"The host {name} is not allowed: to allow it, start the server with --allow-host and its name"
            return 421, "Misdirected Request", line
        if _is_foreign(scope, host):
            return 403, "NotAllowed", "Requests from the pages of other sites are not allowed"
        public = path in ("/api/v1/health", "/api/v1/ready") or (method in _READING and not _is_private(path))
        if self.token is not None and not public and not hmac.compare_digest(_bearer(scope), self.token.encode()):
            return 401, "NotAllowed", "A token is required: send it as the header `Authorization: Bearer TOKEN`"
        if not self.writable and method not in _READING and _writes(path):
            return (
                403,
                "NotAllowed",
                "This server is read-only: start it with --allow-write or --token-file to allow changes",
            )
        return None


def _is_private(path: str) -> bool:
    return path.startswith(("/api", "/metrics"))


def _writes(path: str) -> bool:
    return path in ("/api/v1/documents", "/api/v1/collections") or path.startswith("/api/v1/documents/")


def _values(scope: Scope, header: bytes) -> list[bytes]:
    return [value for name, value in scope["headers"] if name == header]


def _single(scope: Scope, header: bytes) -> str:
    """The value of a header; empty if it is missing or repeated."""
    values = _values(scope, header)
    return values[0].decode("latin-1").strip() if len(values) == 1 else ""


def _is_foreign(scope: Scope, host: str) -> bool:
    """Whether a browser declares that another site sent this request. Other clients send neither header."""
    # A proxy in front may use TLS, so only the name and the port are compared.
    own = {f"http://{host}", f"https://{host}"}
    if _values(scope, b"origin") and _single(scope, b"origin").lower() not in own:
        return True
    sites = _values(scope, b"sec-fetch-site")
    return _is_private(scope["path"]) and any(site not in (b"same-origin", b"none") for site in sites)


def _bearer(scope: Scope) -> bytes:
    scheme, _, token = _single(scope, b"authorization").partition(" ")
    return token.strip().encode("latin-1") if scheme.lower() == "bearer" else b""


def _secured(message: Message, private: bool) -> Message:
    """The start of a response with the guard's headers in place of the application's own."""
    if message["type"] != "http.response.start":
        return message
    # After an update the browser must not use cached files of the old version, so it revalidates them.
    ours = {**HEADERS, "cache-control": "no-store" if private else "no-cache"}
    fixed = [(name.encode(), value.encode()) for name, value in ours.items()]
    kept = [(name, value) for name, value in message.get("headers", []) if name.decode("latin-1").lower() not in ours]
    return {**message, "headers": [*kept, *fixed]}
