"""The terms of a query: their hashes, and where a segment has them.

The hashes of a segment ascend, and they are spread evenly over 64 bits. So the place of a hash can be estimated, and
three estimates, each from the error of the one before, lead to it: fewer reads of memory than a binary search.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled
from rprs.forks import ForkLock
from rprs.text.pieces import PIECE

__all__ = [
    "DAMAGED_POSTINGS",
    "DAMAGED_TERMS",
    "CountedTerms",
    "Terms",
    "count_terms",
    "hash_places",
    "hash_term",
    "locate",
    "term_hashes",
]

Ints = NDArray[np.int64]

REMEMBERED = 2**16  # terms
CORRECTIONS = 2  # of an estimate: the first is wrong by some hundreds, the last by a few
DAMAGED_TERMS, DAMAGED_POSTINGS = 1, 2


@lru_cache(maxsize=REMEMBERED)
def hash_term(term: bytes) -> int:
    """64 bits that are the same on every machine."""
    return int.from_bytes(hashlib.blake2b(term, digest_size=8).digest(), "little")


class _Digests(dict[str, bytes]):
    """A bounded table: term → its hash in 8 bytes, which are joined faster than numbers are converted."""

    def __missing__(self, term: str) -> bytes:
        digest = hash_term(term.encode("utf-8", "surrogatepass")).to_bytes(8, "little")
        if len(self) >= REMEMBERED:
            self.clear()
        self[term] = digest
        return digest


_digests = _Digests()


def term_hashes(words: Collection[str]) -> NDArray[np.uint64]:
    """The hashes of words in their order."""
    return np.frombuffer(b"".join(map(_digests.__getitem__, words)), dtype="<u8")


@dataclass(frozen=True, slots=True)
class Terms:
    """A query's distinct terms, hashed once for all segments; term t is `bytes[offsets[t]:offsets[t + 1]]`."""

    hashes: NDArray[np.uint64]
    offsets: NDArray[np.int64]
    bytes: NDArray[np.uint8]

    @classmethod
    def of(cls, terms: Collection[str]) -> Terms:
        """Hash terms."""
        joined = "".join(terms)
        encoded = joined.encode("utf-8", "surrogatepass")
        offsets = np.zeros(len(terms) + 1, dtype=np.int64)
        np.cumsum(_sizes(terms, joined.isascii()), out=offsets[1:])
        return cls(term_hashes(terms), offsets, np.frombuffer(encoded, dtype=np.uint8))


def _sizes(terms: Collection[str], ascii: bool) -> NDArray[np.int64]:
    """The bytes of each term."""
    encoded = terms if ascii else [term.encode("utf-8", "surrogatepass") for term in terms]
    return np.fromiter(map(len, encoded), dtype=np.int64, count=len(terms))


# ---------------------------------------------------------------------------- counting


@dataclass(frozen=True, slots=True)
class CountedTerms:
    """The t distinct terms of a text of w words, in the order in which they first occur."""

    terms: Terms
    counts: Ints  # (t,): how often each occurs
    numbers: Ints  # (w,): which of them is at each place


def count_terms(words: Sequence[str]) -> CountedTerms:
    """Count and hash the words of a query: a table has the numbers of words, and the rest is compiled."""
    global _vocabulary
    vocabulary, known = _vocabulary, np.empty(len(words), dtype=np.int64)
    for start in range(0, len(words), PIECE):
        piece = words[start : start + PIECE]
        known[start : start + PIECE] = np.fromiter(map(vocabulary.__getitem__, piece), np.int64, len(piece))
    if len(vocabulary) > REMEMBERED:
        _vocabulary = _Vocabulary()  # searches in other threads keep theirs
    numbers, distinct, counts = _count(known, len(vocabulary))
    offsets, encoded = _encoded(distinct, vocabulary.offsets, vocabulary.bytes)
    return CountedTerms(Terms(vocabulary.hashes[distinct], offsets, encoded), counts, numbers)


class _Vocabulary(dict[str, int]):
    """The numbers of terms, with their hashes and bytes: those of term t are `bytes[offsets[t]:offsets[t + 1]]`.

    Longer arrays replace those that are full, so that other threads may read what they have.
    """

    def __init__(self) -> None:
        super().__init__()
        self.hashes = np.empty(2**12, dtype=np.uint64)
        self.offsets = np.zeros(2**12 + 1, dtype=np.int64)
        self.bytes = np.empty(2**15, dtype=np.uint8)
        self._lock = ForkLock()

    def __missing__(self, term: str) -> int:
        encoded = term.encode("utf-8", "surrogatepass")
        with self._lock:
            if term in self:  # another thread was faster
                return self[term]
            number = len(self)
            start = int(self.offsets[number])
            end = start + len(encoded)
            if number == len(self.hashes):
                self.hashes = np.concatenate((self.hashes, np.empty_like(self.hashes)))
                self.offsets = np.concatenate((self.offsets, np.zeros(number, dtype=np.int64)))
            while end > len(self.bytes):
                self.bytes = np.concatenate((self.bytes, np.empty_like(self.bytes)))
            self.hashes[number], self.offsets[number + 1] = hash_term(encoded), end
            self.bytes[start:end] = np.frombuffer(encoded, dtype=np.uint8)
            self[term] = number
        return number


