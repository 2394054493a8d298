"""The alignment of two texts: identical runs first, then reworded sentences, then sentences with the same idea."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.calibration import FALLBACK, Calibration
from rprs.alignment.coverage import cover_words
from rprs.alignment.ideas import Partners, find_partners, same_ideas
from rprs.alignment.matches import Match, Matches, Range, join_matches, ranges_of
from rprs.alignment.reworded import reworded
from rprs.alignment.sides import Side, settle_breaks
from rprs.alignment.tables import Ints
from rprs.alignment.values import KINDS, Alignment, Change, Coverage, Pair, Relation, Span
from rprs.alignment.verbatim import LEAST_ANYWHERE, LEAST_RUN
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

QUOTATION = 0.75  # of the words of a pair: a single run that is less of it is a quotation

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
    runs = found.runs
    edited = [match for match in reworded(ours, theirs, found) if match.similarity < 1]
    edited = [match for match in edited if not _is_run_with_more(match, runs)]
    ranges = ranges_of(edited)
    matched = np.concatenate((runs, ranges)) if edited else runs
    others = NONE if partners is None else same_ideas(ours, theirs, partners, matched)
    kept = _without_included(ours, theirs, runs, edited)
    sizes = [len(kept), len(edited), len(others[0])]
    matches = Matches(
        np.repeat(np.arange(len(KINDS)), sizes),
        np.concatenate((kept, ranges, others[0])),
        np.concatenate((np.ones(len(kept)), [match.similarity for match in edited], others[1])),
        {len(kept) + number: match.equal for number, match in enumerate(edited)},
    )
    return Comparison(ours, theirs, join_matches(matches))


@dataclass(frozen=True, slots=True)
class Comparison:
    """The matches of two texts in words; pairs, which are in characters, are made of those that are wanted."""

    query: Side  # words that are divided at the end of a line are joined here
    document: Side
    matches: Matches  # in the order of the query, then of the document

    def pairs(self, numbers: Iterable[int]) -> list[Pair]:
        """Some matches in characters, by their numbers."""
        return make_pairs(self.query, self.document, [self.matches.match(number) for number in numbers])

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


def _is_run_with_more(match: Match, runs: Ints) -> bool:
    """Whether one side is an identical run as a whole, and the other has more words before or behind it."""
    if len(match.equal) != 1:
        return False
    (left, right, size) = match.equal[0]
    whole = match.query == (left, left + size) or match.document == (right, right + size)
    if not whole:
        return False
    around = (runs[:, 0] <= left) & (left + size <= runs[:, 1]) & (runs[:, 2] - runs[:, 0] == right - left)
    return bool(around.any())


def _without_included(query: Side, document: Side, runs: Ints, edited: Sequence[Match]) -> Ints:
    """The runs that are not a part of a reworded pair: a sentence with a changed word is one pair, not three.

    A run with a whole sentence of either text stays, and so does a quotation that is a small part of both. Where a run
    goes on into an edited sentence, it is divided there, unless that would leave a few words.
    """
    blocks: dict[int, list[Range]] = {}  # equal words of the query, by the distance of those of the document
    for match in edited:
        for left, right, size in match.equal:
            if len(match.equal) > 1 or 2 * size >= QUOTATION * match.words:
                blocks.setdefault(right - left, []).append((left, left + size))
    if not blocks:
        return runs
    distances = runs[:, 2] - runs[:, 0]
    nearby = np.array([distance in blocks for distance in distances.tolist()], dtype=bool)
    kept = [runs[~nearby]]
    for (first, stop), distance in zip(runs[nearby, :2].tolist(), distances[nearby].tolist(), strict=True):
        pieces = _kept_pieces(query, document, (first, stop), distance, blocks[distance])
        ranges = [(start, end, start + distance, end + distance) for start, end in pieces]
        kept.append(np.array(ranges, dtype=np.int64).reshape(-1, 4))
    return np.concatenate(kept)


def _kept_pieces(query: Side, document: Side, run: Range, distance: int, blocks: Sequence[Range]) -> list[Range]:
    """The parts of a run that stay, in words of the query."""
    pieces = list(_divided(run, blocks, partial(_starts, query, document, distance)))
    for piece, included in pieces:
        if not included and piece[1] - piece[0] < LEAST_ANYWHERE and not _has_sentence(query, piece):
            return [run]
    return [
        piece
        for piece, included in pieces
        if not included
        or _has_sentence(query, piece)
        or _has_sentence(document, (piece[0] + distance, piece[1] + distance))
    ]


def _starts(query: Side, document: Side, distance: int, word: int) -> bool:
    """Whether a sentence of either text starts at a word of the query."""
    return bool(_contains(query.bounds, word) or _contains(document.bounds, word + distance))


def _divided(run: Range, blocks: Sequence[Range], starts: Callable[[int], bool]) -> Iterator[tuple[Range, bool]]:
    """The parts of a run within blocks, and the parts between, each with whether it is within a block.

    It is divided only where a sentence starts.
    """
    place, stop = run
    for start, end in sorted(blocks):
        first, last = max(start, place), min(end, stop)
        if first >= last or not (first == run[0] or starts(first)) or not (last == stop or starts(last)):
            continue
        if first > place:
            yield (place, first), False
        yield (first, last), True
        place = last
    if place < stop:
        yield (place, stop), False


def _has_sentence(side: Side, words: Range) -> bool:
    """Whether a range of words contains a whole sentence, or 8 words between two full stops."""
    return bool(_has_whole(side.bounds, side.stops, *words))


@compiled
def _contains(ordered: Any, value: Any) -> Any:
    place = np.searchsorted(ordered, value)
    return place < len(ordered) and ordered[place] == value


@compiled
def _has_whole(bounds: Any, stops: Any, first: Any, stop: Any) -> Any:
    sentence = np.searchsorted(bounds, first)
    if sentence + 1 < len(bounds) and bounds[sentence + 1] <= stop:
        return True
    low, high = np.searchsorted(stops, first), np.searchsorted(stops, stop, side="right")
    return high - low > 1 and stops[high - 1] - stops[low] >= LEAST_RUN


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
            similarity=match.similarity if match.kind == "identical" else min(match.similarity, 0.9999),
            query_span=left,
            document_span=right,
            query_words=match.query[1] - match.query[0],
            document_words=match.document[1] - match.document[0],
            changes=_changes(query, document, match),
        )
        for match, left, right in zip(matches, *spans, strict=True)
    ]


def _changes(query: Side, document: Side, match: Match) -> tuple[Change, ...]:
    """What is between the equal words of a reworded match."""
    if match.kind != "reworded":
        return ()
    changes, left, right = [], match.query[0], match.document[0]
    for first, other, size in (*match.equal, (match.query[1], match.document[1], 0)):
        if first > left or other > right:
            changed = (
                _words_span(query, left, first, match.query[0]),
                _words_span(document, right, other, match.document[0]),
            )
            changes.append(Change(*changed))
        left, right = first + size, other + size
    return tuple(changes)


def _words_span(side: Side, first: int, stop: int, beginning: int) -> Span:
    """The characters of some words; if there are none, an empty span behind the word before, or at the beginning."""
    if stop > first:
        return int(side.words.starts[first]), int(side.words.ends[stop - 1])
    place = int(side.words.starts[first] if first == beginning else side.words.ends[first - 1])
    return place, place
