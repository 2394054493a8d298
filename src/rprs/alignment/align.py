"""The alignment of two texts: identical runs first, then reworded sentences, then sentences with the same idea."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.calibration import FALLBACK, Calibration
from rprs.alignment.coverage import cover_words
from rprs.alignment.ideas import same_ideas
from rprs.alignment.matches import Match, Range, join_neighbours
from rprs.alignment.reworded import reworded
from rprs.alignment.sides import Side, settle_breaks
from rprs.alignment.values import Alignment, Change, Coverage, Pair, Relation, Span
from rprs.alignment.verbatim import LEAST_ANYWHERE, LEAST_RUN, common_runs, equal_sentences
from rprs.compiled import compiled

__all__ = ["NEAR_DUPLICATE", "Comparison", "align_sides", "compare_sides", "make_pair"]

NEAR_DUPLICATE = 0.8  # of the words of both texts are identical or reworded
MOSTLY = 0.5  # of the words of a sentence: if more of them have a stronger match, no weaker one is looked for

QUOTATION = 0.75  # of the words of a pair: a single run that is less of it is a quotation

Flags = NDArray[np.bool_]


def align_sides(query: Side, document: Side, calibration: Calibration | None = None, ideas: bool = True) -> Alignment:
    """All pairs of two texts; without `ideas`, vectors are not compared."""
    return compare_sides(query, document, calibration, ideas).alignment()


def compare_sides(
    query: Side, document: Side, calibration: Calibration | None = None, ideas: bool = True
) -> Comparison:
    """All matches of two texts, in words; without `ideas`, vectors are not compared."""
    ours, theirs = settle_breaks(query, document)
    runs = _identical(ours, theirs)
    covered = _covered(ours, [match.query for match in runs]), _covered(theirs, [match.document for match in runs])
    edited = reworded(ours, theirs, covered[0] < 1, covered[1] < 1)
    edited = [match for match in edited if match.similarity < 1 and not _is_run_with_more(match, runs)]
    matches = [*_without_included(ours, theirs, runs, edited), *edited]
    if ideas:
        matched = [*runs, *edited]
        left = _covered(ours, [match.query for match in matched]) <= MOSTLY
        right = _covered(theirs, [match.document for match in matched]) <= MOSTLY
        matches += same_ideas(ours, theirs, calibration or FALLBACK, left, right)
    return Comparison(ours, theirs, tuple(join_neighbours(matches)))


@dataclass(frozen=True, slots=True)
class Comparison:
    """The matches of two texts in words; pairs, which are in characters, are made of those that are wanted."""

    query: Side  # words that are divided at the end of a line are joined here
    document: Side
    matches: tuple[Match, ...]  # in the order of the query, then of the document

    def pair(self, match: Match) -> Pair:
        """A match in characters."""
        return make_pair(self.query, self.document, match)

    def alignment(self, pairs: Sequence[Pair] | None = None) -> Alignment:
        """The alignment with all pairs, or with some of them; coverage is that of all."""
        query_coverage = cover_words(len(self.query.words), ((match.kind, match.query) for match in self.matches))
        document_coverage = cover_words(
            len(self.document.words), ((match.kind, match.document) for match in self.matches)
        )
        return Alignment(
            query=self.query.document,
            document=self.document.document,
            query_sentences=self.query.sentences,
            document_sentences=self.document.sentences,
            pairs=tuple(map(self.pair, self.matches)) if pairs is None else tuple(pairs),
            query_coverage=query_coverage,
            document_coverage=document_coverage,
            query_boilerplate=(),
            document_boilerplate=(),
            relation=_relation(self.query, self.document, [query_coverage, document_coverage]),
        )


def _identical(query: Side, document: Side) -> list[Match]:
    sides = query.sequences, document.sequences
    runs, short = common_runs(*sides), equal_sentences(*sides)
    if len(runs):  # a short sentence adds nothing if both texts have it within a longer run
        within = _within(query, runs[:, 0], runs[:, 2]), _within(document, runs[:, 1], runs[:, 2])
        short = short[~(within[0][short[:, 0]] & within[1][short[:, 1]])]
    return [
        Match("identical", (left, left + size), (right, right + size), 1.0)
        for left, right, size in [*runs.tolist(), *short.tolist()]
    ]


def _within(side: Side, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> Flags:
    """(w,): which words are within some runs."""
    changes = np.zeros(len(side.words) + 1, dtype=np.int64)
    np.add.at(changes, starts, 1)
    np.add.at(changes, starts + sizes, -1)
    return np.asarray(np.cumsum(changes)[:-1] > 0)


def _covered(side: Side, ranges: Sequence[Range]) -> NDArray[np.float64]:
    """(m,): the share of the words of each sentence within some ranges; 1 for a sentence without words."""
    return np.asarray(_shares(np.array(ranges, dtype=np.int64).reshape(-1, 2), side.bounds))


@compiled
def _shares(ranges: Any, bounds: Any) -> Any:
    within = np.zeros(bounds[-1], dtype=np.bool_)
    for number in range(len(ranges)):
        within[ranges[number, 0] : ranges[number, 1]] = True
    shares = np.ones(len(bounds) - 1)
    for sentence in range(len(shares)):
        first, stop = bounds[sentence], bounds[sentence + 1]
        if stop > first:
            shares[sentence] = within[first:stop].sum() / (stop - first)
    return shares


def _is_run_with_more(match: Match, runs: Sequence[Match]) -> bool:
    """Whether one side is an identical run as a whole, and the other has more words before or behind it."""
    if len(match.equal) != 1:
        return False
    (left, right, size) = match.equal[0]
    whole = match.query == (left, left + size) or match.document == (right, right + size)
    return whole and any(
        run.query[0] <= left and left + size <= run.query[1] and run.document[0] - run.query[0] == right - left
        for run in runs
    )


def _without_included(query: Side, document: Side, runs: list[Match], edited: list[Match]) -> list[Match]:
    """The runs that are not a part of a reworded pair: a sentence with a changed word is one pair, not three.

    A run with a whole sentence of either text stays, and so does a quotation that is a small part of both. Where a run
    goes on into an edited sentence, it is divided there, unless that would leave a few words.
    """
    blocks: dict[int, list[Range]] = {}  # equal words of the query, by the distance of those of the document
    for match in edited:
        for left, right, size in match.equal:
            if len(match.equal) > 1 or 2 * size >= QUOTATION * match.words:
                blocks.setdefault(right - left, []).append((left, left + size))
    kept: list[Match] = []
    for run in runs:
        distance = run.document[0] - run.query[0]
        nearby = blocks.get(distance)
        if nearby is None:
            kept.append(run)
            continue
        pieces = list(_divided(run.query, nearby, partial(_starts, query, document, distance)))
        if any(
            not included and piece[1] - piece[0] < LEAST_ANYWHERE and not _has_sentence(query, piece)
            for piece, included in pieces
        ):
            kept.append(run)
            continue
        for piece, included in pieces:
            other = piece[0] + distance, piece[1] + distance
            if not included or _has_sentence(query, piece) or _has_sentence(document, other):
                kept.append(Match("identical", piece, other, 1.0))
    return kept


def _starts(query: Side, document: Side, distance: int, word: int) -> bool:
    """Whether a sentence of either text starts at a word of the query."""
    return word in query.bound_set or word + distance in document.bound_set


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
    bounds, stops = side.bound_list, side.stop_list
    first = bisect_left(bounds, words[0])
    if first + 1 < len(bounds) and bounds[first + 1] <= words[1]:
        return True
    within = stops[bisect_left(stops, words[0]) : bisect_right(stops, words[1])]
    return len(within) > 1 and within[-1] - within[0] >= LEAST_RUN


def _relation(query: Side, document: Side, coverages: Sequence[Coverage]) -> Relation:
    if len(query.words) and np.array_equal(query.words.hashes, document.words.hashes):
        return "identical"
    if query.document.text == document.document.text:
        return "identical"
    shares = [(coverage.identical + coverage.reworded) / max(coverage.words, 1) for coverage in coverages]
    return "near duplicate" if min(shares) >= NEAR_DUPLICATE else "different"


# ---------------------------------------------------------------------------- from words to characters


def make_pair(query: Side, document: Side, match: Match) -> Pair:
    """The pair of passages that a match connects."""
    left, right = query.span(*match.query), document.span(*match.document)
    return Pair(
        query=query.document.text[slice(*left)],
        document=document.document.text[slice(*right)],
        kind=match.kind,
        similarity=match.similarity if match.kind == "identical" else min(match.similarity, 0.9999),
        query_span=left,
        document_span=right,
        query_words=match.query[1] - match.query[0],
        document_words=match.document[1] - match.document[0],
        changes=_changes(query, document, match),
    )


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
