"""Hashes of sentences, by which a sentence is found that an index has a vector of already.

Two sentences with the same 128 bits of BLAKE2b are taken for the same: the chance that a billion sentences have two
that share them is less than one in 10^20. Texts are not compared, since those of removed documents are erased.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled
from rprs.index.segment import Hashes, Segment
from rprs.progress import Advance, no_op

__all__ = ["SentenceTable", "segment_hashes", "sentence_hashes"]

SLOTS = 4  # at least, for each sentence that is looked for: most of the others then meet an empty one


def sentence_hashes(sentences: Iterable[str]) -> Hashes:
    """(sentences, 2): 128 bits for each sentence."""
    digests = b"".join(
        blake2b(sentence.encode("utf-8", "surrogatepass"), digest_size=16).digest() for sentence in sentences
    )
    return np.frombuffer(digests, dtype="<u8").reshape(-1, 2).astype(np.uint64)


def segment_hashes(segment: Segment, texts: Iterable[tuple[int, str]], advance: Advance = no_op) -> Hashes:
    """The hashes of a segment's sentences, from ordinals and texts; 0 for those of a removed document."""
    hashes = np.zeros((len(segment.spans), 2), dtype=np.uint64)
    for ordinal, text in texts:
        spans = segment.sentences(ordinal).spans.tolist()
        if text and spans:
            start = int(segment.sentence_offsets[ordinal])
            hashes[start : start + len(spans)] = sentence_hashes(text[begin:end] for begin, end in spans)
        advance(len(spans))
    return hashes


class SentenceTable:
    """Looks for some sentences among many: a hash table of the few, which fits in the processor's caches."""

    def __init__(self, hashes: Hashes) -> None:
        self._hashes = hashes
        self._table = np.full(2 ** (SLOTS * len(hashes)).bit_length(), -1, dtype=np.int32)
        self.first = np.empty(len(hashes), dtype=np.int64)  # (sentences,): the first sentence with the same hash
        _insert(hashes, self._table, self.first)

    def rows(self, stored: Hashes) -> NDArray[np.int64]:
        """(sentences,): the first row of `stored` that has the hash of each `first` sentence; -1 for all others."""
        rows = np.full(len(self._hashes), -1, dtype=np.int64)
        own = stored.view()
        own.flags.writeable = False  # as in mapped files: one compiled function serves all
        _find(own, self._hashes, self._table, rows)
        return rows


# Numba infers the types of what follows, and compiles it once for each combination.
@compiled
def _slot(first, second, hashes, table):  # type: ignore[no-untyped-def]
    """The slot of a hash, or the empty one where it belongs."""
    last = np.uint64(table.size - 1)
    slot = first & last
    while True:
        number = table[slot]
        if number < 0 or (hashes[number, 0] == first and hashes[number, 1] == second):
            return slot
        slot = (slot + np.uint64(1)) & last


@compiled
def _insert(hashes, table, first):  # type: ignore[no-untyped-def]
    for number in range(len(hashes)):
        slot = _slot(hashes[number, 0], hashes[number, 1], hashes, table)
        if table[slot] < 0:
            table[slot] = number
        first[number] = table[slot]


@compiled
def _find(stored, hashes, table, rows):  # type: ignore[no-untyped-def]
    for row in range(len(stored)):
        number = table[_slot(stored[row, 0], stored[row, 1], hashes, table)]
        if number >= 0 and rows[number] < 0:
            rows[number] = row
