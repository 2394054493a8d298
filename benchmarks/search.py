"""The latency of a search and its stages, for short and long queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from benchmarks.collection import collection, name_of
from benchmarks.indexing import built
from benchmarks.table import Row, seconds
from benchmarks.timing import Options
from rprs.document import Document
from rprs.index import Index
from rprs.results.hits import Results
from rprs.search import Searcher

__all__ = ["random_queries", "run"]

QUERIES = 40
LENGTHS = {"short": (50, 300), "long": (2_000, 20_000)}  # words


def run(options: Options) -> Iterator[Row]:
    """The queries are documents of the collection with other ids, so that they are split and encoded each time."""
    source = collection(options)
    path, _ = built(source, options.encoder)
    with Index(path) as index:
        searcher = Searcher(index)
        for kind, (least, most) in LENGTHS.items():
            queries = random_queries(index, least, most, QUERIES // 4 if options.quick else QUERIES)
            if not queries:
                yield Row("search", f"{kind} queries: {name_of(source)} has no document of that length", "")
                continue
            searcher.search(queries[0])
            yield from _rows(kind, queries, searcher)


def random_queries(index: Index, least: int, most: int, count: int) -> list[Document]:
    """Random documents with a number of words in this range; the same each time."""
    numbers = np.flatnonzero((index.lengths >= least) & (index.lengths <= most))
    chosen = np.random.default_rng(0).permutation(numbers)[:count]
    return [replace(index.document(index.ids[number]), id=f"query {number}") for number in chosen.tolist()]


def _rows(kind: str, queries: Sequence[Document], searcher: Searcher) -> Iterator[Row]:
    results: list[Results] = []
    whole = np.zeros(len(queries))
    for place, query in enumerate(queries):
        started = perf_counter()
        results.append(searcher.search(query))
        whole[place] = perf_counter() - started
    words = np.median([len(query.text.split()) for query in queries])
    pool = np.median([result.candidates for result in results])
    title = f"{kind} queries, {words:,.0f} words, {pool:.0f} candidates of {len(searcher.index):,} documents"
    yield Row("search", f"{title}; all of it", _spread(whole))
    for stage in results[0].seconds:
        durations = np.array([result.seconds[stage] for result in results])
        share = durations.sum() / whole.sum()
        yield Row("search", f"{kind} queries; {stage}", _spread(durations), "all of it", f"{share:.0%} of the time")


def _spread(values: NDArray[np.float64]) -> str:
    return f"p50 {seconds(float(np.median(values)))}, p95 {seconds(float(np.percentile(values, 95)))}"
