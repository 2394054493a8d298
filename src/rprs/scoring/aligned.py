"""One pass over any number of documents, block by block, on all cores: what SDR, MaxSim, mean pooling and RPRS share.

Every worker takes a chunk of consecutive complete documents from one iterator, widens their vectors block by block,
multiplies each block with the query's vectors (BLAS) and folds the products into running values (Numba), from which
scores are computed. Only one block of products per worker exists at a time, so memory depends on the query and on the
documents being processed, not on their total number. Products on the grid of `scoring.vectors` are exact, and so are
their sums in float64, of float32 vectors up to 8,192 products; everything that may not be exact is added in the order
of the sentences. Therefore neither blocks nor chunks nor threads change a bit of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.document import Sentences
from rprs.progress import Advance
from rprs.scoring.lists import POOL_ROWS, QUERY_ROWS, Wide
from rprs.scoring.neighbours import blocks
from rprs.scoring.threads import cores, one_blas_thread

__all__ = ["DEFAULT_PLAN", "DOCUMENT", "PARAGRAPH", "Block", "Fold", "Plan", "Scan", "Visit", "multiply", "scan"]

PARAGRAPH, DOCUMENT = 1, 2  # the unit that ends with a sentence (0: none); the end of a document also ends a paragraph

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Plan:
    """How the work is divided. It affects the running time only, not the result."""

    threads: int | None = None  # None: one per core
    rows: int = QUERY_ROWS  # query sentences multiplied at a time
    block: int = POOL_ROWS  # document sentences multiplied at a time
    chunk: int = 2 * POOL_ROWS  # least number of sentences that a worker takes at a time

    @property
    def workers(self) -> int:
        """The number of threads."""
        return self.threads or cores()


@dataclass(frozen=True, slots=True)
class Block:
    """c sentences of consecutive documents; the last document may continue in the next block of the same worker."""

    first: int  # number of the first of them among the sentences of all documents, in the order of the pass
    vectors: Wide  # (c, dimension)
    ends: NDArray[np.uint8]  # (c,): 0, PARAGRAPH or DOCUMENT
    owner: Ints  # (c,): the row of `values` for the document of each sentence


DEFAULT_PLAN = Plan()

Visit = Callable[[Block, Floats], None]
"""Processes a block and updates the values (documents of the chunk, width), which are initialised to `empty`."""

Fold = Callable[[Wide, int, Block, Floats], None]
"""The same from the products (c, r) of the block's sentences and r query sentences, the first of which is given."""


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of a pass over k documents."""

    values: Floats  # (k, width)
    sizes: Ints  # (k,): sentences per document


def scan(
    documents: Iterable[Sentences],
    visits: Sequence[Visit],
    width: int,
    empty: float = 0.0,
    *,
    plan: Plan,
    advance: Advance,
) -> Scan:
    """Pass every document to one of the visitors, each of which runs in its own thread.

    The documents are read one by one, in their order, by one thread at a time; `advance` counts processed sentences.
    """
    source = _Source(documents, plan.chunk)
    parts: list[tuple[int, Floats, Ints]] = []  # number of the first document, values, sizes

    def work(visit: Visit) -> None:
        try:
            for chunk in iter(source.next_chunk, None):
                sizes = np.array([len(document) for document in chunk.documents], dtype=np.int64)
                values = np.full((len(sizes), width), empty, dtype=np.float64)
                for block in _blocks(chunk, sizes, plan.block):
                    visit(block, values)
                parts.append((chunk.position, values, sizes))
                advance(int(sizes.sum()))
        finally:
            source.close()  # a worker that ends, with or without an error, ends the pass for all

    with one_blas_thread(), ThreadPoolExecutor(len(visits), "aligned") as threads:
        try:
            for _ in threads.map(work, visits):
                pass
        finally:
            source.close()
    parts.sort(key=lambda part: part[0])
    values = np.concatenate([np.zeros((0, width)), *(part[1] for part in parts)])
    return Scan(values, np.concatenate([np.zeros(0, dtype=np.int64), *(part[2] for part in parts)]))


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Consecutive documents, with the numbers of documents and sentences before them."""

    documents: Sequence[Sentences]
    position: int
    sentences: int


class _Source:
    """Hands out chunks of consecutive documents to several threads."""

    def __init__(self, documents: Iterable[Sentences], chunk: int) -> None:
        self._documents = iter(documents)
        self._chunk = chunk
        self._position = self._sentences = 0
        self._open = True
        self._lock = Lock()

    def next_chunk(self) -> _Chunk | None:
        """The next documents, or None if there are no more."""
        with self._lock:
            documents: list[Sentences] = []
            rows = 0
            while self._open and rows < self._chunk:
                document = next(self._documents, None)
                if document is None:
                    self._open = False
                else:
                    documents.append(document)
                    rows += len(document)
            chunk = _Chunk(documents, self._position, self._sentences)
            self._position, self._sentences = self._position + len(documents), self._sentences + rows
            return chunk if documents else None

    def close(self) -> None:
        """Hand out no more documents."""
        self._open = False


def _blocks(chunk: _Chunk, sizes: Ints, limit: int) -> Iterator[Block]:
    """The sentences of a chunk in blocks of about equal size, each of at most `limit` sentences."""
    offsets = np.concatenate([[0], np.cumsum(sizes[sizes > 0])])
    total = int(offsets[-1])
    if not total:
        return
    documents = [document for document in chunk.documents if len(document)]
    ends = np.zeros(total, dtype=np.uint8)
    ends[:-1] = np.diff(np.concatenate([document.paragraphs for document in documents])) != 0
    ends[offsets[1:] - 1] = DOCUMENT
    owner = np.repeat(np.arange(len(sizes)), sizes)
    size = -(-total // -(-total // limit))
    for first, vectors in blocks([document.vectors for document in documents], offsets, [(0, total)], size):
        part = slice(first, first + len(vectors))
        yield Block(chunk.sentences + first, vectors, ends[part], owner[part])


def multiply(query: Wide, folds: Sequence[Fold], plan: Plan) -> Visit:
    """A visitor that multiplies every block with the query, `plan.rows` sentences at a time, for all the folds."""
    buffer: NDArray[Any] = np.empty(min(plan.rows, len(query)) * plan.block, dtype=query.dtype)

    def visit(block: Block, values: Floats) -> None:
        for top in range(0, len(query), plan.rows):
            part = query[top : top + plan.rows]
            shape = len(block.vectors), len(part)
            products = buffer[: shape[0] * shape[1]].reshape(shape)
            np.matmul(block.vectors, part.T, out=products)
            for fold in folds:
                fold(products, top, block, values)

    return visit
