"""Hits and explanations as JSON objects and back, and the provenance of a result.

The command line prints these objects, the server sends them, the client reads them, and exported files contain the same
`About`. NaN is written as null; every other number is read back exactly.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any

from rprs.alignment.values import Alignment, Change, Coverage, Pair, Span
from rprs.document import Document, Sentences
from rprs.results.hits import Duplicate, Explanation, Hit, Results

__all__ = [
    "About",
    "about_from",
    "alignment_from",
    "alignment_object",
    "coverage_object",
    "explanation_from",
    "explanation_object",
    "hit_from",
    "hit_object",
    "id_list",
    "now",
    "pair_from",
    "pair_object",
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
    grouping: str | None = None  # "none" if near duplicates are hits of their own
    boilerplate: str | None = None  # "left out" if matches and coverage do not include it
    like: str | None = None  # the ids of documents marked as relevant, as a JSON list
    unlike: str | None = None  # the ids of documents marked as not relevant, as a JSON list
    key: str | None = None  # the ranges of the query that count more, as a JSON list of [start, end]
    ignore: str | None = None  # the ranges of the query that do not count, as a JSON list of [start, end]

    def object(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)


def now() -> str:
    """The present time, ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def id_list(ids: Iterable[str]) -> str | None:
    """Ids, sorted, as a JSON list; None if there are none."""
    listed = sorted(set(ids))
    return json.dumps(listed, ensure_ascii=False) if listed else None


def about_from(values: Mapping[str, Any]) -> About:
    """The inverse of `About.object`."""
    return About(**values)


# ---------------------------------------------------------------------------- to JSON

_PAIR_FIELDS, _CHANGE_FIELDS, _DUPLICATE_FIELDS, _COVERAGE_FIELDS = (
    tuple(field.name for field in fields(kind)) for kind in (Pair, Change, Duplicate, Coverage)
)


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
        "pairs": [pair_object(pair) for pair in hit.pairs],
        "query_coverage": coverage_object(hit.query_coverage),
        "document_coverage": coverage_object(hit.document_coverage),
        "relation": hit.relation,
        "duplicates": [_duplicate_object(duplicate) for duplicate in hit.duplicates],
        **({"collection": hit.collection} if hit.collection else {}),
    }


def pair_object(pair: Pair) -> dict[str, Any]:
    """A pair with all its fields; `asdict`, which copies every value, would take a noticeable part of a response."""
    changes = tuple({name: getattr(change, name) for name in _CHANGE_FIELDS} for change in pair.changes)
    return {name: getattr(pair, name) for name in _PAIR_FIELDS} | {"changes": changes}


def _duplicate_object(duplicate: Duplicate) -> dict[str, Any]:
    """A duplicate with all its fields, but without the collection where there is only one."""
    values = {name: getattr(duplicate, name) for name in _DUPLICATE_FIELDS} | {"metadata": dict(duplicate.metadata)}
    return {name: value for name, value in values.items() if value or name != "collection"}


def coverage_object(coverage: Coverage | None) -> dict[str, Any] | None:
    """A coverage with its sum and share; null where there is no alignment."""
    if coverage is None:
        return None
    values = {name: getattr(coverage, name) for name in _COVERAGE_FIELDS}
    return {**values, "matched": coverage.matched, "share": coverage.share}


def results_object(results: Results, query: str) -> dict[str, Any]:
    """All hits of a search, with its notes, sizes and times."""
    return {
        "candidates": results.candidates,
        "query_sentences": results.query_sentences,
        "notes": list(results.notes),
        "seconds": dict(results.seconds),
        "hits": [hit_object(hit, query) for hit in results],
    }


def explanation_object(explanation: Explanation) -> dict[str, Any]:
    """An explanation with all its fields."""
    return {
        **hit_object(explanation.hit, explanation.query.id),
        "in_pool": explanation.in_pool,
        **_sides_object(explanation.alignment),
        "notes": list(explanation.notes),
    }


