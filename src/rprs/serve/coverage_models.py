"""Requests and responses of the routes for coverage: a part of the OpenAPI schema."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rprs.alignment.values import Kind, Relation
from rprs.charts import SOURCES
from rprs.charts.values import Passage
from rprs.results.serialize import About
from rprs.serve.described import Described
from rprs.serve.models import Coverage, Id, Query, SearchRequest, Span, Uncovered, Value

__all__ = [
    "Chart",
    "ChartGroup",
    "ChartRow",
    "ChartSource",
    "Cover",
    "CoverageExportRequest",
    "CoverageRequest",
    "CoverageResponse",
]


class CoverageRequest(SearchRequest):
    """A search whose hits, or else the documents that are named as sources, are compared with the query."""

    k: int = Field(SOURCES, ge=1, le=50, description="Number of sources: the best hits.")
    sources: list[Id] | None = Field(
        None, min_length=1, max_length=50, description="Documents in the index to compare with, in place of a search."
    )
    without: list[Id] = Field(default_factory=list, max_length=10_000, description="Hits that are no sources.")
    parts: bool = Field(
        False,
        description="With server-sent events: send the rows as an event `chart`, and each source with what it covers "
        "as an event `source`, as soon as they are known. The result then has neither.",
    )


class CoverageExportRequest(CoverageRequest):
    """A coverage whose chart is exported as a file."""

    format: Literal["docx", "csv", "json"]


class Cover(Described):
    """How a source covers a row."""

    source: int = Field(description="Its place among the sources, from 0.")
    kind: Kind = Field(description="That of most of the covered words.")
    similarity: float
    words: int = Field(description="Words of the row that have a counterpart.")
    strength: float = Field(description="The share of the row that is covered; similar meaning counts half.")
    boilerplate: bool
    passages: list[Passage]


class ChartRow(Described):
    """A sentence, or an element of a patent claim."""

    label: str = Field(examples=["12", "1[a]"])
    text: str
    span: Span
    words: int
    group: int
    boilerplate: bool
    covers: list[Cover] = Field(description="Best first.")


class ChartGroup(Described):
    """A paragraph or a claim: the rows from `first` to before `stop`."""

    label: str = Field(examples=["Paragraph 3", "Claim 1"])
    claim: int | None
    first: int
    stop: int
    span: Span


class ChartSource(Described):
    """A document that was compared with the query."""

    rank: int
    id: str
    title: str
    relation: Relation
    metadata: dict[str, Value]
    query_coverage: Coverage
    document_coverage: Coverage
    duplicates: list[str]
    collection: str = Field("", description="Of all collections together: the name of the one that has the document.")


class Chart(Described):
    """Which parts of a document are covered by which sources, and what none of them covers."""

    query: str
    query_title: str
    groups: list[ChartGroup]
    rows: list[ChartRow]
    sources: list[ChartSource]
    coverage: Coverage
    gaps: list[Uncovered]
    notes: list[str]


class CoverageResponse(Described):
    """The coverage of a document by its best hits."""

    job: str
    about: About
    query: Query
    chart: Chart
