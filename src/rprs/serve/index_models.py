"""Requests and responses about the documents of an index, the collections, and the server: a part of the schema."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from rprs.serve.described import Described
from rprs.serve.models import DocumentInput, Strict, Value

__all__ = [
    "AddRequest",
    "Added",
    "Collection",
    "CollectionList",
    "CreateRequest",
    "Created",
    "Document",
    "DocumentSummary",
    "Documents",
    "Health",
    "Info",
    "Removed",
    "SkippedFiles",
]


class AddRequest(Strict):
    """Documents to add; documents with the same ids are replaced."""

    documents: list[DocumentInput] = Field(default_factory=list, max_length=10_000)
    folder: str | None = Field(None, max_length=4096, description="A folder that the server may read (`--files`).")


class CreateRequest(AddRequest):
    """A new collection with its first documents."""

    name: str = Field(min_length=1, max_length=80, description="Letters, digits, spaces, `.`, `-` and `_`.")
    encoder: Literal["fitted", "onnx", "hashed"] | None = Field(
        None, description="How sentences become vectors; collections with the same encoder can be searched together."
    )


class DocumentSummary(Described):
    """A document without its text."""

    id: str
    title: str
    metadata: dict[str, Value]


class Documents(Described):
    """Documents whose id or title contains the words."""

    documents: list[DocumentSummary]
    total: int


class Document(DocumentSummary):
    """A document in the index."""

    text: str
    sentences: int


class SkippedFiles(Described):
    """Files that were not read for the same reason."""

    reason: str
    count: int
    names: list[str] = Field(description="The first of them.")


class Added(Described):
    """The outcome of adding documents."""

    added: int
    changed: int
    unchanged: int
    skipped: list[str]
    skipped_by_reason: list[SkippedFiles] = Field([])
    notes: list[str] = Field([])
    fingerprint: str


class Created(Described):
    """The outcome of creating a collection."""

    name: str
    added: int
    changed: int
    unchanged: int
    skipped: list[str]
    skipped_by_reason: list[SkippedFiles]
    notes: list[str] = Field([])


class Collection(Described):
    """A collection of this server; one that was moved or deleted has no documents and no fingerprint."""

    name: str
    documents: int
    sentences: int
    fingerprint: str
    encoder: str = Field(description="How sentences become vectors, or `cannot be opened`.")


class CollectionList(Described):
    """All collections. `_together` as a name is all of them as one, if that is exact; `reason` says why not."""

    collections: list[Collection]
    together: bool
    reason: str | None
    can_create: bool = Field(description="Whether the server was started with a folder for collections.")
    folders: list[str] = Field(description="Folders of the server whose files can be added.")


class Removed(Described):
    """The outcome of removing a document."""

    removed: int
    fingerprint: str


class Health(Described):
    """The server is running."""

    status: Literal["ok"]


class Info(Described):
    """The index, the system, and the limits of the server."""

    version: str
    index: str
    documents: int
    sentences: int
    fingerprint: str
    splitter: str
    analyzer: str
    encoder: str
    vectors: str
    pending: int
    settings: dict[str, Any]
    fields: list[dict[str, Any]]
    writable: bool
    matters: bool = Field(description="Whether the server has a folder for matters.")
    suffixes: list[str]
    limits: dict[str, float]
    collections: list[str] = Field(description="The names of all collections of this server.")
    together: bool = Field(description="Whether all of them can be searched as one.")
    can_create: bool = Field(description="Whether the server was started with a folder for collections.")
