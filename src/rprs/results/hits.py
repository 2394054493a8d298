"""What a search returns: hits with their evidence, and the explanation of one hit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np

from rprs.alignment.values import Alignment, Coverage, Kind, Pair, Relation, Span
from rprs.document import Document, Metadata, Ranking

__all__ = ["Duplicate", "Explanation", "Hit", "Pair", "Results", "Span", "ranking_of"]


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A document of a result list with the same or almost the same text as the hit that it is grouped under."""

    id: str
    title: str
    relation: Relation  # identical or near duplicate
    score: float
    rank: int  # in the list without groups
    metadata: Metadata
    collection: str = ""  # of a search over several collections: the one that has it


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved document, with its scores and its evidence."""

    rank: int
    id: str
    score: float
    title: str
    metadata: Metadata
    first_rank: int
    first_score: float
    parts: Mapping[str, float] = field(default_factory=dict)
    pairs: tuple[Pair, ...] = ()  # of a search: the most telling ones, best first
    query_coverage: Coverage | None = None  # None where no pairs were asked for
    document_coverage: Coverage | None = None
    relation: Relation = "different"
    duplicates: tuple[Duplicate, ...] = ()
    collection: str = ""  # of a search over several collections: the one that has it

    @property
    def qp(self) -> float:
        """The proportion of the query that this document covers; NaN if the re-ranker has no QP."""
        return self.parts.get("qp", float("nan"))

    @property
    def dp(self) -> float:
        """The proportion of this document that matches the query; NaN if the re-ranker has no DP."""
        return self.parts.get("dp", float("nan"))

    def __repr__(self) -> str:
        title = f", {_short(self.title)!r}" if self.title and self.title != self.id else ""
        return f"<Hit {self.rank}: {self.id}, score {self.score:.4g}{title}, {_count(len(self.pairs), 'pair')}>"

    def _repr_html_(self) -> str:
        from rprs.results.notebook import hits_html

        return hits_html([self])


@dataclass(frozen=True, slots=True)
class Results(Sequence[Hit]):
    """The hits of one search, best first, with notes and the seconds that each stage took."""

    hits: tuple[Hit, ...]
    candidates: int
    query_sentences: int
    notes: tuple[str, ...]
    seconds: Mapping[str, float]

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Hit]: ...
    def __getitem__(self, place: int | slice) -> Hit | Sequence[Hit]:
        return self.hits[place]

    def __repr__(self) -> str:
        best = f"; best: {self.hits[0].id} ({self.hits[0].score:.4g})" if self.hits else ""
        return f"<Results: {_count(len(self), 'hit')} among {_count(self.candidates, 'candidate')}{best}>"

    def _repr_html_(self) -> str:
        from rprs.results.notebook import hits_html

        return hits_html(self.hits, self.notes)

    def to_frame(self) -> Any:
        """A pandas DataFrame with one row per hit and the columns of the CSV export: rank, id, title, relation, ..."""
        from rprs.evaluation.frame import data_frame
        from rprs.results.csv_table import columns

        return data_frame("Results.to_frame", columns(self.hits))


def ranking_of(hits: Sequence[Hit]) -> Ranking:
    """The ids and scores of hits."""
    return Ranking(tuple(hit.id for hit in hits), np.array([hit.score for hit in hits], dtype=np.float64))


@dataclass(frozen=True, slots=True)
class Explanation:
    """The evidence for one document: its alignment with the query, and its place in the search."""

    hit: Hit  # with all its pairs, in the order of the query
    in_pool: bool  # whether the first stage found it; if not, it was appended to the candidates
    alignment: Alignment
    notes: tuple[str, ...] = ()

    @property
    def query(self) -> Document:
        """The query; several documents are combined."""
        return self.alignment.query

    @property
    def document(self) -> Document:
        """The document that is explained."""
        return self.alignment.document

    @property
    def sentences(self) -> int:
        """The number of sentences of the query."""
        return len(self.alignment.query_sentences)

    @property
    def uncovered(self) -> tuple[Span, ...]:
        """The query's sentences without a counterpart in the document."""
        return self.alignment.query_unmatched

    def of_kinds(self, kinds: Collection[Kind]) -> Explanation:
        """The explanation with pairs of these kinds only; coverage stays that of all pairs."""
        kept = tuple(pair for pair in self.hit.pairs if pair.kind in kinds)
        return replace(self, hit=replace(self.hit, pairs=kept), alignment=replace(self.alignment, pairs=kept))

    def __repr__(self) -> str:
        pairs = _count(len(self.hit.pairs), "pair")
        uncovered = f"{len(self.uncovered):,} of {_count(self.sentences, 'query sentence')} uncovered"
        return f"<Explanation of {self.document.id} for {self.query.id}: {pairs}, {uncovered}>"

    def _repr_html_(self) -> str:
        from rprs.results.notebook import explanation_html

        return explanation_html(self)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _short(text: str, length: int = 50) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"
