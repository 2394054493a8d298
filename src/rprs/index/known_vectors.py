"""Sentences that an index has vectors of already: a transformer, which is slow, does not encode them again.

A sentence is found by 128 bits of a hash of its text. Its stored vector is copied as it is, since rounding a vector
that is rounded already could change it, so that an index has the same bytes as one whose sentences were all encoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.encode import Encoder
from rprs.errors import IndexCorrupt, IndexMismatch
from rprs.index.contents import Contents
from rprs.index.segment import Segment
from rprs.progress import Advance
from rprs.scoring.vectors import PRECISIONS, VectorType, to_grid

__all__ = ["WORTH_LOOKING", "KnownVectors", "encode_new", "require_same_vectors"]

Vectors = NDArray[np.floating[Any]]

# Looking at a sentence of the index takes 2 µs, a transformer 4 ms for one, and about one new sentence in twenty is
# known: that pays unless the index is some hundred times as large as what is added to it.
WORTH_LOOKING = 100


class KnownVectors:
    """The stored vectors of sentences, which stay in the mapped files that they are in."""

    def __init__(self, vector_type: VectorType) -> None:
        self._type = vector_type
        self._first = np.empty(0, dtype=np.uint64)  # 64 bits of the hash of each sentence, ascending, and 64 more
        self._second = np.empty(0, dtype=np.uint64)
        self._files = np.empty(0, dtype=np.int32)  # the position of its vectors in `_vectors`, and its row in them
        self._rows = np.empty(0, dtype=np.int64)
        self._vectors: list[Vectors] = []
        self._recent: dict[str, Vectors] = {}  # of the segment that is being written
        self._whole: set[tuple[Path, int]] = set()  # segments of which all sentences are known

    def add_index(self, root: Path, contents: Contents) -> None:
        """Add the sentences of all documents of an index."""
        new = [number for number in _encoded(contents) if (root, number) not in self._whole]
        sums = contents.block_sums() if new else None
        for number in new:
            self._add(root, number, contents, sums, contents.texts(number))
            self._whole.add((root, number))

    def add_documents(self, root: Path, contents: Contents, ids: Iterable[str]) -> None:
        """Add the sentences of those documents that the index has."""
        found: dict[int, list[tuple[int, str]]] = {}
        for number, ordinal, text in contents.texts_of(ids):
            if (root, number) not in self._whole:
                found.setdefault(number, []).append((ordinal, text))
        sums = contents.block_sums() if found else None
        for number in _encoded(contents):
            if number in found:
                self._add(root, number, contents, sums, found[number])

    def encode(self, encoder: Encoder, sentences: Sequence[str], advance: Advance) -> Vectors:
        """The rounded vectors of sentences; `encoder` is asked for those that are not known."""
        vectors = np.zeros((len(sentences), encoder.dimension), dtype=PRECISIONS[self._type].stored)
        unknown = self._fill(vectors, sentences)
        new = list(dict.fromkeys(sentences[number] for number in unknown if sentences[number] not in self._recent))
        advance(len(sentences) - len(new))
        self._recent.update(zip(new, to_grid(encoder.encode(new, advance), self._type), strict=True))
        for number in unknown:
            vectors[number] = self._recent[sentences[number]]
        return vectors

    def forget_recent(self) -> None:
        """Forget the sentences of the segment that is being written: they are added when it is in the index."""
        self._recent.clear()

    def _fill(self, vectors: Vectors, sentences: Sequence[str]) -> list[int]:
        """Write the vectors of known sentences into their rows; the numbers of the others."""
        if not len(self._first):
            return list(range(len(sentences)))
        first, second = _keys(sentences)
        places = np.minimum(np.searchsorted(self._first, first), len(self._first) - 1)
        known = (self._first[places] == first) & (self._second[places] == second)
        for file in np.unique(self._files[places[known]]):
            own = np.flatnonzero(known & (self._files[places] == file))
            vectors[own] = self._vectors[file][self._rows[places[own]]]
        return np.flatnonzero(~known).tolist()

    def _add(
        self,
        root: Path,
        number: int,
        contents: Contents,
        sums: Mapping[str, bytes] | None,
        texts: Iterable[tuple[int, str]],
    ) -> None:
        """Add the sentences of documents of a segment as far as they are sound; others are encoded again."""
        hashes, rows = [], []
        with suppress(IndexCorrupt):  # `rprs verify` reports it
            segment = Segment.open(root, number, contents.generation, vector_type=self._type, sums=sums)
            for sentences, numbers in _sentences(segment, texts):
                hashes.append(_keys(sentences))
                rows.append(numbers)
        if hashes and segment.vectors is not None:
            first, second = (np.concatenate(parts) for parts in zip(*hashes, strict=True))
            self._insert(first, second, np.concatenate(rows), segment.vectors)

    def _insert(
        self, first: NDArray[np.uint64], second: NDArray[np.uint64], rows: NDArray[np.int64], vectors: Vectors
    ) -> None:
        """Insert rows of a file in the order of the hashes; of equal ones, the earliest stays."""
        files = np.full(len(rows), len(self._vectors), dtype=np.int32)
        self._vectors.append(vectors)
        every, kept = np.unique(np.concatenate((self._first, first)), return_index=True)
        self._first = every
        self._second = np.concatenate((self._second, second))[kept]
        self._files = np.concatenate((self._files, files))[kept]
        self._rows = np.concatenate((self._rows, rows))[kept]


def encode_new(
    known: KnownVectors, encoder: Encoder, blocks: Iterable[list[str]], advance: Advance
) -> Iterator[Vectors]:
    """The vectors of each block of sentences, of which only new ones are encoded."""
    for block in blocks:
        yield known.encode(encoder, block, advance)


def require_same_vectors(path: Path, contents: Contents, other: Path, others: Contents) -> None:
    """Raise `IndexMismatch` unless two indexes give the same vectors to the same sentences."""
    own, theirs = contents.encoder(), others.encoder()
    if own is None or theirs is None or own.fingerprint != theirs.fingerprint:
        raise IndexMismatch(f"{other} has another encoder than {path}, or other weights: its vectors cannot be used")
    if contents.vectors != others.vectors:
        raise IndexMismatch(
            f"{other} stores its vectors as {others.vectors}, and {path} as {contents.vectors}: they cannot be used"
        )


def _encoded(contents: Contents) -> list[int]:
    """The numbers of the segments with vectors of the encoder in use."""
    generation = contents.generation
    return [row.number for row in contents.segments() if generation is not None and row.generation == generation]


def _sentences(segment: Segment, texts: Iterable[tuple[int, str]]) -> Iterator[tuple[list[str], NDArray[np.int64]]]:
    """The sentences of each document, with the numbers of their rows; the text of a removed one is empty."""
    for ordinal, text in texts:
        with suppress(IndexCorrupt):
            spans = segment.sentences(ordinal).spans.tolist()
            if text and spans:
                start = int(segment.sentence_offsets[ordinal])
                yield [text[begin:end] for begin, end in spans], np.arange(start, start + len(spans))


def _keys(sentences: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Two numbers of 64 bits for each sentence."""
    digests = b"".join(
        blake2b(sentence.encode("utf-8", "surrogatepass"), digest_size=16).digest() for sentence in sentences
    )
    pairs = np.frombuffer(digests, dtype="<u8").reshape(-1, 2)
    return pairs[:, 0].astype(np.uint64), pairs[:, 1].astype(np.uint64)
