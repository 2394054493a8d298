"""What a search returns: hits with their evidence, and the explanation of one hit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import overload

from rprs.document import Document, Metadata

__all__ = ["Explanation", "Hit", "Pair", "Results", "Span"]

Span = tuple[int, int]  # of characters: text[start:end]


@dataclass(frozen=True, slots=True)
class Pair:
    """A query sentence and one of its n nearest sentences: a line of evidence."""

    query: str
    document: str
    similarity: float  # the cosine, at most 1
    query_span: Span  # in the query's text
    document_span: Span  # in the document's text
    place: int  # from 1: its rank among the neighbours of the query sentence


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
    pairs: tuple[Pair, ...] = ()

    @property
    def qp(self) -> float:
        """The proportion of the query that this document answers; NaN if the re-ranker has no QP."""
        return self.parts.get("qp", float("nan"))

    @property
    def dp(self) -> float:
        """The proportion of this document that matches the query; NaN if the re-ranker has no DP."""
        return self.parts.get("dp", float("nan"))


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


@dataclass(frozen=True, slots=True)
class Explanation:
    """The evidence for one document: every aligned pair, and the parts of the query without a match."""

    hit: Hit  # its pairs are complete, in the order of the query
    in_pool: bool  # whether the first stage found it; if not, it was appended to the candidates
    query: Document
    document: Document
    sentences: int  # of the query
    uncovered: tuple[Span, ...]  # the query's sentences that nothing in the document matched
    notes: tuple[str, ...] = ()

    def at_least(self, similarity: float) -> Explanation:
        """The explanation without weaker pairs; a query sentence that has no other pair then counts as uncovered."""
        kept = tuple(pair for pair in self.hit.pairs if pair.similarity >= similarity)
        lost = {pair.query_span for pair in self.hit.pairs} - {pair.query_span for pair in kept}
        return replace(self, hit=replace(self.hit, pairs=kept), uncovered=tuple(sorted({*self.uncovered, *lost})))
