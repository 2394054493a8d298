"""Sentences that an index has vectors of already: a transformer, which is slow, does not encode them again.

Segments whose encoder is slow store a hash of each sentence. The sentences of a batch are looked for among all of them
before the batch is written, those of removed documents included. A stored vector is copied as it is, since rounding a
vector that is rounded already could change it, so that an index has the same bytes as one whose sentences were all
encoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.encode import Encoder
from rprs.errors import IndexCorrupt, IndexMismatch
from rprs.index.contents import Contents
from rprs.index.segment import Hashes, Segment
from rprs.index.sentence_hashes import SentenceTable, segment_hashes
from rprs.progress import Advance
from rprs.scoring.vectors import PRECISIONS, VectorType, to_grid

__all__ = ["Known", "KnownVectors", "encode_new", "require_same_vectors"]

Vectors = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Known:
    """The sentences of a batch, and where the vectors of those are that were encoded before."""

    hashes: Hashes
    files: NDArray[np.int64]  # (sentences,): the position in `vectors`, -1 for a new sentence
    rows: NDArray[np.int64]  # (sentences,): the row there
    vectors: tuple[Vectors, ...] = ()

    @classmethod
    def nothing(cls, hashes: Hashes) -> Known:
        """All sentences are new."""
        return cls(hashes, np.full(len(hashes), -1), np.full(len(hashes), -1))


class KnownVectors:
    """The stored hashes and vectors of sentences, which stay in the mapped files that they are in."""

    def __init__(self, vector_type: VectorType) -> None:
        self._type = vector_type
        self._stored: list[tuple[Segment, Vectors, Hashes]] = []
        self._opened: set[tuple[Path, int]] = set()

    def add_index(self, root: Path, contents: Contents) -> None:
        """Open the segments of an index that are not open yet; without hashes, their sentences are hashed."""
        generation = contents.generation
        encoded = [row.number for row in contents.segments() if generation is not None and row.generation == generation]
        new = [number for number in encoded if (root, number) not in self._opened]
        sums = contents.block_sums() if new else None
        for number in new:
            self._opened.add((root, number))
            with suppress(IndexCorrupt):  # `rprs verify` reports it
                segment = Segment.open(root, number, generation, hashes=True, vector_type=self._type, sums=sums)
                hashes = segment.sentence_hashes
                if hashes is None:
                    hashes = segment_hashes(segment, contents.texts(number))
                if segment.vectors is not None:
                    self._stored.append((segment, segment.vectors, hashes))

    def look_up(self, hashes: Hashes) -> Known:
        """Where the vectors of sentences are, as far as they are sound; others are encoded again."""
        table = SentenceTable(hashes)
        files, rows = np.full((2, len(hashes)), -1)
        for file, (segment, _, stored) in enumerate(self._stored):
            found = table.rows(stored)
            for number in np.flatnonzero((found >= 0) & (files < 0)).tolist():
                if _is_sound(segment, found[number]):
                    files[number], rows[number] = file, found[number]
        vectors = tuple(vectors for _, vectors, _ in self._stored)
        return Known(hashes, files[table.first], rows[table.first], vectors)


def encode_new(
    known: Known, encoder: Encoder, blocks: Iterable[list[str]], vector_type: VectorType, advance: Advance
) -> Iterator[Vectors]:
    """The rounded vectors of each block of a batch's sentences; `encoder` is asked for new ones, once each."""
    recent: dict[str, Vectors] = {}
    start = 0
    for block in blocks:
        files, rows = known.files[start : start + len(block)], known.rows[start : start + len(block)]
        start += len(block)
        vectors = np.zeros((len(block), encoder.dimension), dtype=PRECISIONS[vector_type].stored)
        for file in np.unique(files[files >= 0]):
            own = np.flatnonzero(files == file)
            vectors[own] = known.vectors[file][rows[own]]
        unknown = np.flatnonzero(files < 0).tolist()
        new = list(dict.fromkeys(block[number] for number in unknown if block[number] not in recent))
        advance(len(block) - len(new))
        recent.update(zip(new, to_grid(encoder.encode(new, advance), vector_type), strict=True))
        for number in unknown:
            vectors[number] = recent[block[number]]
        yield vectors


def require_same_vectors(path: Path, contents: Contents, other: Path, others: Contents) -> None:
    """Raise `IndexMismatch` unless two indexes give the same vectors to the same sentences."""
    own, theirs = contents.encoder(), others.encoder()
    if own is None or theirs is None or own.fingerprint != theirs.fingerprint:
        raise IndexMismatch(f"{other} has another encoder than {path}, or other weights: its vectors cannot be used")
    if contents.vectors != others.vectors:
        raise IndexMismatch(
            f"{other} stores its vectors as {others.vectors}, and {path} as {contents.vectors}: they cannot be used"
        )


def _is_sound(segment: Segment, row: np.int64) -> bool:
    """Whether the hash and the vector of a sentence are as they were written, where there are checksums."""
    try:
        segment.check_encoded(np.array([row]))
    except IndexCorrupt:
        return False
    return True
