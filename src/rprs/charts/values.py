"""The values of a coverage chart: groups of rows, the sources, and which source covers which row, and how."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from rprs.alignment.values import KINDS, Change, Coverage, Kind, Relation, Span
from rprs.document import Document, Metadata

if TYPE_CHECKING:
    from rprs.results.serialize import About

__all__ = ["STRENGTHS", "Chart", "Cover", "Covers", "Group", "Passage", "Row", "Source"]

# What a covered word counts, times the similarity of its passage: similar meaning is weaker evidence than words are.
STRENGTHS: Mapping[Kind, float] = {"identical": 1.0, "reworded": 1.0, "same idea": 0.5}


@dataclass(frozen=True, slots=True)
class Passage:
    """What a source has in place of some words of a row."""

    text: str  # of the source
    kind: Kind
    similarity: float  # of the pair that it belongs to
    query_span: Span
    document_span: Span
    words: int  # of the row
    changes: tuple[Change, ...] = ()  # of a reworded passage, in text order


@dataclass(frozen=True, slots=True)
class Cover:
    """How one source covers one row; no two of its passages share words of the row."""

    source: int  # its place among the sources of the chart, from 0
    kind: Kind  # that of most of the covered words
    similarity: float  # of the longest passage of that kind
    words: int  # of the row that have a counterpart
    strength: float  # the share of the row that is covered, in which kinds differ: see STRENGTHS
    boilerplate: bool  # whether all of it is
    passages: tuple[Passage, ...]  # in the order of the row

    @property
    def text(self) -> str:
        """The words of the source; what it has elsewhere follows after an ellipsis."""
        return " … ".join(passage.text for passage in self.distinct_passages)

    @property
    def distinct_passages(self) -> list[Passage]:
        """The passages that are not within another one, as a quotation is within a sentence with the same idea."""
        return [each for each in self.passages if not any(_is_within(each, other) for other in self.passages)]

    @property
    def order(self) -> tuple[bool, float, int]:
        """The best cover has the smallest: the strongest, then that of the better rank; boilerplate comes last."""
        return self.boilerplate, -self.strength, self.source


def _is_within(passage: Passage, other: Passage) -> bool:
    (start, end), (other_start, other_end) = passage.document_span, other.document_span
    return passage is not other and other_start <= start and end <= other_end and end - start < other_end - other_start


Covers = Mapping[int, Cover]  # of one source, by the number of the row


@dataclass(frozen=True, slots=True)
class Row:
    """A sentence, or an element of a patent claim."""

    label: str  # the number of the sentence; of an element, that of its claim and a letter: 1[a]
    text: str
    span: Span
    words: int
    group: int  # the number of its group, from 0
    boilerplate: bool  # a caption, heading, bare citation, or what many documents have
    covers: tuple[Cover, ...] = ()  # best first

    @property
    def best(self) -> Cover | None:
        """The best cover."""
        return self.covers[0] if self.covers else None

    @property
    def is_gap(self) -> bool:
        """Whether no source covers any of it, although it is no boilerplate."""
        return not self.covers and not self.boilerplate and self.words > 0


@dataclass(frozen=True, slots=True)
class Group:
    """A paragraph or a patent claim: the rows from `first` to before `stop`."""

    label: str
    claim: int | None  # the number of the claim
    first: int
    stop: int
    span: Span


@dataclass(frozen=True, slots=True)
class Source:
    """A document that was compared with the query."""

    rank: int  # in the search, or among the documents that were named
    id: str
    title: str
    metadata: Metadata
    relation: Relation
    query_coverage: Coverage  # words of the query that have a counterpart here
    document_coverage: Coverage
    duplicates: tuple[str, ...] = ()  # ids of documents with almost the same text, which were not compared
    collection: str = ""  # of a search over several collections: the one that has it


@dataclass(frozen=True, slots=True)
class Chart:
    """Which parts of a document are covered by which sources, and how; and what none of them covers."""

    query: Document
    groups: tuple[Group, ...]
    rows: tuple[Row, ...]
    sources: tuple[Source, ...] = ()
    coverage: Coverage = field(default=Coverage(0, 0, 0, 0))  # words that any source covers, each by its strongest kind
    notes: tuple[str, ...] = ()

    @property
    def gaps(self) -> tuple[Row, ...]:
        """The rows that no source covers; boilerplate is left out."""
        return tuple(row for row in self.rows if row.is_gap)

    def rows_of(self, group: Group) -> Sequence[Row]:
        """The rows of a paragraph or claim."""
        return self.rows[group.first : group.stop]

    def passages_without_source(self) -> Iterator[Span]:
        """Neighbouring rows of a group that no source covers, as one passage each."""
        for group in self.groups:
            start: int | None = None
            for row in self.rows_of(group):
                if row.is_gap:
                    start, end = row.span[0] if start is None else start, row.span[1]
                elif start is not None:
                    yield start, end
                    start = None
            if start is not None:
                yield start, end

    def sources_of(self, group: Group) -> list[tuple[Source, Coverage]]:
        """Who covers a paragraph or claim, and how: the strongest source first, as in a row."""
        counts: dict[int, dict[Kind, int]] = {}
        strengths: dict[int, float] = {}
        rows = self.rows_of(group)
        for row in rows:
            for cover in row.covers:
                kinds = counts.setdefault(cover.source, dict.fromkeys(KINDS, 0))
                strengths[cover.source] = strengths.get(cover.source, 0.0) + cover.strength * row.words
                for passage in cover.passages:
                    kinds[passage.kind] += passage.words
        total = sum(row.words for row in rows)
        return [
            (self.sources[place], Coverage(total, *(counts[place][kind] for kind in KINDS)))
            for place in sorted(counts, key=lambda place: (-strengths[place], place))
        ]

    def with_sources(self, sources: Iterable[tuple[Source, Covers]]) -> Chart:
        """The chart with more sources; the coverage stays as it was."""
        added, by_row = list(self.sources), [list(row.covers) for row in self.rows]
        for source, covers in sources:
            added.append(source)
            for number, cover in covers.items():
                by_row[number].append(cover)
        rows = tuple(
            replace(row, covers=tuple(sorted(covers, key=lambda cover: cover.order)))
            for row, covers in zip(self.rows, by_row, strict=True)
        )
        return replace(self, rows=rows, sources=tuple(added))

    def save(self, path: str | PurePath, about: About | None = None) -> None:
        """Write the chart to a file: .docx for Word, .csv or .json; `about` is what `Searcher.about` returns."""
        from rprs.charts.formats import format_of
        from rprs.files.atomic import check_target, write_atomically

        format = format_of(path)
        check_target(path)
        write_atomically(path, format.write(self, about))

    def __repr__(self) -> str:
        sources = f"{len(self.sources):,} source{'' if len(self.sources) == 1 else 's'}"
        gaps = f"{len(self.gaps):,} of {len(self.rows):,} rows without a source"
        return f"<Chart of {self.query.id}: {sources}, {self.coverage.share:.0%} of words covered, {gaps}>"
