"""The application: routes over one index, behind access control and limits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
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
from rprs.serve import coverage_models, index_models, matters, models, passages
from rprs.serve.bodies import close_parsers, first_problem
from rprs.serve.collections import CollectionPath, Collections
from rprs.serve.errors import failure
from rprs.serve.guard import Guard
from rprs.serve.handlers import as_json
from rprs.serve.jobs import Limiter
from rprs.serve.limits import RETRY, ASGIApp, BodyLimit, Limits
from rprs.serve.log import AccessLog
from rprs.serve.metrics import Metrics
from rprs.serve.prefix import RootPath, to_home
from rprs.serve.routes import API, make_router
from rprs.serve.service import Service
from rprs.serve.workers import Workers

__all__ = ["Options", "make_app"]

WEB = Path(__file__).parent / "web"


def _no_log(_line: str) -> None:
    """Discard a line."""


@dataclass(frozen=True, slots=True)
class Options:
    """Access, limits and logging of a server."""

    hosts: set[str]  # accepted Host headers; filled in once the server listens
    token: str | None = None
    writable: bool = False
    limits: Limits = field(default_factory=Limits)
    log: Callable[[str], None] = _no_log
    root_path: str = ""  # the path of this server behind a proxy: /search
    matters: Path | None = None  # a folder to open matters from and save them to
    folders: Sequence[Path] = ()  # whose files may be added to collections


def make_app(served: Collections | Service, options: Options, workers: Workers | None = None) -> ASGIApp:
    """The application with its middleware; `workers` search in its place."""
    service = Collections.of(served) if isinstance(served, Service) else served
    limits = options.limits
    limiter = Limiter(limits.at_once, limits.waiting, limits.seconds)
    metrics = Metrics(limiter, service, workers)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        limiter.close()
        close_parsers()

    app = FastAPI(
        title="rprs",
        version=__version__,
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,  # the address would be absolute, which is wrong behind a proxy
        # No telemetry leaves this machine, whatever the environment says; older versions of FastAPI ignore this.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    writable = options.writable or options.token is not None
    folders = options.matters, options.folders
    app.include_router(make_router(service, limiter, limits, writable, options.log, *folders, workers))
    _add_pages(app, metrics)
    _add_errors(app, service)
    app.openapi = lambda: _schema(app, options.root_path)  # type: ignore[method-assign]  # as FastAPI's documentation describes
    inner: ASGIApp = BodyLimit(app, limits)
    guarded = Guard(inner, options.hosts, options.token, writable)
    logged: ASGIApp = CollectionPath(AccessLog(guarded, options.log, metrics.observe))
    return RootPath(logged, options.root_path) if options.root_path else logged


def _add_pages(app: FastAPI, metrics: Metrics) -> None:
    @app.get("/", include_in_schema=False)
    def web_interface() -> FileResponse:
        return FileResponse(WEB / "index.html")

    @app.get("/docs", include_in_schema=False)
    def docs() -> HTMLResponse:
        from rprs.serve.docs import docs_page

        return HTMLResponse(docs_page(app.openapi()))

    @app.get("/metrics", include_in_schema=False)
    def prometheus() -> Response:
        return Response(metrics.text(), media_type=metrics.media_type)

    app.mount("/static", StaticFiles(directory=WEB), "static")


# ---------------------------------------------------------------------------- errors


def _add_errors(app: FastAPI, collections: Collections) -> None:
    async def respond(request: Request, error: Exception) -> Response:
        body = failure(error, collections.paths)
        status = body.pop("status")
        if status == 404 and _expects_page(request):
            page = (WEB / "not-found.html").read_text(encoding="utf-8")
            return HTMLResponse(page.replace("{home}", to_home(request.scope["path"])), status)
        headers = {"Retry-After": RETRY} if status == 503 else dict(getattr(error, "headers", None) or {})
        return Response(as_json(body), status, headers, "application/json")

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return await respond(request, HTTPException(422, first_problem(error.errors())))

    app.add_exception_handler(errors.RprsError, respond)
    app.add_exception_handler(HTTPException, respond)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(Exception, respond)  # it is raised again and reaches the log


def _expects_page(request: Request) -> bool:
    """Whether a browser shows the response as a page; the API always answers in JSON."""
    reads = request.method in ("GET", "HEAD") and not request.url.path.startswith("/api")
    return reads and "text/html" in request.headers.get("accept", "")


# ---------------------------------------------------------------------------- schema


def _schema(app: FastAPI, root_path: str) -> dict[str, Any]:
    """The OpenAPI schema, including the models of bodies that routes parse themselves."""
    if app.openapi_schema is None:
        schema = get_openapi(
            title="rprs", version=__version__, routes=app.routes, description=(make_router.__doc__ or "").strip()
        )
        modules = (models, index_models, coverage_models)
        extra_models = [getattr(module, name) for module in modules for name in module.__all__]
        extra_models += [*passages.MODELS, *matters.MODELS]
        _, extra = models_json_schema(
            [(model, "validation") for model in extra_models], ref_template="#/components/schemas/{model}"
        )
        schema.setdefault("components", {}).setdefault("schemas", {}).update(extra.get("$defs", {}))
        if root_path:
            schema["servers"] = [{"url": root_path}]
        app.openapi_schema = schema
    return app.openapi_schema
