"""What was changed in a reworded pair: what is between its equal words, which rapidfuzz aligns."""

from __future__ import annotations

from collections.abc import Iterator

from rapidfuzz.distance import Indel

from rprs.alignment.matches import Match
from rprs.alignment.sides import Side
from rprs.alignment.tables import Ints, number_keys
from rprs.alignment.values import Change, Span
from rprs.once import cached_property

__all__ = ["Changes"]

FIRST_LETTER, LAST_LETTER = 0x10000, 0x10FFFF  # as which words are compared: no surrogates are among them


class Changes:
    """Finds what was changed in reworded matches of two texts."""

    def __init__(self, query: Side, document: Side) -> None:
        self.query, self.document = query, document

    @cached_property
    def _letters(self) -> tuple[str, str] | tuple[list[int], list[int]]:
        slots, distinct, numbers = self.query.word_pairs.word_table
        return _as_letters(numbers, number_keys(self.document.words.hashes, slots, distinct))

    def of(self, match: Match) -> tuple[Change, ...]:
        """The changes of a match, in the order of both texts; none if it is not reworded."""
        if match.kind != "reworded":
            return ()
        changes, left, right = [], match.query[0], match.document[0]
        for first, other, size in (*self._equal_words(match), (match.query[1], match.document[1], 0)):
            if first > left or other > right:
                ours = _words_span(self.query, left, first, match.query[0])
                changes.append(Change(ours, _words_span(self.document, right, other, match.document[0])))
            left, right = first + size, other + size
        return tuple(changes)

    def _equal_words(self, match: Match) -> Iterator[tuple[int, int, int]]:
        """Word of the query, word of the document and number of words of each run of equal ones."""
        ours, theirs = self._letters
        for first, stop, start, end in match.parts:
            for block in Indel.editops(ours[first:stop], theirs[start:end]).as_matching_blocks():
                if block.size:
                    yield first + block.a, start + block.b, block.size


def _as_letters(ours: Ints, theirs: Ints) -> tuple[str, str] | tuple[list[int], list[int]]:
    """Both texts with one letter for each word, since strings are compared much faster than lists.

    A query with more words than there are letters is a list.
    """
    if max(ours.max(initial=0), theirs.max(initial=0)) > LAST_LETTER - FIRST_LETTER:
        return ours.tolist(), theirs.tolist()
    letters = [(each + FIRST_LETTER).astype("<u4").tobytes().decode("utf-32-le") for each in (ours, theirs)]
    return letters[0], letters[1]


def _words_span(side: Side, first: int, stop: int, beginning: int) -> Span:
    """The characters of some words; if there are none, an empty span behind the word before, or at the beginning."""
    if stop > first:
        return int(side.words.starts[first]), int(side.words.ends[stop - 1])
    place = int(side.words.starts[first] if first == beginning else side.words.ends[first - 1])
    return place, place