_vocabulary = _Vocabulary()


# ---------------------------------------------------------------------------- compiled


@compiled
def _count(known, size):  # type: ignore[no-untyped-def]
    """The number of each word in the order of first occurrences, the words in that order, and how often they occur."""
    places = np.full(size, -1, np.int64)
    numbers, distinct, counts = np.empty_like(known), np.empty_like(known), np.zeros_like(known)
    count = 0
    for at in range(known.size):
        place = places[known[at]]
        if place < 0:
            place = places[known[at]] = count
            distinct[count] = known[at]
            count += 1
        counts[place] += 1
        numbers[at] = place
    return numbers, distinct[:count].copy(), counts[:count].copy()


@compiled
def _encoded(terms, offsets, stored):  # type: ignore[no-untyped-def]
    """The bytes of some terms one after the other, and where each starts."""
    ends = np.zeros(terms.size + 1, np.int64)
    for row in range(terms.size):
        ends[row + 1] = ends[row] + offsets[terms[row] + 1] - offsets[terms[row]]
    encoded = np.empty(ends[-1], np.uint8)
    for row in range(terms.size):
        start = offsets[terms[row]]
        for byte in range(ends[row + 1] - ends[row]):
            encoded[ends[row] + byte] = stored[start + byte]
    return ends, encoded


@compiled
def hash_places(stored, hashes, first, last):  # type: ignore[no-untyped-def]
    """Where each hash begins and ends among the stored ones, which ascend; both are equal if there is none.

    Estimates are made for all hashes in turn, without branches, so that memory delivers many of them at once.
    """
    if stored.size == 0:
        return
    scale, top = stored.size / 2.0**64, stored.size - 1.0
    for row in range(hashes.size):
        first[row] = np.int64(min(np.float64(hashes[row]) * scale, top))
    for _ in range(CORRECTIONS):
        for row in range(hashes.size):
            error = (np.float64(hashes[row]) - np.float64(stored[first[row]])) * scale
            first[row] = np.int64(min(max(first[row] + error, 0.0), top))
    for row in range(hashes.size):
        place = _place(stored, hashes[row], first[row])
        first[row] = place
        while place < stored.size and stored[place] == hashes[row]:
            place += 1
        last[row] = place


@compiled
def _place(stored, target, guess):  # type: ignore[no-untyped-def]
    """The first place whose hash is not below the target: most often near the guess."""
    step = 1
    low = high = guess
    if stored[guess] < target:
        while high < stored.size and stored[high] < target:
            low = high + 1
            high += step
            step *= 2
        high = min(high, stored.size)
    else:
        while low >= 0 and stored[low] >= target:
            high = low
            low -= step
            step *= 2
        low = max(low + 1, 0)
    while low < high:
        middle = (low + high) >> 1
        if stored[middle] < target:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def locate(  # type: ignore[no-untyped-def]
    first, last, term_offsets, term_bytes, posting_offsets, postings, offsets, queried, starts, stops
):
    """Where the postings of each term start and stop, from the places of its hash; both stay 0 for an absent term.

    Compares terms byte by byte. Returns 0, or `DAMAGED_TERMS` or `DAMAGED_POSTINGS` for offsets that cannot be right.
    """
    for row in range(first.size):  # many reads at once, as above
        if first[row] < last[row]:
            starts[row], stops[row] = term_offsets[first[row]], posting_offsets[first[row]]
    touched = np.int64(0)
    for row in range(first.size):
        if 0 <= starts[row] < term_bytes.size:
            touched += term_bytes[starts[row]]
        starts[row] = stops[row] = 0
    for row in range(first.size if touched >= 0 else 0):  # always, but the compiler does not know
        size = offsets[row + 1] - offsets[row]
        for place in range(first[row], last[row]):  # one, unless two terms share a hash
            start = term_offsets[place]
            if term_offsets[place + 1] - start != size:
                continue
            if start < 0 or start + size > term_bytes.size:
                return DAMAGED_TERMS
            same = True
            for byte in range(size):
                same &= term_bytes[start + byte] == queried[offsets[row] + byte]
            if same:
                starts[row], stops[row] = posting_offsets[place], posting_offsets[place + 1]
                if not 0 <= starts[row] <= stops[row] <= postings:
                    return DAMAGED_POSTINGS
                break
    return 0
