"""The alignment of two texts: identical runs first, then reworded sentences, then sentences with the same idea."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.calibration import FALLBACK, Calibration
from rprs.alignment.changes import find_changes
from rprs.alignment.coverage import COUNTS, count_words, coverage_of
from rprs.alignment.ideas import Partners, find_partners, same_ideas
from rprs.alignment.included import without_included
from rprs.alignment.matches import BELOW_ONE, Match, Matches, join_columns, ranges_of
from rprs.alignment.sides import Side, settle_breaks
from rprs.alignment.tables import Ints
from rprs.alignment.values import Alignment, Coverage, Pair, Relation
from rprs.alignment.word_matches import WordMatches, match_words
from rprs.compiled import compiled

__all__ = [
    "NEAR_DUPLICATE",
    "Comparison",
    "Findings",
    "align_sides",
    "compare_sides",
    "find_matches",
    "make_comparison",
    "make_pairs",
]

NEAR_DUPLICATE = 0.8  # of the words of both texts are identical or reworded

Floats = NDArray[np.float64]

NO_IDEAS: tuple[Ints, Floats] = np.empty((0, 4), dtype=np.int64), np.empty(0)  # ranges, similarities
NO_STOPS: Ints = np.empty(0, dtype=np.int64)


def align_sides(query: Side, document: Side, calibration: Calibration | None = None, ideas: bool = True) -> Alignment:
    """All pairs of two texts; without `ideas`, vectors are not compared."""
    return compare_sides(query, document, calibration, ideas).alignment()


def compare_sides(
    query: Side, document: Side, calibration: Calibration | None = None, ideas: bool = True
) -> Comparison:
    """All matches of two texts, in words; without `ideas`, vectors are not compared."""
    return make_comparison(find_matches(query, [document], calibration, ideas)[0])


class Findings(NamedTuple):
    """What the words and vectors of two texts have in common."""

    query: Side  # words that are divided at the end of a line are joined here
    document: Side
    words: WordMatches
    ideas: tuple[Ints, Floats]  # sentences with the same idea: their words, and how similar they are


def find_matches(
    query: Side, documents: Sequence[Side], calibration: Calibration | None = None, ideas: bool = True
) -> list[Findings]:
    """The part of comparisons that takes long and hardly needs Python's lock; all documents at once need it least."""
    settled = [settle_breaks(query, document) for document in documents]
    groups: dict[int, list[int]] = {}  # by the query, which differs for documents that join its divided words
    for place, (ours, _) in enumerate(settled):
        groups.setdefault(id(ours), []).append(place)
    found: dict[int, Findings] = {}
    for places in groups.values():
        theirs = [settled[place][1] for place in places]
        together = _find_together(settled[places[0]][0], theirs, calibration or FALLBACK, ideas)
        found |= dict(zip(places, together, strict=True))
    return [found[place] for place in range(len(settled))]


def _find_together(query: Side, documents: Sequence[Side], calibration: Calibration, ideas: bool) -> list[Findings]:
    words = match_words(query, documents)
    for document, own in zip(documents, words, strict=True):
        if len(own.edited.blocks):
            _ = document.stops  # which `without_included` needs
    wanted = [ideas and each.has_open for each in words]
    some = [document for document, want in zip(documents, wanted, strict=True) if want]
    partners = iter(find_partners(query, some, calibration))
    return [
        Findings(query, document, own, _same_ideas(query, document, own, next(partners) if want else None))
        for document, own, want in zip(documents, words, wanted, strict=True)
    ]


def _same_ideas(query: Side, document: Side, words: WordMatches, partners: Partners | None) -> tuple[Ints, Floats]:
    if partners is None:
        return NO_IDEAS
    return same_ideas(query, document, partners, words.runs, words.edited.ranges)


def make_comparison(findings: Findings) -> Comparison:
    """The other part of it: identical runs, reworded sentences, and the same ideas in the rest of both texts."""
    ours, theirs, words, ideas = findings
    runs, (ranges, similarity, blocks) = words.runs, words.edited
    stops = (ours.stops, theirs.stops) if len(blocks) else (NO_STOPS, NO_STOPS)
    columns = _combine(runs, ranges, similarity, blocks, *ideas, ours.bounds, theirs.bounds, *stops)
    return Comparison(ours, theirs, Matches(*columns[:-1]), *map(coverage_of, columns[-1].tolist()))


