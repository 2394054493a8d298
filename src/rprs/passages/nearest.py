"""The nearest sentences of a whole index by their vectors, for every sentence of a passage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice

import numpy as np
from numpy.typing import NDArray

from rprs.document import Sentences
from rprs.index import Index
from rprs.index.segment import Segment
from rprs.progress import Progress, stopper
from rprs.scoring.nearest import StoredDocuments, nearest_sentences

__all__ = ["Neighbour", "merge_neighbours", "nearest_in_index"]

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A sentence of a document that is among the nearest of a sentence of the passage."""

    document: str  # its id
    sentence: int  # its place in the document
    query: int  # the place of the passage's sentence
    similarity: float


def nearest_in_index(
    passage: Sentences, index: Index, allowed: Mask, n: int, progress: Progress, threads: int | None = None
) -> tuple[list[Neighbour], int]:
    """The n nearest sentences of all allowed documents for each sentence of a passage; and how many were compared.

    Of equally similar ones, that of the smaller document id comes first, then the earlier one.
    """
    eligible = allowed & (index.sentence_counts > 0)
    counts = np.where(eligible, index.sentence_counts, 0)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    total = int(offsets[-1])
    stored = list(_stored(index, eligible, offsets))
    with progress("comparing all sentences", total, "sentences") as advance:
        similarity, keys = nearest_sentences(
            passage.vectors,
            [documents for _, documents in stored],
            n,
            check=_checks(stored),
            threads=threads,
            advance=advance,
        )
    documents = np.searchsorted(offsets, keys, side="right") - 1
    neighbours = [
        Neighbour(index.ids[document], key - int(offsets[document]), query, value)
        for query in range(len(keys))
        for document, key, value in zip(
            documents[query].tolist(), keys[query].tolist(), similarity[query].tolist(), strict=True
        )
    ]
    return neighbours, total


def merge_neighbours(lists: Iterable[Iterable[Neighbour]], n: int) -> list[Neighbour]:
    """The neighbours in several parts of a collection as those of the whole, n for each sentence of the passage."""
    every = sorted(
        (neighbour for each in lists for neighbour in each),
        key=lambda each: (each.query, -each.similarity, each.document, each.sentence),
    )
    return [each for _, own in groupby(every, key=lambda each: each.query) for each in islice(own, n)]


def _stored(index: Index, eligible: Mask, offsets: NDArray[np.int64]) -> Iterator[tuple[Segment, StoredDocuments]]:
    for segment, numbers in zip(index.segments, index.numbers, strict=True):
        ordinals = np.flatnonzero((numbers >= 0) & eligible[numbers])
        if segment.vectors is not None and len(ordinals):
            bounds = segment.sentence_offsets
            rows = bounds[ordinals], bounds[ordinals + 1]
            yield segment, StoredDocuments(np.asarray(segment.vectors), *rows, offsets[numbers[ordinals]])


def _checks(stored: Sequence[tuple[Segment, StoredDocuments]]) -> Callable[[StoredDocuments], None]:
    """Whether the search was cancelled, and whether the vectors are as they were written."""
    check, segments = stopper.get(), {id(documents.vectors): segment for segment, documents in stored}

    def run(documents: StoredDocuments) -> None:
        check()
        segments[id(documents.vectors)].check_vectors(documents.starts, documents.stops)

    return run
