"""Request bodies, as JSON or as a form with files, and their query documents."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from fastapi import Request
from pydantic import BaseModel
from python_multipart.multipart import parse_options_header
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException

from rprs.document import SEPARATOR, Document
from rprs.errors import TooLarge, UsageError
from rprs.forks import PerProcess
from rprs.index import Index
from rprs.read.encoding import clean
from rprs.serve.bodies import InvalidBody, parse_body
from rprs.serve.jobs import Job
from rprs.serve.limits import Limits
from rprs.serve.models import DocumentInput, SearchRequest
from rprs.serve.uploads import read_upload

__all__ = [
    "Submission",
    "aligned_document",
    "body_schema",
    "check_length",
    "document_of",
    "query_documents",
    "read_files",
    "read_request",
    "seeds_object",
]

FILES = 100  # per request
PARSERS = 2  # threads
_parsers = PerProcess(lambda: ThreadPoolExecutor(PARSERS, "parser"))

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Submission(Generic[Model]):
    """A parsed request and its files."""

    request: Model
    files: tuple[UploadFile, ...] = ()
    documents: tuple[Document, ...] = ()  # of files that are read
    notes: tuple[str, ...] = ()  # on how they were read

    @property
    def size(self) -> int:
        """Total size of the files in bytes."""
        return sum(file.size or 0 for file in self.files)


async def read_request(request: Request, model: type[Model]) -> Submission[Model]:
    """Parse a body: JSON, or a form with parts `file` and `request`."""
    kind, options = parse_options_header(request.headers.get("content-type"))
    if kind == b"application/json":
        return Submission(await _parsed(model, [chunk async for chunk in request.stream()]))
    if kind != b"multipart/form-data":
        raise HTTPException(415, "The body must be application/json, or multipart/form-data with files")
    if options.get(b"charset", b"utf-8").lower() not in (
        b"utf-8",
        b"utf8",
    ):  # some other decoders are very slow
        raise HTTPException(415, "A form must be in UTF-8")
    try:
        form = await request.form(max_files=FILES, max_fields=10, max_part_size=64 * 2**20)
    except (MultiPartException, HTTPException) as error:
        reason = error.message if isinstance(error, MultiPartException) else error.detail
        raise HTTPException(422, f"The form is invalid: {reason}") from error
    files, body = [], "{}"
    for name, part in form.multi_items():
        if isinstance(part, UploadFile) and name == "file":
            files.append(part)
        elif isinstance(part, str) and name == "request":
            body = part
        else:
            raise HTTPException(422, "A form may only contain files named `file` and one `request` as JSON")
    if not files:
        raise HTTPException(422, "The form has no part `file`")
    return Submission(await _parsed(model, [body.encode("utf-8", "replace")]), tuple(files))


async def _parsed(model: type[Model], chunks: list[bytes]) -> Model:
    """Parse in a thread, few at a time: they compete with the event loop for Python's lock."""
    try:
        return await asyncio.get_running_loop().run_in_executor(_parsers(), parse_body, model, chunks)
    except InvalidBody as error:
        raise HTTPException(422, str(error)) from error


def body_schema(model: type[BaseModel], files: bool = True) -> dict[str, Any]:
    """The OpenAPI description of a body: the model as JSON or, if it may have files, a form with them and that JSON."""
    form = {
        "type": "object",
        "required": ["file"],
        "properties": {
            "file": {"type": "array", "minItems": 1, "items": {"type": "string", "format": "binary"}},
            "request": {"type": "string", "description": f"{model.__name__} as JSON, without the files."},
        },
    }
    content: dict[str, Any] = {"application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}
    if files:
        content["multipart/form-data"] = {"schema": form}
    return {"requestBody": {"required": True, "content": content}}


# ---------------------------------------------------------------------------- documents


def document_of(document: DocumentInput) -> Document:
    """A document from a request, cleaned so that it can be stored and printed."""
    metadata = {
        clean(name): clean(value) if isinstance(value, str) else value for name, value in document.metadata.items()
    }
    id, title = (" ".join(clean(text).split()) for text in (document.id, document.title))
    if not id:
        raise UsageError("The id of a document must contain visible characters")
    return Document(id, clean(document.text), title, metadata)


def read_files(job: Job, submission: Submission[Model], limits: Limits) -> Submission[Model]:
    """The same request with documents instead of files."""
    if not submission.files:
        return submission
    documents, notes = list(submission.documents), list(submission.notes)
    with job.progress("reading", submission.size, "bytes") as advance:
        for file in submission.files:
            document, remarks = read_upload(file.file, file.filename or "", limits, job.stop)
            documents.append(document)
            notes += remarks
            advance(file.size or 0)
    return Submission(submission.request, (), tuple(documents), tuple(notes))


def query_documents(
    job: Job, index: Index, submission: Submission[Any], limits: Limits
) -> tuple[list[Document], list[str]]:
    """The query documents, in the order files, documents, text, ids, and notes on how the files were read."""
    submission = read_files(job, submission, limits)
    request: SearchRequest = submission.request
    seeds, notes = list(submission.documents), list(submission.notes)
    seeds += [document_of(document) for document in request.documents]
    if request.text is not None:
        seeds.append(document_of(DocumentInput(text=request.text, title=request.title)))
    seeds += [index.document(id) for id in request.ids]
    if not seeds:
        raise UsageError("The query is empty: give a text, documents, files, or ids of documents in the index")
    check_length("The query", sum(len(seed.text) for seed in seeds), limits)
    return seeds, notes


def aligned_document(index: Index, document: DocumentInput | str, limits: Limits) -> Document:
    """A document to align: one from the request, or one of the index by its id."""
    if isinstance(document, str):
        return index.document(document)
    check_length("The document", len(document.text), limits)
    return document_of(document)


def check_length(what: str, characters: int, limits: Limits) -> None:
    """Raise an error if a text is longer than the server accepts."""
    if characters > limits.text_characters:
        raise TooLarge(f"{what} has {characters:,} characters; this server accepts {limits.text_characters:,}")


def seeds_object(seeds: list[Document], index: Index) -> list[dict[str, Any]]:
    """The position of each query document in the combined text."""
    objects, start = [], 0
    for seed in seeds:
        end = start + len(seed.text)
        position = {"id": seed.id, "title": seed.title, "start": start, "end": end}
        objects.append({**position, "indexed": index.holds(seed), "metadata": dict(seed.metadata)})
        start = end + len(SEPARATOR)
    return objects