@compiled
def _combine(
    runs: Any,
    edited: Any,
    similarity: Any,
    blocks: Any,
    ideas: Any,
    idea_similarity: Any,
    bounds: Any,
    other_bounds: Any,
    stops: Any,
    other_stops: Any,
) -> Any:
    """The columns of all `Matches`, and the words that they cover in both texts."""
    kept = without_included(runs, edited, blocks, bounds, other_bounds, stops, other_stops)
    matched = np.concatenate((kept, edited, ideas))
    kinds, values = np.zeros(len(matched), dtype=np.int64), np.ones(len(matched))
    first = len(kept) + len(edited)
    for number in range(len(edited)):
        kinds[len(kept) + number], values[len(kept) + number] = 1, similarity[number]
    for number in range(len(ideas)):
        kinds[first + number], values[first + number] = 2, idea_similarity[number]
    kinds, ranges, values, parts, owners = join_columns(kinds, matched, values)
    counts = np.empty((2, COUNTS), dtype=np.int64)
    ours = count_words(bounds[-1], kinds, ranges[:, :2])
    theirs = count_words(other_bounds[-1], kinds, ranges[:, 2:])
    for strength in range(COUNTS):
        counts[0, strength], counts[1, strength] = ours[strength], theirs[strength]
    return kinds, ranges, values, parts, owners, counts


@dataclass(frozen=True, slots=True)
class Comparison:
    """The matches of two texts in words; pairs, which are in characters, are made of those that are wanted."""

    query: Side  # words that are divided at the end of a line are joined here
    document: Side
    matches: Matches  # in the order of the query, then of the document
    query_coverage: Coverage
    document_coverage: Coverage

    def pairs(self, numbers: Sequence[int]) -> list[Pair]:
        """Some matches in characters, by their numbers."""
        return make_pairs(self.query, self.document, self.matches.some(numbers))

    def alignment(self, pairs: Sequence[Pair] | None = None) -> Alignment:
        """The alignment with all pairs, or with some of them; coverage is that of all."""
        coverages = self.query_coverage, self.document_coverage
        return Alignment(
            query=self.query.document,
            document=self.document.document,
            query_sentences=self.query.sentences,
            document_sentences=self.document.sentences,
            pairs=tuple(self.pairs(range(len(self.matches))) if pairs is None else pairs),
            query_coverage=self.query_coverage,
            document_coverage=self.document_coverage,
            query_boilerplate=(),
            document_boilerplate=(),
            relation=_relation(self.query, self.document, coverages),
        )


def _relation(query: Side, document: Side, coverages: Sequence[Coverage]) -> Relation:
    if len(query.words) and np.array_equal(query.words.hashes, document.words.hashes):
        return "identical"
    if query.document.text == document.document.text:
        return "identical"
    shares = [(coverage.identical + coverage.reworded) / max(coverage.words, 1) for coverage in coverages]
    return "near duplicate" if min(shares) >= NEAR_DUPLICATE else "different"


# ---------------------------------------------------------------------------- from words to characters


def make_pairs(query: Side, document: Side, matches: Sequence[Match]) -> list[Pair]:
    """The pairs of passages that matches connect."""
    ranges = ranges_of(matches)
    spans = query.spans(ranges[:, :2]), document.spans(ranges[:, 2:])
    return [
        Pair(
            query=query.document.text[left[0] : left[1]],
            document=document.document.text[right[0] : right[1]],
            kind=match.kind,
            similarity=match.similarity if match.kind == "identical" else min(match.similarity, BELOW_ONE),
            query_span=left,
            document_span=right,
            query_words=match.query[1] - match.query[0],
            document_words=match.document[1] - match.document[0],
            changes=find_changes(query, document, match),
        )
        for match, left, right in zip(matches, *spans, strict=True)
    ]
