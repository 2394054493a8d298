"""The time of evidence: what ten hits with their pairs add to a search, and the alignment of two long documents."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

import numpy as np

from benchmarks.collection import collection
from benchmarks.indexing import built
from benchmarks.search import random_queries
from benchmarks.table import Goal, Row, seconds
from benchmarks.timing import Options, compared, interleaved
from rprs.alignment.align import align_sides
from rprs.alignment.sides import make_side
from rprs.document import Document, Sentences, combine
from rprs.index import Index
from rprs.search import Searcher

__all__ = ["long_text", "run"]

QUERIES = 12
WORDS = 100_000
LENGTH = (2_000, 20_000)  # words of a query
WITHOUT, WITH = "without evidence", "with evidence"  # near duplicates are grouped in both


def run(options: Options) -> Iterator[Row]:
    """Searches for long queries with and without evidence, in turn; and two texts of 100,000 words each."""
    path, _ = built(collection(options), options.encoder)
    with Index(path) as index:
        searcher = Searcher(index)
        queries = random_queries(index, *LENGTH, QUERIES // 4 if options.quick else QUERIES)
        if queries:
            times = interleaved(
                {
                    WITHOUT: lambda: [searcher.search(query, pairs=0) for query in queries],
                    WITH: lambda: [searcher.search(query) for query in queries],
                },
                options.rounds(8),
            )
            what = f"{len(queries)} long queries, 10 hits with 3 pairs each"
            yield compared("evidence", what, times, WITHOUT, ours=WITH, goal=Goal(1.3))
        yield from _long_texts(index)


def _long_texts(index: Index) -> Iterator[Row]:
    """Two texts that are put together from documents of the index, with their stored vectors."""
    numbers = np.random.default_rng(0).permutation(len(index)).tolist()
    first, second = long_text(index, numbers), long_text(index, numbers[::-1])
    durations = []
    for _ in range(3):
        started = perf_counter()
        alignment = align_sides(make_side(*first), make_side(*second), index.calibration)
        durations.append(perf_counter() - started)
    words = alignment.query_coverage.words, alignment.document_coverage.words
    what = f"alignment of {words[0]:,} words with {words[1]:,} words"
    yield Row("evidence", what, seconds(min(durations)), "the limit", seconds(3.0), min(durations) / 3, goal=Goal(1.0))


def long_text(index: Index, numbers: list[int]) -> tuple[Document, Sentences]:
    """A text of 100,000 words, put together from documents of an index, with their stored vectors."""
    documents, spans, paragraphs, vectors = list[Document](), [], [], []
    length = words = 0
    for number in numbers:
        if words >= WORDS:
            break
        document, sentences = index.document(index.ids[number]), index.sentences(index.ids[number])
        documents.append(document)
        spans.append(sentences.spans + length)
        paragraphs.append(sentences.paragraphs)
        vectors.append(sentences.vectors)
        length += len(document.text) + 2
        words += len(document.text.split())
    joined = Sentences(np.concatenate(spans), np.concatenate(paragraphs), np.concatenate(vectors))
    return combine(documents), joined
