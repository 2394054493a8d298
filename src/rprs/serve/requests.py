"""What a request asks: JSON, or files with JSON beside them → documents to ask with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError
from python_multipart.multipart import parse_options_header
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException

from rprs.document import SEPARATOR, Document
from rprs.errors import TooLarge, UsageError
from rprs.index import Index
from rprs.read.encoding import clean
from rprs.serve.jobs import Job
from rprs.serve.limits import Limits
from rprs.serve.models import Given, SearchRequest
from rprs.serve.uploads import read_upload

__all__ = ["Asked", "asked", "body_schema", "document_of", "problem", "seeds_object", "seeds_of"]

FILES = 100  # in one request

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Asked(Generic[Model]):
    """A request, and the files that came with it."""

    request: Model
    files: tuple[UploadFile, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size or 0 for file in self.files)


async def asked(request: Request, model: type[Model]) -> Asked[Model]:
    """Read a request: its body as JSON, or as a form with parts `file` and `request`."""
    kind, options = parse_options_header(request.headers.get("content-type"))
    if kind == b"application/json":
        return Asked(_parsed(model, await request.body()))
    if kind != b"multipart/form-data":
        raise HTTPException(415, "The body must be application/json, or multipart/form-data with files")
    if options.get(b"charset", b"utf-8").lower() not in (b"utf-8", b"utf8"):  # some decoders of Python take for ever
        raise HTTPException(415, "A form must be in UTF-8")
    try:
        form = await request.form(max_files=FILES, max_fields=10, max_part_size=64 * 2**20)
    except (MultiPartException, HTTPException) as error:
        reason = error.message if isinstance(error, MultiPartException) else error.detail
        raise HTTPException(422, f"The form cannot be read: {reason}") from error
    files, said = [], "{}"
    for name, part in form.multi_items():
        if isinstance(part, UploadFile) and name == "file":
            files.append(part)
        elif isinstance(part, str) and name == "request":
            said = part
        else:
            raise HTTPException(422, "A form has parts `file`, which are files, and one `request`, which is JSON")
    if not files:
        raise HTTPException(422, "There is no part `file` in the form")
    return Asked(_parsed(model, said.encode("utf-8", "replace")), tuple(files))


def _parsed(model: type[Model], data: bytes) -> Model:
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        raise HTTPException(422, problem(error.errors())) from error


def problem(errors: Any) -> str:
    """The first thing that is wrong with a request, in one line that does not quote it."""
    first = errors[0]
    loc, line = list(first["loc"]), str(first["msg"])
    if loc[-1:] == ["str"] and first["type"] == "string_type":  # the first of all that a value of metadata may be
        loc, line = loc[:-1], "Input should be a text, a finite number, true, false or null"
    place = ".".join(str(part) for part in loc if part not in ("body", "query", "path"))
    return f"{place}: {line}" if place else line


def body_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The body of a route for OpenAPI: the model as JSON, or files and that JSON."""
    form = {
        "type": "object",
        "required": ["file"],
        "properties": {
            "file": {"type": "array", "minItems": 1, "items": {"type": "string", "format": "binary"}},
            "request": {"type": "string", "description": f"{model.__name__} as JSON, without the files."},
        },
    }
    content = {
        "application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}},
        "multipart/form-data": {"schema": form},
    }
    return {"requestBody": {"required": True, "content": content}}


# ---------------------------------------------------------------------------- documents


def document_of(given: Given) -> Document:
    """A document that came as JSON, made fit to be stored and printed."""
    metadata = {clean(name): clean(value) if isinstance(value, str) else value for name, value in _items(given)}
    id, title = (" ".join(clean(text).split()) for text in (given.id, given.title))
    if not id:
        raise UsageError("The id of a document must have characters that can be seen")
    return Document(id, clean(given.text), title, metadata)


def _items(given: Given) -> Any:
    mapping: Mapping[str, Any] = given.metadata
    return mapping.items()


def seeds_of(job: Job, index: Index, found: Asked[Any], limits: Limits) -> list[Document]:
    """The documents to ask with, in the order of files, documents, text, ids."""
    request: SearchRequest = found.request
    seeds: list[Document] = []
    if found.files:
        with job.progress("reading", found.size, "bytes") as advance:
            for file in found.files:
                seeds.append(read_upload(file.file, file.filename or "", limits, job.stop))
                advance(file.size or 0)
    seeds += [document_of(given) for given in request.documents]
    if request.text is not None:
        seeds.append(document_of(Given(text=request.text, title=request.title)))
    seeds += [index.document(id) for id in request.ids]
    if not seeds:
        raise UsageError("There is nothing to ask with: give a text, documents, files, or ids of the index")
    characters = sum(len(seed.text) for seed in seeds)
    if characters > limits.text_characters:
        raise TooLarge(f"The query has {characters:,} characters; this server takes {limits.text_characters:,}")
    return seeds


def seeds_object(seeds: list[Document], index: Index) -> list[dict[str, Any]]:
    """Where each of the documents is in the text that they make together."""
    objects, at = [], 0
    for seed in seeds:
        end = at + len(seed.text)
        told = {"id": seed.id, "title": seed.title, "start": at, "end": end}
        objects.append({**told, "indexed": index.holds(seed)})
        at = end + len(SEPARATOR)
    return objects
