"""The terms of documents, counted and hashed through tables of what stands between white space.

Almost all of it was seen before, in the same or another document. So a text is cut and looked up in compiled code, and
the analyzer gets each case-folded word with its punctuation once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled
from rprs.forks import ForkLock
from rprs.index.terms import term_hashes
from rprs.text.analyze import EDGES, Words
from rprs.text.marks import WHITE_SPACE
from rprs.text.pieces import codes_of
from rprs.word_numbers import WordNumbers, word_edges

__all__ = ["TermCounts", "TermNumbers", "term_numbers"]

Ints = NDArray[np.int64]

MOST_WORDS, MOST_CHARACTERS = 2**18, 2**22  # that are remembered; the tables then start again
_WORD_EDGES = word_edges(WHITE_SPACE, EDGES)


@dataclass(frozen=True, slots=True)
class TermCounts:
    """The distinct terms of a text in the order of their first occurrence, and how often each occurs."""

    terms: tuple[str, ...]
    counts: Ints
    length: int  # terms, repeated ones included
    sequence: NDArray[np.uint64] | None  # hashes of all words in text order, if they are wanted


class TermNumbers:
    """Counts the terms of texts for an analyzer; threads may share it."""

    def __init__(self, analyzer: Words) -> None:
        self._analyzer = analyzer
        self._lock = ForkLock()
        self._forget()

    def _forget(self) -> None:
        self._words = WordNumbers(_WORD_EDGES)
        self._ends = np.zeros(2**12, dtype=np.int64)  # terms of word w: _numbers[_ends[w]:_ends[w + 1]]
        self._numbers = np.empty(2**12, dtype=np.int64)
        self._terms: list[str] = []
        self._known: dict[str, int] = {}  # the number of each term
        self._hashes = np.empty(2**12, dtype=np.uint64)
        self._places = np.full(2**12, -1, dtype=np.int64)  # by term, where it is in the text at hand

    def count(self, text: str, *, hashed: bool) -> TermCounts:
        """Count the terms of a text; `hashed` if the hashes of its words are wanted, too."""
        folded = text.casefold()
        bounds = np.array([0, len(folded)], dtype=np.int64)
        with self._lock:
            words, _ = self._find_words(folded, bounds)
            sequence, distinct, counts = _count(words, self._ends, self._numbers, self._hashes, self._places)
            terms = tuple(map(self._terms.__getitem__, distinct.tolist()))
        return TermCounts(terms, counts, len(sequence), sequence if hashed else None)

    def hash_all(self, texts: Sequence[str]) -> tuple[NDArray[np.uint64], Ints]:
        """The hashes of the terms of several texts, one after the other, and how many each text has."""
        folded = [text.casefold() for text in texts]
        bounds = np.zeros(len(texts) + 1, dtype=np.int64)
        np.cumsum(list(map(len, folded)), out=bounds[1:])
        with self._lock:
            words, starts = self._find_words("".join(folded), bounds)
            hashes, sizes = _hash_all(words, starts, self._ends, self._numbers, self._hashes)
        return hashes, sizes

    def _find_words(self, folded: str, bounds: Ints) -> tuple[Ints, Ints]:
        """The numbers of all words of texts, of which each has terms, and where those of each text start."""
        if len(self._words) > MOST_WORDS or self._words.characters > MOST_CHARACTERS:
            self._forget()
        known = len(self._words)
        try:
            found = self._words(codes_of(folded), bounds)
            if len(self._words) > known:
                self._add(self._words.new(folded, known))
        except BaseException:  # such as a key that interrupts: numbers would have no terms
            self._forget()
            raise
        return found

    def _add(self, words: list[str]) -> None:
        first, before = len(self._words) - len(words), len(self._known)
        numbers: list[int] = []
        ends = []
        for joined in self._analyzer.terms_of_words(words):
            numbers += [self._known.setdefault(term, len(self._known)) for term in joined.split()]
            ends.append(len(numbers))
        used = int(self._ends[first])
        self._ends = _with(self._ends, first + 1, used + np.array(ends))
        self._numbers = _with(self._numbers, used, np.array(numbers, dtype=np.int64))
        new = list(islice(reversed(self._known), len(self._known) - before))[::-1]
        self._terms += new
        self._hashes = _with(self._hashes, before, term_hashes(new))
        self._places = _with(self._places, before, np.full(len(new), -1))


def _with(values: NDArray[Any], used: int, more: NDArray[Any]) -> NDArray[Any]:
    """Values with more of them behind those that are used, in a larger array if necessary."""
    if used + len(more) > len(values):
        larger = np.empty(max(used + len(more), 2 * len(values)), dtype=values.dtype)
        larger[:used] = values[:used]
        values = larger
    values[used : used + len(more)] = more
    return values


@lru_cache(maxsize=4)
def term_numbers(analyzer: Words) -> TermNumbers:
    """One for each analyzer and process."""
    return TermNumbers(analyzer)


@compiled
def _count(words, ends, numbers, hashes, places):  # type: ignore[no-untyped-def]
    """The hashes of all terms, the distinct terms in the order of their first occurrence, and how often each occurs.

    `places` has an entry of -1 for each term, before and after.
    """
    size = 0
    for word in words:
        size += ends[word + 1] - ends[word]
    sequence, distinct, counts = np.empty(size, np.uint64), np.empty(size, np.int64), np.empty(size, np.int64)
    at, count = 0, 0
    for word in words:
        for row in range(ends[word], ends[word + 1]):
            term = numbers[row]
            place = places[term]
            if place < 0:
                place = places[term] = count
                distinct[count], counts[count] = term, 0
                count += 1
            counts[place] += 1
            sequence[at] = hashes[term]
            at += 1
    for row in range(count):
        places[distinct[row]] = -1
    return sequence, distinct[:count].copy(), counts[:count].copy()


@compiled
def _hash_all(words, starts, ends, numbers, hashes):  # type: ignore[no-untyped-def]
    """The hashes of all terms of texts, and how many each text has; `starts` say where the words of each start."""
    sizes = np.zeros(len(starts) - 1, np.int64)
    for text in range(len(sizes)):
        for at in range(starts[text], starts[text + 1]):
            sizes[text] += ends[words[at] + 1] - ends[words[at]]
    found, size = np.empty(sizes.sum(), np.uint64), 0
    for word in words:
        for row in range(ends[word], ends[word + 1]):
            found[size] = hashes[numbers[row]]
            size += 1
    return found, sizes
