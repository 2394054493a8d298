"""Coverage charts as JSON objects and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from rprs.alignment.values import Change, Coverage
from rprs.charts.values import Chart, Cover, Covers, Group, Passage, Row, Source
from rprs.document import Document
from rprs.results.serialize import coverage_object

__all__ = ["chart_from", "chart_object", "head_object", "source_object"]


def chart_object(chart: Chart) -> dict[str, Any]:
    """A chart with all its fields; `gaps` are the passages that no source covers."""
    text = chart.query.text
    return {
        **head_object(chart),
        "sources": [_source_object(source) for source in chart.sources],
        "coverage": coverage_object(chart.coverage),
        "gaps": [{"span": span, "text": text[slice(*span)]} for span in chart.passages_without_source()],
        "notes": list(chart.notes),
    }


def head_object(chart: Chart) -> dict[str, Any]:
    """The groups and rows of a chart."""
    return {
        "query": chart.query.id,
        "query_title": chart.query.title,
        "groups": [asdict(group) for group in chart.groups],
        "rows": [_row_object(row) for row in chart.rows],
    }


def source_object(source: Source, covers: Covers) -> dict[str, Any]:
    """One source, and the rows that it covers by their numbers, from 0."""
    listed = [{"row": row, **_cover_object(cover)} for row, cover in covers.items()]
    return {"source": _source_object(source), "covers": listed}


def _row_object(row: Row) -> dict[str, Any]:
    names = ("label", "text", "span", "words", "group", "boilerplate")
    return {**{name: getattr(row, name) for name in names}, "covers": [_cover_object(cover) for cover in row.covers]}


def _cover_object(cover: Cover) -> dict[str, Any]:
    names = ("source", "kind", "similarity", "words", "strength", "boilerplate")
    return {
        **{name: getattr(cover, name) for name in names},
        "passages": [asdict(passage) for passage in cover.passages],
    }


def _source_object(source: Source) -> dict[str, Any]:
    return {
        **{name: getattr(source, name) for name in ("rank", "id", "title", "relation")},
        "metadata": dict(source.metadata),
        "query_coverage": coverage_object(source.query_coverage),
        "document_coverage": coverage_object(source.document_coverage),
        "duplicates": list(source.duplicates),
        **({"collection": source.collection} if source.collection else {}),
    }


# ---------------------------------------------------------------------------- from JSON


def chart_from(values: Mapping[str, Any], query: Document) -> Chart:
    """The inverse of `chart_object`, given the query."""
    return Chart(
        query=query,
        groups=tuple(Group(**{**group, "span": tuple(group["span"])}) for group in values["groups"]),
        rows=tuple(_row(row) for row in values["rows"]),
        sources=tuple(_source(source) for source in values["sources"]),
        coverage=_coverage(values["coverage"]),
        notes=tuple(values["notes"]),
    )


def _row(values: Mapping[str, Any]) -> Row:
    return Row(**{**values, "span": tuple(values["span"]), "covers": tuple(map(_cover, values["covers"]))})


def _cover(values: Mapping[str, Any]) -> Cover:
    return Cover(**{**values, "passages": tuple(map(_passage, values["passages"]))})


def _passage(values: Mapping[str, Any]) -> Passage:
    changes = tuple(Change(tuple(each["query_span"]), tuple(each["document_span"])) for each in values["changes"])
    return Passage(**{**values, **_spans(values, ("query_span", "document_span")), "changes": changes})


def _spans(values: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: tuple(values[name]) for name in names}


def _source(values: Mapping[str, Any]) -> Source:
    coverages = {name: _coverage(values[name]) for name in ("query_coverage", "document_coverage")}
    return Source(**{**values, **coverages, "duplicates": tuple(values["duplicates"])})


def _coverage(values: Mapping[str, Any]) -> Coverage:
    return Coverage(values["words"], values["identical"], values["reworded"], values["same_idea"])
