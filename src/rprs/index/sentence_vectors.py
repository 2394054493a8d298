"""The vectors of a segment's sentences, computed in several processes if many wait for a fitted encoder.

A fitted encoder spends most of its time in Python, where threads would wait for each other; other encoders have threads
of their own. While documents are added to an index that has its encoder, the cores are busy with splitting them. The
vectors are the same whoever computes them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.encode import Encoder
from rprs.index.workers import Workers
from rprs.progress import Advance, no_op
from rprs.scoring.vectors import VectorType, to_grid

__all__ = [
    "ENCODE_ROWS",
    "LEAST_SENTENCES",
    "EncodeSentences",
    "encode_blocks",
    "encode_in_processes",
    "sentence_blocks",
]

Vectors = NDArray[np.floating[Any]]

ENCODE_ROWS = 8192  # sentences encoded at a time
LEAST_SENTENCES = 100_000  # that wait to be encoded: for fewer, processes are not started


def sentence_blocks(
    texts: Iterable[tuple[int, str]], offsets: NDArray[Any], spans: NDArray[Any]
) -> Iterator[list[str]]:
    """The sentences of a segment, `ENCODE_ROWS` at a time; `texts` are ordinals and texts in their order."""
    sentences = (
        text[start:end]
        for ordinal, text in texts
        for start, end in spans[offsets[ordinal] : offsets[ordinal + 1]].tolist()
    )
    while block := list(islice(sentences, ENCODE_ROWS)):
        yield block


def encode_blocks(
    encoder: Encoder, blocks: Iterable[list[str]], vector_type: VectorType, advance: Advance = no_op
) -> Iterator[Vectors]:
    """The vectors of each block of sentences."""
    for block in blocks:
        yield to_grid(encoder.encode(block, advance), vector_type)


@dataclass(frozen=True)
class EncodeSentences:
    """Encodes sentences in another process, which loads a fitted encoder from its folder."""

    component: Any
    folder: Path
    vector_type: VectorType

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder, loaded when it is first needed."""
        encoder: Encoder = self.component.open(self.folder)
        return encoder

    def __call__(self, sentences: list[str]) -> Vectors:
        """The vectors of sentences."""
        return to_grid(self.encoder.encode(sentences), self.vector_type)


def encode_in_processes(
    workers: Workers[list[str], Vectors],
    encoder: Encoder,
    blocks: Iterable[list[str]],
    vector_type: VectorType,
    advance: Advance = no_op,
) -> Iterator[Vectors]:
    """The same as `encode_blocks`; `encoder` encodes the blocks of processes that have ended unexpectedly."""
    waiting: deque[tuple[list[str], Future[Vectors | None]]] = deque()

    def next_vectors() -> Vectors:
        sentences, future = waiting.popleft()
        found = future.result()
        if found is None:
            return to_grid(encoder.encode(sentences, advance), vector_type)
        advance(len(sentences))
        return found

    for block in blocks:
        waiting.append((block, workers.submit(block)))
        if len(waiting) > 2 * workers.most:
            yield next_vectors()
    while waiting:
        yield next_vectors()
