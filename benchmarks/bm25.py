"""BM25 and the cosine with very long queries, compared with bm25s, scipy.sparse and tantivy.

The index of bm25s holds precomputed scores; tantivy is a search engine like Lucene, written in Rust; scipy.sparse
multiplies a matrix of the same postings, with k1 and b chosen at query time as in rprs. The collections are generated:
words drawn from a Zipf–Mandelbrot distribution, the same for all. All receive the words of a query, not its text, and
use one thread, so processor times are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from benchmarks import blocks
from benchmarks.drawn import Drawn, draw, first_distinct, write_index
from benchmarks.table import Goal, Row, seconds
from benchmarks.timing import Options, Times, compared, interleaved, peer_module
from rprs.document import Document
from rprs.index import Index
from rprs.rank import BM25
from rprs.rank.cosine import Cosine
from rprs.rank.grams import query_grams
from rprs.rank.steps import alone
from rprs.scoring import bm25

__all__ = ["run"]

SIZES = ((2_000, 2_000), (20_000, 2_000), (200_000, 200))  # documents, words of each
TERMS = 3_000  # per query
QUERIES = 8
DEPTH = 100
ROUNDS = 24
MEMORY = 2**29  # bytes: more than any cache
PLAIN, COMPILED = "bm25s", "bm25s, Numba backend"
GOALS = {PLAIN: Goal(1.0), COMPILED: Goal(1.0)}
COSINE_GOAL = Goal(2.0)
SCIPY = "scipy.sparse, same postings"
LIMIT = "reading as many bytes as the postings have from memory"
COSINE_LIMIT = "reading as many bytes as the postings of words and phrases have from memory"
TANTIVY = "tantivy"
TANTIVY_GOAL = Goal(1.0)

Words = list[str]
Query = TypeVar("Query")


def run(options: Options) -> Iterator[Row]:
    """Our times include looking up the terms; k1 and b are chosen at query time."""
    random = np.random.default_rng(1)
    running = [draw(random, TERMS) for _ in range(QUERIES)]
    distinct = [first_distinct(draw(random, 20 * TERMS), TERMS) for _ in range(QUERIES)]
    for size in SIZES[:1] if options.quick else SIZES:
        collection = Drawn.of_size(*size)
        with TemporaryDirectory() as folder:
            index = write_index(Path(folder) / "bench.rprs", collection, phrases=True)
            engines = Engines(index, _bm25s(collection), _tantivy(collection))
            for what, drawn in ((f"{TERMS:,} distinct terms", distinct), (f"{TERMS:,} running words", running)):
                title = f"{what}, {size[0]:,} × {size[1]:,} words"
                queries = [[collection.words[number] for number in each.tolist()] for each in drawn]
                yield from _scores(title, queries, engines, options.rounds(ROUNDS))
                yield _ranking(title, queries, engines, options.rounds(ROUNDS))
            index.close()
    yield from blocks.rows(options)


@dataclass(frozen=True, slots=True)
class Engines:
    """Our index and those of the other libraries; None for one that is not installed."""

    index: Index
    bm25s: dict[str, Any]
    tantivy: Callable[[Words], list[str]] | None


def _scores(title: str, queries: list[Words], engines: Engines, rounds: int) -> Iterator[Row]:
    """The score of every document, by BM25 and by the cosine over words and phrases."""
    index, ranker = engines.index, BM25(k1=1.5, b=0.75)

    def ours(words: Words) -> NDArray[np.float64]:
        return alone(ranker.steps(words, index))

    scores: dict[str, Callable[[Words], NDArray[Any]]] = {SCIPY: _scipy(index, ranker)}
    scores |= {name: peer.get_scores for name, peer in engines.bm25s.items() if peer is not None}
    for name, peer in scores.items():
        if not np.allclose(ours(queries[0]), peer(queries[0]), rtol=1e-4):
            raise RuntimeError(f"{name} gives different scores from ours: the comparison would be meaningless")
    tasks = {name: _each(task, queries) for name, task in {"ours": ours, **scores}.items()}
    tasks["cosine"] = _each(lambda words: alone(Cosine().steps(words, index)), queries)
    tasks[LIMIT] = _reading(queries, index, 1)
    tasks[COSINE_LIMIT] = _reading(queries, index, Cosine().ngrams)
    times = interleaved(tasks, rounds, process_time)
    what = f"the score of every document: {title}, processor time"
    yield compared("bm25", what, times, SCIPY)
    yield from (_compared_or_missing(what, times, name, "ours", goal) for name, goal in GOALS.items())
    yield compared("bm25", what, times, LIMIT)
    cosine = f"the cosine of every document: {title}, processor time"
    yield _compared_or_missing(cosine, times, COMPILED, "cosine", COSINE_GOAL)
    yield compared("bm25", cosine, times, COSINE_LIMIT, ours="cosine")


def _compared_or_missing(what: str, times: Times, peer: str, ours: str, goal: Goal) -> Row:
    if peer in times:
        return compared("bm25", what, times, peer, ours=ours, goal=goal)
    return Row("bm25", what, seconds(float(times[ours].min())), peer, goal=goal, missing="pip install bm25s")


def _ranking(title: str, queries: list[Words], engines: Engines, rounds: int) -> Row:
    what = f"the best {DEPTH}: {title}, processor time"
    index, engine = engines.index, engines.tantivy
    allowed = np.ones(len(index), dtype=bool)
    ranker = BM25(k1=1.2, b=0.75, lengths="lucene")  # as in tantivy

    def ours(words: Words) -> list[str]:
        best = bm25.top(alone(ranker.steps(words, index)), DEPTH, allowed)
        return [index.ids[number] for number in best.tolist()]

    tasks = {"ours": _each(ours, queries)}
    if engine is not None:
        tasks[TANTIVY] = _each(engine, queries)
        shared = set(engine(queries[0])) & set(ours(queries[0]))
        if len(shared) < 0.9 * DEPTH:
            raise RuntimeError(f"{TANTIVY} shares {len(shared)} of the best {DEPTH}: the comparison is meaningless")
    times = interleaved(tasks, rounds, process_time)
    if engine is None:
        return Row(
            "bm25", what, seconds(float(times["ours"].min())), TANTIVY, goal=TANTIVY_GOAL, missing="pip install tantivy"
        )
    return compared("bm25", what, times, TANTIVY, goal=TANTIVY_GOAL)


def _reading(queries: list[Words], index: Index, longest: int) -> Callable[[], object]:
    """A task that reads as many bytes from memory as the next query has in its postings, and does nothing else.

    They are those of words and of phrases of up to so many words, which are stored in fewer bytes, but read like these.
    """
    memory = np.ones(MEMORY // 4, dtype=np.int32)
    (segment,) = index.segments
    bytes_of_posting = segment.posting_documents.itemsize + segment.posting_counts.itemsize
    place = 0

    def read(size: int) -> None:
        nonlocal place
        place = place if place + size <= len(memory) else 0
        memory[place : place + size].max()
        place += size

    postings = [sum(grams.df.sum() for grams in query_grams(words, index, longest).grams) for words in queries]
    return _each(read, [int(number) * bytes_of_posting // 4 for number in postings])


def _each(task: Callable[[Query], object], queries: list[Query]) -> Callable[[], object]:
    """A task that takes the next query at every call."""
    endless = cycle(queries)
    return lambda: task(next(endless))


# ---------------------------------------------------------------------------- the other libraries


def _scipy(index: Index, ranker: BM25) -> Callable[[Words], NDArray[np.float64]]:
    """BM25 as a product of a sparse matrix (documents × terms) and the query's weights, from the index's postings."""
    (segment,) = index.segments
    shape = len(index), len(segment.posting_offsets) - 1
    columns = segment.posting_counts.astype(np.float64), segment.posting_documents, segment.posting_offsets
    counts = csc_array(columns, shape=shape)

    def scores(words: Words) -> NDArray[np.float64]:
        terms = ranker.terms(Document("query", " ".join(words)), index)
        ((starts, _),) = terms.postings
        numbers = np.searchsorted(segment.posting_offsets, starts[terms.in_index], side="right") - 1
        matrix = counts[:, numbers]
        matrix.data /= (
            matrix.data + bm25.saturation(terms.lengths, terms.mean_length, ranker.k1, ranker.b)[matrix.indices]
        )
        return np.asarray(matrix @ terms.weights[terms.in_index])

    return scores


def _bm25s(collection: Drawn) -> dict[str, Any]:
    """bm25s with Lucene's formula, with its NumPy and its Numba backend; None if it is not installed."""
    bm25s = peer_module("bm25s")
    if bm25s is None:
        return dict.fromkeys(GOALS)
    plain = bm25s.BM25(method="lucene", backend="numpy", k1=1.5, b=0.75)
    vocabulary = {word: number for number, word in enumerate(collection.words)}
    plain.index((collection.documents.tolist(), vocabulary), show_progress=False)
    compiled = copy(plain)
    compiled.activate_numba_scorer()
    return {PLAIN: plain, COMPILED: compiled}


def _tantivy(collection: Drawn) -> Callable[[list[str]], list[str]] | None:
    """A function from terms to the ids of the best documents for the OR of all terms; None if not installed."""
    tantivy = peer_module("tantivy")
    if tantivy is None:
        return None
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw")
    builder.add_text_field("body", stored=False, tokenizer_name="whitespace")
    schema = builder.build()
    engine = tantivy.Index(schema)
    writer = engine.writer(heap_size=500_000_000, num_threads=1)
    for number, words in enumerate(collection.documents):
        writer.add_document(tantivy.Document(id=f"{number:06d}", body=collection.text(words)))
    writer.commit()
    writer.wait_merging_threads()
    engine.reload()
    searcher = engine.searcher()

    def best(terms: list[str]) -> list[str]:
        parts = [(tantivy.Occur.Should, tantivy.Query.term_query(schema, "body", term)) for term in terms]
        hits = searcher.search(tantivy.Query.boolean_query(parts), DEPTH).hits
        return [searcher.doc(address)["id"][0] for _, address in hits]

    return best
