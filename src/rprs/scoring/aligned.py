"""One pass over any number of documents, block by block, on all cores: what SDR, MaxSim and mean pooling share.

Every worker takes a chunk of consecutive whole documents from one iterator, widens their vectors a block at a time,
multiplies the block with the query's (BLAS) and folds the products into what a score is made of (Numba). No more
than a block of products is ever there, so memory depends on the query and on the documents in work, never on how many
there are. Products on the grid of `scoring.vectors` are exact, and so are their sums in float64; what is not exact is
added in the query's order. So neither blocks nor chunks nor threads change a bit of the result.
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
from rprs.scoring.neighbours import POOL_ROWS, QUERY_ROWS, blocks
from rprs.scoring.threads import cores, one_blas_thread

__all__ = ["DOCUMENT", "PARAGRAPH", "USUAL", "Block", "Fold", "Plan", "Scan", "Visit", "multiply", "scan"]

PARAGRAPH, DOCUMENT = 1, 2  # what ends with a sentence, 0 for neither; the end of a document ends a paragraph, too

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Wide = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Plan:
    """How the work is cut. It changes the time that it takes, and nothing else."""

    threads: int | None = None  # all cores
    rows: int = QUERY_ROWS  # sentences of the query that are multiplied at a time
    block: int = POOL_ROWS  # with so many of the documents
    chunk: int = 2 * POOL_ROWS  # sentences, at least, that a worker takes at a time

    @property
    def workers(self) -> int:
        """How many threads there will be."""
        return self.threads or cores()


@dataclass(frozen=True, slots=True)
class Block:
    """c sentences of consecutive documents; a document may go on in the next block that the same worker gets."""

    vectors: Wide  # (c, dimension)
    ends: NDArray[np.uint8]  # (c,): 0, PARAGRAPH or DOCUMENT
    owner: Ints  # (c,): the row of `values` that belongs to a sentence's document


USUAL = Plan()

Visit = Callable[[Block, Floats], None]
"""Takes a block, and puts what it makes of it into the values (documents of a chunk, width), which begin as `empty`."""

Fold = Callable[[Wide, int, Block, Floats], None]
"""The same with the products (c, r) of the block's sentences and the query's from a row on, top to bottom."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What a pass over k documents gave."""

    values: Floats  # (k, width)
    sizes: Ints  # (k,): sentences


def scan(
    documents: Iterable[Sentences],
    visits: Sequence[Visit],
    width: int,
    empty: float = 0.0,
    *,
    plan: Plan,
    advance: Callable[[int], None],
) -> Scan:
    """Show every document to one of the visitors, each of which lives in a thread of its own.

    The documents are taken one by one, in their order, by one thread at a time; `advance` is told of sentences done.
    """
    source = _Source(documents, plan.chunk)
    done: list[tuple[int, Floats, Ints]] = []

    def work(visit: Visit) -> None:
        try:
            for first, chunk in iter(source.take, None):
                sizes = np.array([len(document) for document in chunk], dtype=np.int64)
                values = np.full((len(chunk), width), empty, dtype=np.float64)
                for block in _blocks(chunk, sizes, plan.block):
                    visit(block, values)
                done.append((first, values, sizes))
                advance(int(sizes.sum()))
        finally:
            source.close()  # whoever ends, with an error or without, ends it for all

    with one_blas_thread(), ThreadPoolExecutor(len(visits), "aligned") as threads:
        try:
            for _ in threads.map(work, visits):
                pass
        finally:
            source.close()
    done.sort(key=lambda part: part[0])
    values = np.concatenate([np.zeros((0, width)), *(part[1] for part in done)])
    return Scan(values, np.concatenate([np.zeros(0, dtype=np.int64), *(part[2] for part in done)]))


class _Source:
    """Chunks of consecutive documents, for several threads."""

    def __init__(self, documents: Iterable[Sentences], chunk: int) -> None:
        self._documents = iter(documents)
        self._chunk = chunk
        self._taken = 0
        self._open = True
        self._lock = Lock()

    def take(self) -> tuple[int, list[Sentences]] | None:
        """The next documents with the number of their first, or None if there are no more."""
        with self._lock:
            found: list[Sentences] = []
            rows = 0
            while self._open and rows < self._chunk:
                document = next(self._documents, None)
                if document is None:
                    self._open = False
                else:
                    found.append(document)
                    rows += len(document)
            first = self._taken
            self._taken += len(found)
            return (first, found) if found else None

    def close(self) -> None:
        """Give no more."""
        self._open = False


def _blocks(chunk: Sequence[Sentences], sizes: Ints, most: int) -> Iterator[Block]:
    """The sentences of a chunk in blocks of about equal size."""
    offsets = np.concatenate([[0], np.cumsum(sizes[sizes > 0])])
    total = int(offsets[-1])
    if not total:
        return
    full = [document for document in chunk if len(document)]
    ends = np.zeros(total, dtype=np.uint8)
    ends[:-1] = np.diff(np.concatenate([document.paragraphs for document in full])) != 0
    ends[offsets[1:] - 1] = DOCUMENT
    owner = np.repeat(np.arange(len(chunk)), sizes)
    size = -(-total // -(-total // most))
    for first, vectors in blocks([document.vectors for document in full], offsets, 0, total, size):
        part = slice(first, first + len(vectors))
        yield Block(vectors, ends[part], owner[part])


def multiply(query: Wide, folds: Sequence[Fold], plan: Plan) -> Visit:
    """A visitor that multiplies every block with the query, some of its rows after the other, for all the folds."""
    buffer: NDArray[Any] = np.empty(min(plan.rows, len(query)) * plan.block, dtype=np.float32)

    def visit(block: Block, values: Floats) -> None:
        for top in range(0, len(query), plan.rows):
            part = query[top : top + plan.rows]
            shape = len(block.vectors), len(part)
            products = buffer[: shape[0] * shape[1]].reshape(shape)
            np.matmul(block.vectors, part.T, out=products)
            for fold in folds:
                fold(products, top, block, values)

    return visit
