"""A real server responds to valid and invalid requests as its OpenAPI schema specifies."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from schemathesis import APIOperation, BaseSchema, Case, GenerationMode
from schemathesis.checks import CheckContext
from schemathesis.core.transport import Response
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.support.cli import sample_index
from tests.support.server import Server, served

OPERATIONS = [
    "POST /api/v1/search",
    "POST /api/v1/explain",
    "POST /api/v1/align",
    "POST /api/v1/passages",
    "POST /api/v1/passages/export",
    "POST /api/v1/export",
    "POST /api/v1/report",
    "POST /api/v1/coverage",
    "POST /api/v1/coverage/export",
    "POST /api/v1/sentences",
    "GET /api/v1/matters",
    "GET /api/v1/matters/{file}",
    "PUT /api/v1/matters/{file}",
    "POST /api/v1/matters/check",
    "POST /api/v1/matters/export",
    "GET /api/v1/collections",
    "POST /api/v1/collections",
    "GET /api/v1/documents",
    "POST /api/v1/documents",
    "GET /api/v1/documents/{id}",
    "DELETE /api/v1/documents/{id}",
    "GET /api/v1/info",
    "GET /api/v1/health",
    "GET /api/v1/ready",
    "DELETE /api/v1/jobs/{job}",
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that allows changes, with an index of its own."""
    folder = tmp_path_factory.mktemp("schema")
    index = Path(shutil.copytree(sample_index(folder), folder / "copy.rprs"))
    with served(index, "--allow-write") as running:
        yield running
        assert "Error at" not in running.logged()


@pytest.fixture(scope="module")
def schema(server: Server) -> BaseSchema:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("NO_PROXY", "127.0.0.1")
        return schemathesis.openapi.from_url(f"{server.url}/api/v1/openapi.json")


def no_server_error(_context: CheckContext, response: Response, _case: Case[Any]) -> None:
    """A 503 with Retry-After is not a failure."""
    busy = response.status_code == 503 and "retry-after" in response.headers
    assert response.status_code < 500 or busy, response.text


CHECKS = [
    no_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]


IDS = [None, "moss-v-reed", "lease.txt"]


def make_answerable(case: Case[Any], id: str) -> None:
    """Use an existing document id, and omit parameters that random values hardly ever get right."""
    case.headers.clear()  # the name of a job
    if "id" in case.path_parameters and case.method != "DELETE":
        case.path_parameters["id"] = id
    body: Any = case.body
    searches = not case.path.rpartition("/v1/")[2].startswith(("documents", "passages"))
    if isinstance(body, dict) and case.media_type == "application/json" and searches:
        body |= {"ids": [id], "documents": [], "where": None} | ({"document": id} if "document" in body else {})


def has_object_as_text(case: Case[Any]) -> bool:
    """Whether a form has an object for its field with JSON: it is sent as the text that the field should have."""
    body: Any = case.body
    return case.media_type == "multipart/form-data" and isinstance(body, dict) and isinstance(body.get("request"), dict)


def cases(operation: APIOperation[Any, Any, Any, Any], mode: GenerationMode) -> st.SearchStrategy[Case[Any]]:
    """Mostly JSON: random files in forms contain no text and are refused."""
    anything = operation.as_strategy(generation_mode=mode)
    if operation.method.upper() != "POST":
        return anything
    return st.one_of(anything, operation.as_strategy(generation_mode=mode, media_type="application/json"))


def check(
    schema: BaseSchema, operation: str, mode: GenerationMode, examples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Call one operation with many generated cases, the same on every run."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    method, _, path = operation.partition(" ")

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(case=cases(schema[path][method], mode), id=st.sampled_from(IDS))
    def call(case: Case[Any], id: str | None) -> None:
        if id is not None and mode is GenerationMode.POSITIVE:
            make_answerable(case, id)
        assume(not has_object_as_text(case))
        case.call_and_validate(checks=CHECKS, timeout=30)

    call()


def test_every_operation_is_covered(schema: BaseSchema) -> None:
    operations = [f"{method.upper()} {path}" for path, item in schema.raw_schema["paths"].items() for method in item]
    assert sorted(operations) == sorted(OPERATIONS)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_valid_requests(schema: BaseSchema, operation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check(schema, operation, GenerationMode.POSITIVE, 20, monkeypatch)


CHOOSY = [operation for operation in OPERATIONS if "POST" in operation or operation == "GET /api/v1/documents"]


@pytest.mark.parametrize("operation", CHOOSY)
def test_invalid_requests(schema: BaseSchema, operation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check(schema, operation, GenerationMode.NEGATIVE, 20, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("mode", GenerationMode)
@pytest.mark.parametrize("operation", CHOOSY)
def test_many_more_requests(
    schema: BaseSchema, operation: str, mode: GenerationMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(schema, operation, mode, 400, monkeypatch)