def alignment_object(alignment: Alignment) -> dict[str, Any]:
    """An alignment of two documents that need not be in an index, with all its fields."""
    return {
        "query": alignment.query.id,
        "id": alignment.document.id,
        "title": alignment.document.title,
        "relation": alignment.relation,
        "query_coverage": coverage_object(alignment.query_coverage),
        "document_coverage": coverage_object(alignment.document_coverage),
        "pairs": [pair_object(pair) for pair in alignment.pairs],
        **_sides_object(alignment),
    }


def _sides_object(alignment: Alignment) -> dict[str, Any]:
    query, document, bare = alignment.query, alignment.document, alignment.without_boilerplate()
    return {
        "query_title": query.title,
        "query_sentences": len(alignment.query_sentences),
        "sentences": len(alignment.document_sentences),
        "query_boilerplate": list(alignment.query_boilerplate),
        "document_boilerplate": list(alignment.document_boilerplate),
        "uncovered": [{"span": span, "text": query.text[slice(*span)]} for span in alignment.query_unmatched],
        "document_uncovered": [
            {"span": span, "text": document.text[slice(*span)]} for span in alignment.document_unmatched
        ],
        "without_boilerplate": {
            "query_coverage": coverage_object(bare.query_coverage),
            "document_coverage": coverage_object(bare.document_coverage),
        },
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


# ---------------------------------------------------------------------------- from JSON

_HIT_FIELDS = (
    *("query", "rank", "id", "title", "score", "first_rank", "first_score", "metadata", "pairs"),
    *("query_coverage", "document_coverage", "relation", "duplicates", "collection"),
)
_EXPLANATION_FIELDS = (
    *("in_pool", "query_title", "query_sentences", "sentences", "query_boilerplate", "document_boilerplate"),
    *("uncovered", "document_uncovered", "without_boilerplate", "notes"),
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
        pairs=tuple(pair_from(pair) for pair in values["pairs"]),
        query_coverage=_coverage(values["query_coverage"]),
        document_coverage=_coverage(values["document_coverage"]),
        relation=values["relation"],
        duplicates=tuple(Duplicate(**duplicate) for duplicate in values["duplicates"]),
        collection=values.get("collection", ""),
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


def explanation_from(
    values: Mapping[str, Any], query: Document, document: Document, sentences: tuple[Sentences, Sentences]
) -> Explanation:
    """The inverse of `explanation_object`, given both texts and their sentences."""
    return Explanation(
        hit=hit_from(values),
        in_pool=values["in_pool"],
        alignment=alignment_from(values, query, document, sentences),
        notes=tuple(values["notes"]),
    )


def alignment_from(
    values: Mapping[str, Any], query: Document, document: Document, sentences: tuple[Sentences, Sentences]
) -> Alignment:
    """The inverse of `alignment_object`, given both texts and their sentences; also from an explanation."""
    query_coverage, document_coverage = _coverage(values["query_coverage"]), _coverage(values["document_coverage"])
    assert query_coverage is not None
    assert document_coverage is not None
    return Alignment(
        query=query,
        document=document,
        query_sentences=sentences[0],
        document_sentences=sentences[1],
        pairs=tuple(pair_from(pair) for pair in values["pairs"]),
        query_coverage=query_coverage,
        document_coverage=document_coverage,
        query_boilerplate=tuple(_span(span) for span in values["query_boilerplate"]),
        document_boilerplate=tuple(_span(span) for span in values["document_boilerplate"]),
        relation=values["relation"],
    )


def pair_from(values: Mapping[str, Any]) -> Pair:
    """A pair from the object of its fields."""
    spans: dict[str, Any] = {name: _span(values[name]) for name in ("query_span", "document_span")}
    changes = tuple(Change(_span(change["query_span"]), _span(change["document_span"])) for change in values["changes"])
    return Pair(**{**values, **spans, "changes": changes})


def _coverage(values: Mapping[str, Any] | None) -> Coverage | None:
    if values is None:
        return None
    return Coverage(values["words"], values["identical"], values["reworded"], values["same_idea"])


def _span(values: Sequence[int]) -> Span:
    return values[0], values[1]


def _float(value: float | None) -> float:
    return math.nan if value is None else float(value)
