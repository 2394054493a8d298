"""The processor time of coverage: until the first lane can be drawn, and until the chart of 20 sources is complete."""

from __future__ import annotations

from collections.abc import Iterator
from time import process_time

import numpy as np

from benchmarks.collection import collection
from benchmarks.evidence import long_text
from benchmarks.indexing import built
from benchmarks.search import random_queries
from benchmarks.table import Goal, Row, seconds
from benchmarks.timing import Options
from rprs.charts.build import Charting, named_hits
from rprs.charts.formats import CHART_FORMATS
from rprs.document import Document
from rprs.index import Index
from rprs.search import Searcher

__all__ = ["run"]

LENGTH = (2_000, 20_000)  # words of a usual query
FIRST = 2.0  # seconds until something is seen, of a usual query
WHOLE = 120.0  # seconds that a server allows
SOURCES = 20


def run(options: Options) -> Iterator[Row]:
    """A usual query, and one of 100,000 words; the search and the reading of sentences are included."""
    path, _ = built(collection(options), options.encoder)
    with Index(path) as index:
        searcher = Searcher(index)
        numbers = np.random.default_rng(0).permutation(len(index)).tolist()
        queries = [*random_queries(index, *LENGTH, 1), long_text(index, numbers)[0]]
        for query in queries:
            searcher.coverage(query.text[:2000], k=1)  # compiles what is compiled on first use
            yield from _measured(searcher, query)


def _measured(searcher: Searcher, query: Document) -> Iterator[Row]:
    words, started = len(query.text.split()), process_time()
    charting = Charting(query, searcher.index)
    results = searcher.search(query, SOURCES, pairs=0)
    sources, first = [], 0.0
    for source in charting.sources(named_hits(results)):
        sources.append(source)
        first = first or process_time() - started
    chart = charting.finish(sources)
    whole = process_time() - started
    what = f"{words:,} words: rows and the first of {len(sources)} sources"
    yield _row(what, first, FIRST) if words <= LENGTH[1] else Row("coverage", what, seconds(first))
    yield _row(f"{words:,} words: the chart of {len(sources)} sources", whole, WHOLE)
    for name in ("docx", "csv"):
        started = process_time()
        size = len(CHART_FORMATS[name].write(chart, None))
        yield Row(
            "coverage", f"{name} of {len(chart.rows):,} rows, {size / 1e6:.1f} MB", seconds(process_time() - started)
        )


def _row(what: str, duration: float, limit: float) -> Row:
    return Row("coverage", what, seconds(duration), "the limit", seconds(limit), duration / limit, goal=Goal(1.0))
