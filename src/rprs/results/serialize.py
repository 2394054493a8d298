"""Hits and explanations as JSON objects and back, and what a result depends on.

The command line prints these objects, the server answers with them, the client reads them, and files to take away
carry the same `About`. A number that is not there (NaN) is null; every other comes back bit by bit.
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
    """What a result depends on: with the same of all this, it can be had again."""

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
    date: str  # of the answer, ISO 8601 in UTC; nothing depends on it

    def object(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)


def about_from(found: Mapping[str, Any]) -> About:
    """The inverse of `About.object`."""
    return About(**found)


# ---------------------------------------------------------------------------- to JSON


def hit_object(hit: Hit, query: str) -> dict[str, Any]:
    """A hit with all that is known of it."""
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
    """All hits of a search, with what else it has to tell."""
    return {
        "candidates": results.candidates,
        "query_sentences": results.query_sentences,
        "notes": list(results.notes),
        "seconds": dict(results.seconds),
        "hits": [hit_object(hit, query) for hit in results],
    }


def explanation_object(found: Explanation, sentences: int) -> dict[str, Any]:
    """An explanation with all that is known; `sentences` is how many the document has."""
    matched_query, matched = matches(found.hit.pairs)
    return {
        **hit_object(found.hit, found.query.id),
        "in_pool": found.in_pool,
        "query_title": found.query.title,
        "query_sentences": found.sentences,
        "query_sentences_matched": matched_query,
        "sentences": sentences,
        "sentences_matched": matched,
        "uncovered": [{"span": span, "text": found.query.text[slice(*span)]} for span in found.uncovered],
        "notes": found.notes,
    }


def matches(pairs: Sequence[Pair]) -> tuple[int, int]:
    """How many sentences of the query, and of the document, the pairs have."""
    return len({pair.query_span for pair in pairs}), len({pair.document_span for pair in pairs})


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


# ---------------------------------------------------------------------------- from JSON

_OF_A_HIT = ("query", "rank", "id", "title", "score", "first_rank", "first_score", "metadata", "pairs")
_OF_AN_EXPLANATION = (
    *("in_pool", "query_title", "query_sentences", "query_sentences_matched"),
    *("sentences", "sentences_matched", "uncovered", "notes"),
)


def hit_from(found: Mapping[str, Any]) -> Hit:
    """The inverse of `hit_object`: what has no other place is a part of the score."""
    parts = {name: value for name, value in found.items() if name not in (*_OF_A_HIT, *_OF_AN_EXPLANATION)}
    return Hit(
        rank=found["rank"],
        id=found["id"],
        score=_float(found["score"]),
        title=found["title"],
        metadata=found["metadata"],
        first_rank=found["first_rank"],
        first_score=_float(found["first_score"]),
        parts={name: _float(value) for name, value in parts.items() if value is not None},
        pairs=tuple(_pair(pair) for pair in found["pairs"]),
    )


def results_from(found: Mapping[str, Any]) -> Results:
    """The inverse of `results_object`."""
    return Results(
        hits=tuple(hit_from(hit) for hit in found["hits"]),
        candidates=found["candidates"],
        query_sentences=found["query_sentences"],
        notes=tuple(found["notes"]),
        seconds=found["seconds"],
    )


def explanation_from(found: Mapping[str, Any], query: Document, document: Document) -> Explanation:
    """The inverse of `explanation_object`, given both texts."""
    return Explanation(
        hit=hit_from(found),
        in_pool=found["in_pool"],
        query=query,
        document=document,
        sentences=found["query_sentences"],
        uncovered=tuple(_span(part["span"]) for part in found["uncovered"]),
        notes=tuple(found["notes"]),
    )


def _pair(found: Mapping[str, Any]) -> Pair:
    spans = {name: _span(found[name]) for name in ("query_span", "document_span")}
    return Pair(**{**found, **spans})


def _span(found: Sequence[int]) -> Span:
    return found[0], found[1]


def _float(value: float | None) -> float:
    return math.nan if value is None else float(value)
