"""Who may ask, and from where: the ASGI middleware that every request passes first.

- Host: a page of a stranger whose name is made to point here (DNS rebinding) still sends its own name: 421.
- Origin and Sec-Fetch-Site: a page of a stranger cannot make the reader's browser ask in its name: 403.
- Token: where there is one, whatever has data needs it, compared in constant time: 401.
- Writes: only where they are allowed: 403.

Every answer, also one of these, has the headers that keep a browser from running or sending what it should not.
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
    """Whether an address can be reached from this computer only."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def hosts_of(host: str, port: int, allowed: Sequence[str] = ()) -> frozenset[str]:
    """What a request may have in its Host header, in lower case.

    That is the bound address and the names of this computer for itself, with the port, and the names that are allowed:
    with a port only with that, else with the bound one or none, as a proxy on the usual port hands them on.
    """
    own = {f"{_bracketed(name)}:{port}" for name in (host, "localhost", "127.0.0.1", "::1")}
    usual = {name.removesuffix(":80") for name in own} if port == 80 else set()
    names = {name if _has_port(name) else _bracketed(name) for name in allowed}
    also = {f"{name}:{port}" for name in names if not _has_port(name)}
    return frozenset(name.lower() for name in own | usual | names | also)


def _bracketed(name: str) -> str:
    return f"[{name}]" if ":" in name and not name.startswith("[") else name


def _has_port(name: str) -> bool:
    return re.fullmatch(r"(\[[^\]]*\]|[^:\[\]]*):\d+", name) is not None


def read_token(path: Path) -> str:
    """The token in a file of one line, which only its owner may read."""
    try:
        mode, text = path.stat().st_mode, path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text"
        raise UsageError(f"The token file {path} cannot be read: {reason}") from error
    if mode & 0o077:
        raise UsageError(f"The token file {path} can be read by others: chmod 600 {path}")
    if len(text) < TOKEN_LENGTH:
        had = f"has a token of {len(text)} characters" if text else "is empty"
        raise UsageError(f"The token file {path} {had}: write {TOKEN_LENGTH} or more (openssl rand -hex 32 > {path})")
    if not re.fullmatch(r"[!-~]+", text):
        raise UsageError(f"The token file {path} must have one line of ASCII letters, digits and marks, without spaces")
    return text


# ---------------------------------------------------------------------------- the middleware


class Guard:
    """Lets a request through or answers it with one line; see the module for what it looks at.

    It belongs around the whole application, also around what answers errors, so that every answer has its headers.
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
        else:  # a WebSocket: there are none here
            await send({"type": "websocket.close", "code": 1008})

    def _refusal(self, scope: Scope) -> tuple[int, str, str] | None:
        path, method = scope["path"], scope["method"]
        host = _only(scope, b"host").lower()
        if host not in self.hosts:
            shown = host if re.fullmatch(r"[\w.:\[\]-]{1,255}", host) else "of the request"
            line = f"The host {shown} is not served here: if it should be, start with --allow-host and its name"
            return 421, "Misdirected Request", line
        if _is_foreign(scope, host):
            return 403, "NotAllowed", "A page of another site may not ask this server"
        free = path == "/api/v1/health" or (method in _READING and not _is_private(path))
        if self.token is not None and not free and not hmac.compare_digest(_bearer(scope), self.token.encode()):
            return 401, "NotAllowed", "A token is needed: send the header Authorization: Bearer and the token"
        if not self.writable and method not in _READING and _writes(path):
            return 403, "NotAllowed", "This server takes no changes: start it with --allow-write or --token-file"
        return None


def _is_private(path: str) -> bool:
    return path.startswith(("/api", "/metrics"))


def _writes(path: str) -> bool:
    return path == "/api/v1/documents" or path.startswith("/api/v1/documents/")


def _all(scope: Scope, wanted: bytes) -> list[bytes]:
    return [value for name, value in scope["headers"] if name == wanted]


def _only(scope: Scope, wanted: bytes) -> str:
    """The value of a header; nothing if it is not there or there several times, which no honest client does."""
    found = _all(scope, wanted)
    return found[0].decode("latin-1").strip() if len(found) == 1 else ""


def _is_foreign(scope: Scope, host: str) -> bool:
    """Whether a browser says that another site's page asks. Who is no browser sends neither header."""
    # A proxy in front may speak TLS: the name and the port are what counts.
    own = {f"http://{host}", f"https://{host}"}
    if _all(scope, b"origin") and _only(scope, b"origin").lower() not in own:
        return True
    sites = _all(scope, b"sec-fetch-site")
    return _is_private(scope["path"]) and any(site not in (b"same-origin", b"none") for site in sites)


def _bearer(scope: Scope) -> bytes:
    scheme, _, token = _only(scope, b"authorization").partition(" ")
    return token.strip().encode("latin-1") if scheme.lower() == "bearer" else b""


def _secured(message: Message, private: bool) -> Message:
    """The start of an answer with the headers of the guard in place of any that the application has set."""
    if message["type"] != "http.response.start":
        return message
    # A page kept by the browser would be that of another version after an update: it asks whether it is the same.
    ours = {**HEADERS, "cache-control": "no-store" if private else "no-cache"}
    fixed = [(name.encode(), value.encode()) for name, value in ours.items()]
    kept = [(name, value) for name, value in message.get("headers", []) if name.decode("latin-1").lower() not in ours]
    return {**message, "headers": [*kept, *fixed]}
