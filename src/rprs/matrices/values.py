"""The result of many searches: matches, and the matrix of who matches whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rprs.alignment.values import Kind, Relation
from rprs.document import Value
from rprs.matrices.clusters import connected
from rprs.results.csv_table import csv_text
from rprs.results.one_line import one_line

if TYPE_CHECKING:
    from rprs.studies.figures.canvas import Picture

__all__ = ["Match", "Matrix"]

EVIDENCE = ("query_share", "document_share", "kind", "similarity", "query_passage", "document_passage")


@dataclass(frozen=True, slots=True)
class Match:
    """One of the best documents for a query document; the fields from `query_share` on are its evidence, if wanted."""

    query: str
    query_title: str
    rank: int
    id: str
    title: str
    score: float
    relation: Relation  # of the two texts: identical, near duplicate or different
    query_share: float | None = None  # of the words of the query that have a counterpart, from 0 to 1
    document_share: float | None = None
    kind: Kind | None = None  # of the most telling pair of passages
    similarity: float | None = None
    query_passage: str | None = None
    document_passage: str | None = None

    @property
    def is_duplicate(self) -> bool:
        """Whether the two texts are the same or almost the same."""
        return self.relation != "different"


@dataclass(frozen=True)
class Matrix:
    """The best matches of many documents, document by document.

    `within` is true if the documents of a collection were compared with each other; queries are then documents, too.
    """

    matches: tuple[Match, ...]
    queries: tuple[str, ...]  # those that were answered, in order
    within: bool
    about: Mapping[str, str | int] = field(default_factory=dict)  # what is needed to reproduce it
    failures: Mapping[str, str] = field(default_factory=dict)  # the reason of each query that could not be answered
    evidence: bool = False

    def __repr__(self) -> str:
        found = f"{len(self.matches):,} matches of {len(self.queries):,} documents"
        return f"<Matrix: {found}, {len(self.clusters):,} clusters of near duplicates>"

    @cached_property
    def clusters(self) -> tuple[tuple[str, ...], ...]:
        """The ids of documents that near duplicates connect, directly or through others; the largest cluster first.

        A query from outside of the collection counts as its first member.
        """
        return tuple(tuple(id for _, id in group) for group in self._groups)

    @cached_property
    def _groups(self) -> list[list[tuple[bool, str]]]:
        """The clusters, with whether a member is a query from outside of the collection: ids of both may be equal."""
        links = [self._ends(match) for match in self.matches if match.is_duplicate]
        return connected(links)

    def _ends(self, match: Match) -> tuple[tuple[bool, str], tuple[bool, str]]:
        return (not self.within, match.query), (False, match.id)

    @cached_property
    def cluster_numbers(self) -> Mapping[tuple[bool, str], int]:
        """The number of the cluster of each member, from 1."""
        return {member: number for number, group in enumerate(self._groups, 1) for member in group}

    def _columns(self) -> dict[str, list[Value]]:
        names = [each.name for each in fields(Match) if self.evidence or each.name not in EVIDENCE]
        table: dict[str, list[Value]] = {name: [getattr(match, name) for match in self.matches] for name in names}
        # Not for a match of two different texts that are both in a cluster, even if it is the same one.
        numbers: list[Value] = [
            self.cluster_numbers[self._ends(match)[1]] if match.is_duplicate else None for match in self.matches
        ]
        return {**table, "cluster": numbers}

    def to_csv(self) -> str:
        """One row per match, document by document, after a line with what is needed to reproduce it."""
        table = self._columns()
        comment = "; ".join(one_line(f"{name}={value}") for name, value in self.about.items())
        return csv_text([*table], zip(*table.values(), strict=True), f"# rprs: {comment}")

    def to_frame(self) -> Any:
        """A pandas DataFrame with the columns of the CSV file."""
        from rprs.evaluation.frame import data_frame

        return data_frame("Matrix.to_frame", self._columns())

    def picture(self) -> Picture:
        """Who matches whom, with clusters of near duplicates side by side (extra: study)."""
        from rprs.matrices.figure import draw

        return draw(self)
