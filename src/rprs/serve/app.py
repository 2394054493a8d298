"""The server: routes over one index, behind its guards."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Set
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import FileResponse, HTMLResponse, Response
from fastapi.staticfiles import StaticFiles
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException
from starlette.requests import Request

from rprs import __version__, errors
from rprs.serve import models
from rprs.serve.errors import failure
from rprs.serve.guard import Guard
from rprs.serve.handlers import as_json
from rprs.serve.jobs import Gate
from rprs.serve.limits import ASGIApp, BodyLimit, Limits
from rprs.serve.log import AccessLog
from rprs.serve.metrics import Metrics
from rprs.serve.requests import problem
from rprs.serve.routes import API, make_router
from rprs.serve.service import Service

__all__ = ["Options", "make_app"]

WEB = Path(__file__).parent / "web"
RETRY = "3"  # seconds after which one who was refused may come back


def _unheard(_line: str) -> None:
    """Say nothing."""


@dataclass(frozen=True, slots=True)
class Options:
    """Who may ask a server, how much, and where it says what it does."""

    hosts: Set[str]  # what a Host header may say; known once the server listens
    token: str | None = None
    writable: bool = False
    limits: Limits = field(default_factory=Limits)
    say: Callable[[str], None] = _unheard


def make_app(service: Service, options: Options) -> ASGIApp:
    """The whole application: guards outside, routes inside."""
    limits = options.limits
    gate = Gate(limits.at_once, limits.waiting, limits.seconds)
    metrics = Metrics(gate, service)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        gate.close()

    app = FastAPI(
        title="rprs",
        version=__version__,
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        # Nothing leaves this machine, whatever the environment asks of FastAPI; versions without it take no notice.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    writable = options.writable or options.token is not None
    app.include_router(make_router(service, gate, limits, writable, options.say))
    _add_pages(app, metrics)
    _add_errors(app, service.path)
    app.openapi = lambda: _schema(app)  # type: ignore[method-assign]  # as FastAPI's documentation has it
    inner: ASGIApp = BodyLimit(app, limits)
    guarded = Guard(inner, options.hosts, options.token, writable)
    return AccessLog(guarded, options.say, metrics.observe)


def _add_pages(app: FastAPI, metrics: Metrics) -> None:
    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(WEB / "index.html")

    @app.get("/docs", include_in_schema=False)
    def docs() -> HTMLResponse:
        from rprs.serve.docs import docs_page

        return HTMLResponse(docs_page(app.openapi()))

    @app.get("/metrics", include_in_schema=False)
    def numbers() -> Response:
        return Response(metrics.text(), media_type=metrics.media_type)

    app.mount("/static", StaticFiles(directory=WEB), "static")


# ---------------------------------------------------------------------------- errors


def _add_errors(app: FastAPI, index: Path) -> None:
    async def told(_request: Request, error: Exception) -> Response:
        said = failure(error, index)
        status = said.pop("status")
        headers = {"Retry-After": RETRY} if status == 503 else dict(getattr(error, "headers", None) or {})
        return Response(as_json(said), status, headers, "application/json")

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return await told(request, HTTPException(422, problem(error.errors())))

    app.add_exception_handler(errors.RprsError, told)
    app.add_exception_handler(HTTPException, told)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(Exception, told)  # and it is raised again, for the log


# ---------------------------------------------------------------------------- schema


def _schema(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI schema, with the requests that routes read by themselves."""
    if app.openapi_schema is None:
        found = get_openapi(
            title="rprs", version=__version__, routes=app.routes, description=(make_router.__doc__ or "").strip()
        )
        wanted = [getattr(models, name) for name in models.__all__]
        _, extra = models_json_schema(
            [(model, "validation") for model in wanted], ref_template="#/components/schemas/{model}"
        )
        found.setdefault("components", {}).setdefault("schemas", {}).update(extra.get("$defs", {}))
        app.openapi_schema = found
    return app.openapi_schema
