"""The alignment of two texts: identical runs first, then reworded sentences, then sentences with the same idea."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.calibration import FALLBACK, Calibration
from rprs.alignment.changes import Changes
from rprs.alignment.coverage import cover_words
from rprs.alignment.ideas import Partners, find_partners, same_ideas
from rprs.alignment.included import without_included
from rprs.alignment.matches import BELOW_ONE, Match, Matches, join_matches, ranges_of
from rprs.alignment.sides import Side, settle_breaks
from rprs.alignment.tables import Ints
from rprs.alignment.values import KINDS, Alignment, Coverage, Pair, Relation, Span
from rprs.alignment.word_matches import WordMatches, match_words

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

NONE: tuple[Ints, Floats] = np.empty((0, 4), dtype=np.int64), np.empty(0)  # no ranges, no similarities


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
    partners: Partners | None  # of sentences; None if none are needed


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
        Findings(query, document, own, next(partners) if want else None)
        for document, own, want in zip(documents, words, wanted, strict=True)
    ]


def make_comparison(findings: Findings) -> Comparison:
    """The other part of it: identical runs, reworded sentences, and the same ideas in the rest of both texts."""
    ours, theirs, found, partners = findings
    runs, edited = found.runs, found.edited
    others = NONE
    if partners is not None:
        others = same_ideas(ours, theirs, partners, np.concatenate((runs, edited.ranges)))
    kept = without_included(ours, theirs, runs, edited)
    sizes = [len(kept), len(edited.ranges), len(others[0])]
    matches = Matches(
        np.repeat(np.arange(len(KINDS)), sizes),
        np.concatenate((kept, edited.ranges, others[0])),
        np.concatenate((np.ones(len(kept)), edited.similarity, others[1])),
    )
    return Comparison(ours, theirs, join_matches(matches))


@dataclass(frozen=True, slots=True)
class Comparison:
    """The matches of two texts in words; pairs, which are in characters, are made of those that are wanted."""

    query: Side  # words that are divided at the end of a line are joined here
    document: Side
    matches: Matches  # in the order of the query, then of the document

    def spans(self, numbers: Sequence[int]) -> tuple[list[Span], list[Span]]:
        """The characters of some matches, by their numbers, in the query and in the document."""
        ranges = self.matches.ranges[numbers]
        return self.query.spans(ranges[:, :2]), self.document.spans(ranges[:, 2:])

    def pairs(self, numbers: Sequence[int]) -> list[Pair]:
        """Some matches in characters, by their numbers."""
        return make_pairs(self.query, self.document, self.matches.some(numbers))

    def alignment(self, pairs: Sequence[Pair] | None = None) -> Alignment:
        """The alignment with all pairs, or with some of them; coverage is that of all."""
        kinds, ranges = self.matches.kinds, self.matches.ranges
        query_coverage = cover_words(len(self.query.words), kinds, ranges[:, :2])
        document_coverage = cover_words(len(self.document.words), kinds, ranges[:, 2:])
        return Alignment(
            query=self.query.document,
            document=self.document.document,
            query_sentences=self.query.sentences,
            document_sentences=self.document.sentences,
            pairs=tuple(self.pairs(range(len(self.matches))) if pairs is None else pairs),
            query_coverage=query_coverage,
            document_coverage=document_coverage,
            query_boilerplate=(),
            document_boilerplate=(),
            relation=_relation(self.query, self.document, [query_coverage, document_coverage]),
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
    ranges, changes = ranges_of(matches), Changes(query, document)
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
            changes=changes.of(match),
        )
        for match, left, right in zip(matches, *spans, strict=True)
    ]
