"""Requests and responses of searches: with `index_models` and `coverage_models`, the source of the OpenAPI schema."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from rprs.alignment.values import KINDS, Kind, Pair, Relation
from rprs.results.hits import Duplicate
from rprs.results.serialize import About
from rprs.serve.described import Described

__all__ = [
    "AlignRequest",
    "AlignResponse",
    "AlignedText",
    "Alignment",
    "Coverage",
    "Coverages",
    "DocumentInput",
    "Error",
    "ExplainRequest",
    "ExplainResponse",
    "Explanation",
    "ExportRequest",
    "Hit",
    "Query",
    "ReportRequest",
    "SearchRequest",
    "SearchResponse",
    "Seed",
    "Sides",
    "Strict",
    "Uncovered",
]

Value = str | int | float | bool | None
Id = Annotated[str, Field(min_length=1, max_length=1000, examples=["opinions/dunmore-v-pellam.txt"])]
Span = Annotated[
    list[int], Field(min_length=2, max_length=2, description="Start and end, counted in Unicode code points.")
]


class Strict(BaseModel):
    """A request; unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)  # JSON cannot represent such numbers


class DocumentInput(Strict):
    """A document in a request."""

    text: str = Field(description="The full text; nothing is truncated.", examples=["The tenant withheld the rent."])
    id: Id = "query"
    title: str = Field("", max_length=10_000)
    metadata: dict[str, Value] = Field(default_factory=dict)


class SearchRequest(Strict):
    """A search. Files, documents, text and documents from the index are combined into one query, in this order."""

    text: str | None = Field(None, description="Text of a query document.", examples=["The tenant withheld the rent."])
    title: str = Field("", max_length=10_000, description="The title of the text.")
    documents: list[DocumentInput] = Field(default_factory=list, max_length=100)
    ids: list[Id] = Field(default_factory=list, max_length=100, description="Documents in the index, used as query.")
    k: int = Field(10, ge=1, le=1_000_000, description="Number of hits.")
    where: str | None = Field(
        None, max_length=10_000, description="A metadata filter.", examples=["date < 2016-01-01 and court = ca9"]
    )
    keep_self: bool = Field(False, description="Include the query itself, if it is in the index.")
    exclude: list[Id] = Field(
        default_factory=list, max_length=10_000, description="Documents that must not be candidates."
    )
    before: str | None = Field(
        None,
        min_length=1,
        max_length=1000,
        description="A date limit: a metadata field (nothing newer than the query), a date, or both.",
        examples=["date", "2015-06-01", "decided=2015-06-01"],
    )
    undated: Literal["keep", "drop"] = Field(
        "keep", description="What a date limit does with documents without a date."
    )
    like: list[Id] = Field(
        default_factory=list, max_length=100, description="Relevant documents, which join the query with a weight."
    )
    unlike: list[Id] = Field(
        default_factory=list, max_length=10_000, description="Documents that are not relevant: they are left out."
    )
    key: list[Span] = Field(
        default_factory=list, max_length=10_000, description="Passages of the query whose sentences count more."
    )
    ignore: list[Span] = Field(
        default_factory=list, max_length=10_000, description="Passages of the query whose sentences do not count."
    )
    pairs: int = Field(3, ge=0, le=1000, description="Number of matching passages per hit, the most telling first.")
    group: bool = Field(True, description="List documents with almost the same text beneath the best of them.")
    boilerplate: bool = Field(True, description="Include boilerplate in matches and coverage.")
    echo: bool = Field(False, description="Return the text of the query, for example as read from an upload.")


class ExplainRequest(SearchRequest):
    """A search, and the document in the index to explain."""

    document: Id = Field(description="The id of the document to explain.")


class ExportRequest(SearchRequest):
    """A search whose hits are exported as a file."""

    format: Literal["csv", "jsonl", "trec", "ris", "bibtex"]
    without: list[Id] = Field(
        default_factory=list,
        max_length=10_000,
        description="Hits to omit from the file. Ranks and scores stay as they are.",
    )


class ReportRequest(ExplainRequest):
    """An explanation, exported as one HTML file."""

    kinds: list[Kind] = Field(list(KINDS), min_length=1, max_length=3, description="The kinds of match to include.")


class AlignRequest(Strict):
    """Two documents to align; each is given with its text, or by its id if it is in the index."""

    query: DocumentInput | Id
    document: DocumentInput | Id
    boilerplate: bool = Field(True, description="Include boilerplate in matches and coverage.")


# ---------------------------------------------------------------------------- responses


class Error(Described):
    """What is wrong, in one line."""

    error: str
    kind: str = Field(description="The class of the error.", examples=["EmptyQuery"])


class Coverage(Described):
    """How many words of a text have a counterpart in the other, by kind."""

    words: int
    identical: int
    reworded: int
    same_idea: int
    matched: int
    share: float


class Coverages(Described):
    """The coverage of both documents."""

    query_coverage: Coverage
    document_coverage: Coverage


class Hit(Described):
    """A document in the results. Further components of the re-ranker's score are additional numbers."""

    model_config = ConfigDict(extra="allow")

    query: str
    rank: int
    id: str
    title: str
    score: float | None
    qp: float | None = Field(description="Query proportion: weighted share of the query found in this document.")
    dp: float | None = Field(description="Document proportion: weighted share of this document related to the query.")
    first_rank: int
    first_score: float | None
    metadata: dict[str, Value]
    pairs: list[Pair]
    query_coverage: Coverage | None
    document_coverage: Coverage | None
    relation: Relation
    duplicates: list[Duplicate]
    collection: str = Field("", description="Of all collections together: the name of the one that has the document.")


class Uncovered(Described):
    """A sentence of the query without a match in the document."""

    span: Span
    text: str


class Sides(Described):
    """Both documents of an alignment: their sizes, boilerplate, and sentences without a counterpart."""

    query_title: str
    query_sentences: int
    sentences: int
    query_boilerplate: list[Span]
    document_boilerplate: list[Span]
    uncovered: list[Uncovered]
    document_uncovered: list[Uncovered]
    without_boilerplate: Coverages


class Alignment(Sides):
    """What two documents have in common."""

    query: str
    id: str
    title: str
    relation: Relation
    query_coverage: Coverage
    document_coverage: Coverage
    pairs: list[Pair]


class Explanation(Hit, Sides):
    """A hit with all its pairs, in the order of the query."""

    in_pool: bool
    notes: list[str]


class Seed(Described):
    """One of the query documents, and its position in the combined text."""

    id: str
    title: str
    start: int
    end: int
    indexed: bool
    metadata: dict[str, Value]


class Query(Described):
    """The query as it was run."""

    id: str
    title: str
    text: str | None
    hash: str
    seeds: list[Seed]


class AlignedText(Described):
    """A text with its sentences."""

    id: str
    title: str
    metadata: dict[str, Value]
    text: str
    spans: list[Span]
    paragraphs: list[int]
    seeds: list[Seed]


class SearchResponse(Described):
    """The hits of a search, best first."""

    job: str
    about: About
    query: Query
    candidates: int
    query_sentences: int
    notes: list[str]
    seconds: dict[str, float]
    hits: list[Hit]


class ExplainResponse(Described):
    """Why a document is similar to the query."""

    job: str
    about: About
    explanation: Explanation
    query: AlignedText
    document: AlignedText


class AlignResponse(Described):
    """What two documents have in common, with both texts."""

    job: str
    alignment: Alignment
    query: AlignedText
    document: AlignedText
