"""Hits and explanations as JSON objects and back, and the provenance of a result.

The command line prints these objects, the server sends them, the client reads them, and exported files contain the same
`About`. NaN is written as null; every other number is read back exactly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rprs.document import Document
from rprs.results.hits import Explanation, Hit, Pair, Results, Span

__all__ = [
    "About",
    "about_from",
    "explanation_from",
    "explanation_object",
    "hit_from",
    "hit_object",
    "matches",
    "results_from",
    "results_object",
]


@dataclass(frozen=True, slots=True)
class About:
    """Everything needed to reproduce a result."""

    version: str
    index: str  # the name of its folder
    fingerprint: str
    documents: int
    first: str
    rerank: str | None
    depth: int
    cutoff: str | None
    where: str | None
    keep_self: bool
    k: int
    query: str
    query_hash: str
    date: str  # of the search, ISO 8601 in UTC; the result does not depend on it
    exclude: str | None = None  # the ids of excluded documents, sorted, as a JSON list
    before: str | None = None  # the field and the date of a date limit: date=2015-06-01
    undated: str | None = None  # what a date limit did with documents without a date: keep or drop

    def object(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)


def about_from(values: Mapping[str, Any]) -> About:
    """The inverse of `About.object`."""
    return About(**values)


# ---------------------------------------------------------------------------- to JSON


def hit_object(hit: Hit, query: str) -> dict[str, Any]:
    """A hit with all its fields."""
    return {
        "query": query,
        "rank": hit.rank,
        "id": hit.id,
        "title": hit.title,
        "score": _number(hit.score),
        **{name: _number(value) for name, value in ({"qp": hit.qp, "dp": hit.dp} | dict(hit.parts)).items()},
        "first_rank": hit.first_rank,
        "first_score": _number(hit.first_score),
        "metadata": dict(hit.metadata),
        "pairs": [asdict(pair) for pair in hit.pairs],
    }


def results_object(results: Results, query: str) -> dict[str, Any]:
    """All hits of a search, with its notes, sizes and times."""
    return {
        "candidates": results.candidates,
        "query_sentences": results.query_sentences,
        "notes": list(results.notes),
        "seconds": dict(results.seconds),
        "hits": [hit_object(hit, query) for hit in results],
    }


def explanation_object(explanation: Explanation, sentences: int) -> dict[str, Any]:
    """An explanation with all its fields; `sentences` is the number of sentences of the document."""
    matched_query, matched = matches(explanation.hit.pairs)
    query = explanation.query
    return {
        **hit_object(explanation.hit, query.id),
        "in_pool": explanation.in_pool,
        "query_title": query.title,
        "query_sentences": explanation.sentences,
        "query_sentences_matched": matched_query,
        "sentences": sentences,
        "sentences_matched": matched,
        "uncovered": [{"span": span, "text": query.text[slice(*span)]} for span in explanation.uncovered],
        "notes": explanation.notes,
    }


def matches(pairs: Sequence[Pair]) -> tuple[int, int]:
    """The number of sentences of the query, and of the document, that occur in pairs."""
    return len({pair.query_span for pair in pairs}), len({pair.document_span for pair in pairs})


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


# ---------------------------------------------------------------------------- from JSON

_HIT_FIELDS = ("query", "rank", "id", "title", "score", "first_rank", "first_score", "metadata", "pairs")
_EXPLANATION_FIELDS = (
    *("in_pool", "query_title", "query_sentences", "query_sentences_matched"),
    *("sentences", "sentences_matched", "uncovered", "notes"),
)


def hit_from(values: Mapping[str, Any]) -> Hit:
    """The inverse of `hit_object`; keys that are not fields of a hit or an explanation are parts of the score."""
    parts = {name: value for name, value in values.items() if name not in (*_HIT_FIELDS, *_EXPLANATION_FIELDS)}
    return Hit(
        rank=values["rank"],
        id=values["id"],
        score=_float(values["score"]),
        title=values["title"],
        metadata=values["metadata"],
        first_rank=values["first_rank"],
        first_score=_float(values["first_score"]),
        parts={name: _float(value) for name, value in parts.items() if value is not None},
        pairs=tuple(_pair(pair) for pair in values["pairs"]),
    )


def results_from(values: Mapping[str, Any]) -> Results:
    """The inverse of `results_object`."""
    return Results(
        hits=tuple(hit_from(hit) for hit in values["hits"]),
        candidates=values["candidates"],
        query_sentences=values["query_sentences"],
        notes=tuple(values["notes"]),
        seconds=values["seconds"],
    )


def explanation_from(values: Mapping[str, Any], query: Document, document: Document) -> Explanation:
    """The inverse of `explanation_object`, given both texts."""
    return Explanation(
        hit=hit_from(values),
        in_pool=values["in_pool"],
        query=query,
        document=document,
        sentences=values["query_sentences"],
        uncovered=tuple(_span(part["span"]) for part in values["uncovered"]),
        notes=tuple(values["notes"]),
    )


def _pair(values: Mapping[str, Any]) -> Pair:
    spans = {name: _span(values[name]) for name in ("query_span", "document_span")}
    return Pair(**{**values, **spans})


def _span(values: Sequence[int]) -> Span:
    return values[0], values[1]


def _float(value: float | None) -> float:
    return math.nan if value is None else float(value)
