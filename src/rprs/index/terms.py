"""The terms of a query: their hashes, and where a segment has them.

The hashes of a segment ascend, and they are spread evenly over 64 bits. So the place of a hash can be estimated, and
three estimates, each from the error of the one before, lead to it: fewer reads of memory than a binary search.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled

__all__ = ["DAMAGED_POSTINGS", "DAMAGED_TERMS", "Terms", "hash_places", "hash_term", "locate", "term_hashes"]

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


# ---------------------------------------------------------------------------- compiled


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
