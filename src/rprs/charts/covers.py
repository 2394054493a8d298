"""Which rows of a chart a source covers, and with which words: its alignment with the query, cut where rows end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rprs.alignment.sides import Side, settle_breaks
from rprs.alignment.values import KINDS, Kind, Pair, Span
from rprs.charts.values import STRENGTHS, Cover, Covers, Passage, Row

__all__ = ["cover_rows"]

Range = tuple[int, int]  # words: first, stop


def cover_rows(rows: Sequence[Row], query: Side, document: Side, pairs: Sequence[Pair], source: int) -> Covers:
    """The rows that some pairs cover; the sentences of the query are the rows."""
    cut = _Cut(query, document)
    by_row: dict[int, list[tuple[Pair, Range]]] = {}
    for pair in sorted(pairs, key=_strength):
        for row, words in cut.rows_of(pair):
            by_row.setdefault(row, []).append((pair, words))
    return {row: _cover(rows[row], own, cut, source) for row, own in sorted(by_row.items())}


def _strength(pair: Pair) -> tuple[int, int, float, Span]:
    return KINDS.index(pair.kind), -pair.query_words, -pair.similarity, pair.document_span


def _cover(row: Row, pairs: Sequence[tuple[Pair, Range]], cut: _Cut, source: int) -> Cover:
    """The strongest pairs first, each without the words that a stronger one has; and how much of the row they cover."""
    chosen: list[tuple[Pair, Range]] = []
    for pair, words in pairs:
        chosen += [(pair, rest) for rest in _without(words, [taken for _, taken in chosen])]
    chosen.sort(key=lambda item: item[1])
    passages = tuple(cut.passage(pair, words) for pair, words in chosen)
    counts: dict[Kind, int] = dict.fromkeys(KINDS, 0)
    for passage in passages:
        counts[passage.kind] += passage.words
    kind = max(KINDS, key=lambda each: counts[each])  # the strongest of equally many
    covered = sum(counts.values())
    longest = max((passage for passage in passages if passage.kind == kind), key=lambda passage: passage.words)
    strength = sum(STRENGTHS[passage.kind] * passage.similarity * passage.words for passage in passages) / row.words
    boilerplate = all(pair.boilerplate for pair, _ in chosen)
    return Cover(source, kind, longest.similarity, covered, strength, boilerplate, passages)


def _without(words: Range, taken: Sequence[Range]) -> Iterator[Range]:
    """What is left of a range of words without others."""
    place, stop = words
    for first, end in sorted(taken):
        if place < min(first, stop):
            yield place, min(first, stop)
        place = max(place, end)
    if place < stop:
        yield place, stop


class _Cut:
    """Cuts pairs of two texts where the sentences of the query end."""

    def __init__(self, query: Side, document: Side) -> None:
        self.starts = query.words.starts
        self.query, self.document = settle_breaks(query, document)

    def rows_of(self, pair: Pair) -> Iterator[tuple[int, Range]]:
        """The sentences that a pair has words of, and which words of the query these are."""
        first, stop = _words_within(self.query, pair.query_span)
        bounds = self.query.bounds
        for row in range(int(np.searchsorted(bounds, first, side="right")) - 1, len(bounds) - 1):
            if bounds[row] >= stop:
                break
            start, end = max(first, int(bounds[row])), min(stop, int(bounds[row + 1]))
            if start < end:
                yield row, (start, end)

    def passage(self, pair: Pair, words: Range) -> Passage:
        """The part of a pair that has some words of the query."""
        whole = _words_within(self.query, pair.query_span)
        if words == whole:
            span, document_span = pair.query_span, pair.document_span
        else:
            span, document_span = self.query.span(*words), self._counterpart(pair, whole, words)
        changes = tuple(
            change
            for change in pair.changes
            if _is_within(change.query_span, span) and _is_within(change.document_span, document_span)
        )
        text = self.document.document.text[slice(*document_span)]
        counted = np.diff(np.searchsorted(self.starts, span))  # as in the coverage: before lines are joined
        return Passage(text, pair.kind, pair.similarity, span, document_span, int(counted[0]), changes)

    def _counterpart(self, pair: Pair, whole: Range, words: Range) -> Span:
        """What the document has in place of some words of a pair."""
        other = _words_within(self.document, pair.document_span)
        if pair.kind == "same idea":
            return self._same_sentences(pair, whole, words, other)
        blocks = list(self._blocks(pair, whole, other))
        first = next(_inside(block, words[0], start=True) for block in blocks if words[0] < block[0][1])
        stop = next(_inside(block, words[1], start=False) for block in blocks if words[1] <= block[0][1])
        if first >= stop:  # the words have no counterpart: they were added
            return pair.document_span
        return self.document.span(first, stop)

    def _blocks(self, pair: Pair, whole: Range, other: Range) -> Iterator[tuple[Range, Range]]:
        """Words of the query with those of the document: equal ones, and between them changed ones."""
        left, right = whole[0], other[0]
        for change in pair.changes:
            ours, theirs = (
                _words_within(self.query, change.query_span),
                _words_within(self.document, change.document_span),
            )
            yield (left, ours[0]), (right, theirs[0])
            yield ours, theirs
            left, right = ours[1], theirs[1]
        yield (left, whole[1]), (right, other[1])

    def _same_sentences(self, pair: Pair, whole: Range, words: Range, other: Range) -> Span:
        """Neighbouring sentences with the same idea as neighbouring ones: the third for the third."""
        ours, theirs = _sentences_within(self.query, whole), _sentences_within(self.document, other)
        if ours[1] - ours[0] != theirs[1] - theirs[0]:
            return pair.document_span
        first, stop = _sentences_within(self.query, words)
        bounds, shift = self.document.bounds, theirs[0] - ours[0]
        return self.document.span(int(bounds[first + shift]), int(bounds[stop + shift]))


def _inside(block: tuple[Range, Range], word: int, *, start: bool) -> int:
    """The word of the document at a word of the query; in a change of another length, where it starts or ends."""
    (left, stop), (right, end) = block
    if stop - left == end - right:
        return right + word - left
    return right if start else end


def _words_within(side: Side, span: Span) -> Range:
    """The words that start within a span."""
    first, stop = np.searchsorted(side.words.starts, span)
    return int(first), int(stop)


def _sentences_within(side: Side, words: Range) -> Range:
    first = int(np.searchsorted(side.bounds, words[0], side="right")) - 1
    return first, int(np.searchsorted(side.bounds, words[1], side="left"))


def _is_within(inner: Span, outer: Span) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]
