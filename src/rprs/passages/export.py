"""Passages as JSON objects and back, as CSV and as JSON lines, with everything needed to reproduce them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from rprs import __version__
from rprs.alignment.values import Kind
from rprs.document import Document, Value
from rprs.index import Index
from rprs.passages.values import PassageHit, PassageResults
from rprs.rank.date_limit import Undated, as_date_limit
from rprs.results import FORMATS, Format
from rprs.results.csv_table import OF_SEARCH, condensed_csv, metadata_columns
from rprs.results.one_line import one_line
from rprs.results.serialize import id_list, now, pair_from, pair_object

__all__ = [
    "PASSAGE_FORMATS",
    "AboutPassages",
    "about_passages",
    "columns",
    "hit_object",
    "passages_from",
    "passages_object",
    "write_csv",
    "write_jsonl",
]


@dataclass(frozen=True, slots=True)
class AboutPassages:
    """Everything needed to find the same passages again."""

    version: str
    index: str  # the name of its folder
    fingerprint: str
    documents: int
    passage: str  # its text
    k: int
    kinds: str
    context: int
    where: str | None
    exclude: str | None  # the ids of excluded documents, sorted, as a JSON list
    before: str | None
    undated: str | None
    boilerplate: str | None  # "left out" if it is
    date: str  # of the search, ISO 8601 in UTC; the result does not depend on it

    def object(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)


def about_passages(
    index: Index,
    passage: Document,
    k: int,
    *,
    kinds: Sequence[Kind],
    context: int,
    where: str | None,
    exclude: Iterable[str],
    before: str | date | None,
    undated: Undated,
    boilerplate: bool,
    fingerprint: str | None = None,
) -> AboutPassages:
    """The provenance of passages; `fingerprint` is that of the index, if it is known already."""
    limit = as_date_limit(before, undated)
    return AboutPassages(
        version=__version__,
        index=index.path.resolve().name,
        fingerprint=fingerprint or index.fingerprint,
        documents=len(index),
        passage=passage.text,
        k=k,
        kinds=", ".join(kinds),
        context=context,
        where=where,
        exclude=id_list(exclude),
        before=limit.resolved([passage]) if limit else None,
        undated=limit.undated if limit else None,
        boilerplate=None if boilerplate else "left out",
        date=now(),
    )


def hit_object(hit: PassageHit) -> dict[str, Any]:
    """A passage with all its fields."""
    return {
        "rank": hit.rank,
        "id": hit.id,
        "title": hit.title,
        "metadata": dict(hit.metadata),
        "score": hit.score,
        "before": hit.before,
        "after": hit.after,
        "sentences": list(hit.sentences),
        "of": hit.of,
        **({"collection": hit.collection} if hit.collection else {}),
        "pair": pair_object(hit.pair),
    }


def passages_object(results: PassageResults) -> dict[str, Any]:
    """All passages of a search, with its notes and times."""
    passage = results.passage
    return {
        "passage": {"id": passage.id, "text": passage.text, "metadata": dict(passage.metadata)},
        "total": results.total,
        "compared": results.compared,
        "notes": list(results.notes),
        "seconds": dict(results.seconds),
        "hits": [hit_object(hit) for hit in results],
    }


def passages_from(values: Mapping[str, Any]) -> PassageResults:
    """The inverse of `passages_object`."""
    passage = values["passage"]
    return PassageResults(
        hits=tuple(_hit_from(hit) for hit in values["hits"]),
        passage=Document(passage["id"], passage["text"], "", passage["metadata"]),
        total=values["total"],
        compared=values["compared"],
        notes=tuple(values["notes"]),
        seconds=values["seconds"],
    )


def _hit_from(values: Mapping[str, Any]) -> PassageHit:
    first, last = values["sentences"]
    return PassageHit(**{**values, "pair": pair_from(values["pair"]), "sentences": (first, last)})


# ---------------------------------------------------------------------------- files


def columns(hits: Sequence[PassageHit]) -> dict[str, list[Value]]:
    """The values of all passages by column; metadata comes last."""
    pairs = [hit.pair for hit in hits]
    table: dict[str, list[Value]] = {
        "rank": [hit.rank for hit in hits],
        "id": [hit.id for hit in hits],
        "title": [hit.title for hit in hits],
        **({"collection": [hit.collection for hit in hits]} if any(hit.collection for hit in hits) else {}),
        "kind": [pair.kind for pair in pairs],
        "similarity": [pair.similarity for pair in pairs],
        "score": [hit.score for hit in hits],
        "query_passage": [one_line(pair.query) for pair in pairs],
        "before": [one_line(hit.before) for hit in hits],
        "document_passage": [one_line(pair.document) for pair in pairs],
        "after": [one_line(hit.after) for hit in hits],
        "first_sentence": [hit.sentences[0] for hit in hits],
        "last_sentence": [hit.sentences[1] for hit in hits],
        "start": [pair.document_span[0] for pair in pairs],
        "end": [pair.document_span[1] for pair in pairs],
        "boilerplate": [pair.boilerplate for pair in pairs],
    }
    return {**table, **metadata_columns([hit.metadata for hit in hits], [*table])}


def write_csv(hits: Sequence[PassageHit], about: AboutPassages) -> str:
    """A comment with the provenance, the names of the columns, and one line per passage."""
    return condensed_csv(columns(hits), about.object(), OF_SEARCH)


def write_jsonl(hits: Sequence[PassageHit], about: AboutPassages) -> str:
    """`{"about": …}`, then one object per passage."""
    objects = [{"about": about.object()}, *map(hit_object, hits)]
    return "".join(json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n" for value in objects)


PASSAGE_FORMATS: Mapping[str, Format[PassageHit, AboutPassages]] = {
    name: Format(name, FORMATS[name].suffix, FORMATS[name].media_type, write, FORMATS[name].encoding)
    for name, write in (("csv", write_csv), ("jsonl", write_jsonl))
}
