"""What the routes take and give: the source of the OpenAPI schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from rprs.results.hits import Pair
from rprs.results.serialize import About

__all__ = [
    "AddRequest",
    "Added",
    "Document",
    "Documents",
    "Error",
    "ExplainAnswer",
    "ExplainRequest",
    "Explanation",
    "ExportRequest",
    "Given",
    "Health",
    "Hit",
    "Info",
    "Listed",
    "Query",
    "Removed",
    "ReportRequest",
    "SearchAnswer",
    "SearchRequest",
    "Seed",
    "Side",
    "Uncovered",
]

Value = str | int | float | bool | None
Id = Annotated[str, Field(min_length=1, max_length=1000, examples=["opinions/dunmore-v-pellam.txt"])]
Span = Annotated[list[int], Field(min_length=2, max_length=2, description="Start and end, in code points of the text.")]


class _Strict(BaseModel):
    """A request: what it does not know is a mistake."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)  # JSON has no place for such numbers in an answer


class Given(_Strict):
    """A document that comes with the request."""

    text: str = Field(description="All of it: nothing is cut off.", examples=["The tenant withheld the rent."])
    id: Id = "query"
    title: str = Field("", max_length=10_000)
    metadata: dict[str, Value] = Field(default_factory=dict)


class SearchRequest(_Strict):
    """Documents to ask with, together: those given, then the text, then those of the index."""

    text: str | None = Field(None, description="A text to ask with.", examples=["The tenant withheld the rent."])
    title: str = Field("", max_length=10_000, description="What the text is called.")
    documents: list[Given] = Field(default_factory=list, max_length=100)
    ids: list[Id] = Field(default_factory=list, max_length=100, description="Documents of the index to ask with.")
    k: int = Field(10, ge=1, le=1_000_000, description="How many hits.")
    where: str | None = Field(
        None, max_length=10_000, description="A metadata filter.", examples=["date < 2016-01-01 and court = ca9"]
    )
    keep_self: bool = Field(False, description="Do not leave the query itself out of the hits.")
    pairs: int = Field(3, ge=0, le=1000, description="How many pairs of sentences a hit comes with.")
    echo: bool = Field(False, description="Answer with the text of the query, too: what was read from an upload.")


class ExplainRequest(SearchRequest):
    """A search, and the document of the index to explain."""

    document: Id


class ExportRequest(SearchRequest):
    """A search whose hits are wanted as a file."""

    format: Literal["csv", "jsonl", "trec", "ris", "bibtex"]
    without: list[Id] = Field(default_factory=list, max_length=10_000, description="Hits to leave out.")


class ReportRequest(ExplainRequest):
    """An explanation that is wanted as a page to mail."""

    min_similarity: float = Field(-1.0, ge=-1.0, le=1.0, description="Leave out weaker pairs.")


class AddRequest(_Strict):
    """Documents to add, or to put in the place of those with the same ids."""

    documents: list[Given] = Field(default_factory=list, max_length=10_000)


# ---------------------------------------------------------------------------- answers


class Error(BaseModel):
    """What is wrong, in one line."""

    error: str
    kind: str = Field(description="The class of the error.", examples=["EmptyQuery"])


class Hit(BaseModel):
    """A document found. Further parts of its score, as the re-ranker has them, are further numbers."""

    model_config = ConfigDict(extra="allow")

    query: str
    rank: int
    id: str
    title: str
    score: float | None
    qp: float | None = Field(description="How much of the query this document answers.")
    dp: float | None = Field(description="How much of this document is about the query.")
    first_rank: int
    first_score: float | None
    metadata: dict[str, Value]
    pairs: list[Pair]


class Uncovered(BaseModel):
    """A sentence of the query that nothing in the document matches."""

    span: Span
    text: str


class Explanation(Hit):
    """A hit with all its pairs, in the order of the query."""

    in_pool: bool
    query_title: str
    query_sentences: int
    query_sentences_matched: int
    sentences: int
    sentences_matched: int
    uncovered: list[Uncovered]
    notes: list[str]


class Seed(BaseModel):
    """One of the documents that were asked together, and where it is in their joined text."""

    id: str
    title: str
    start: int
    end: int
    indexed: bool


class Query(BaseModel):
    """What was asked."""

    id: str
    title: str
    text: str | None
    hash: str
    seeds: list[Seed]


class Side(BaseModel):
    """A text with its sentences."""

    id: str
    title: str
    metadata: dict[str, Value]
    text: str
    spans: list[Span]
    paragraphs: list[int]
    seeds: list[Seed]


class SearchAnswer(BaseModel):
    """The hits of a search, best first."""

    job: str
    about: About
    query: Query
    candidates: int
    query_sentences: int
    notes: list[str]
    seconds: dict[str, float]
    hits: list[Hit]


class ExplainAnswer(BaseModel):
    """Why a document is like the query."""

    job: str
    about: About
    explanation: Explanation
    query: Side
    document: Side


class Listed(BaseModel):
    """A document without its text."""

    id: str
    title: str
    metadata: dict[str, Value]


class Documents(BaseModel):
    """Documents found by the words of their ids and titles."""

    documents: list[Listed]
    total: int


class Document(Listed):
    """A document of the index."""

    text: str
    sentences: int


class Added(BaseModel):
    """What became of documents to add."""

    added: int
    changed: int
    unchanged: int
    skipped: list[str]
    fingerprint: str


class Removed(BaseModel):
    """What became of a document to remove."""

    removed: int
    fingerprint: str


class Health(BaseModel):
    """That the server is there."""

    status: Literal["ok"]


class Info(BaseModel):
    """What the index holds and how it is asked."""

    version: str
    index: str
    documents: int
    sentences: int
    fingerprint: str
    splitter: str
    analyzer: str
    encoder: str
    pending: int
    settings: dict[str, Any]
    fields: list[dict[str, Any]]
    writable: bool
    suffixes: list[str]
    limits: dict[str, float]
