"""Hashes of sentences, by which a sentence is found that an index has a vector of already.

Two sentences with the same 128 bits of BLAKE2b are taken for the same: among a billion sentences, the chance that any
two others share them is one in 10^20. Their texts cannot decide, since the text of a removed document is erased.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from rprs.index.segment import Hashes, Segment
from rprs.progress import Advance, no_op

__all__ = ["equal_rows", "segment_hashes", "sentence_hashes"]

ROWS = 2**16  # compared at a time, so that what is computed of them stays in the processor's caches
SPARSE = 16  # slots for each sentence that is looked for: of the others, one in sixteen must be compared


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


def equal_rows(stored: Hashes, wanted: Hashes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of `stored` that are in `wanted`, and the place of each there; the first halves in `wanted` ascend.

    Most rows are sifted out by a few bits of their hash, in a table that fits in the processor's caches.
    """
    shift = np.uint64(64 - (SPARSE * len(wanted)).bit_length())
    table = np.zeros(2 ** (64 - int(shift)), dtype=bool)
    table[wanted[:, 0] >> shift] = True
    rows = [
        start + np.flatnonzero(table[stored[start : start + ROWS, 0] >> shift]) for start in range(0, len(stored), ROWS)
    ]
    likely = np.concatenate([np.empty(0, dtype=np.int64), *rows])
    hashes = stored[likely]
    places = np.minimum(np.searchsorted(wanted[:, 0], hashes[:, 0]), len(wanted) - 1)
    equal = np.all(wanted[places] == hashes, axis=1)
    return likely[equal], places[equal]
