"""BM25 with very long queries, compared with bm25s, scipy.sparse and tantivy.

The index of bm25s holds precomputed scores; tantivy is a search engine like Lucene, written in Rust; scipy.sparse
multiplies a matrix of the same postings, with k1 and b chosen at query time as in rprs. The collection is generated:
words drawn from a Zipf–Mandelbrot distribution, the same for all. All use one thread, so processor times are compared.
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

from benchmarks.table import Goal, Row, seconds
from benchmarks.timing import Options, compared, interleaved, peer_module
from rprs.document import Document, Sentences
from rprs.index import Index
from rprs.index.segment import Entry
from rprs.index.writer import Writer
from rprs.rank import BM25
from rprs.scoring.bm25 import saturation

__all__ = ["run"]

VOCABULARY = 200_000
WORDS = 2_000  # per document
TERMS = 3_000  # per query
QUERIES = 8
DEPTH = 100
ROUNDS = 24
BM25S = ("bm25s", "bm25s, Numba backend")
BM25S_GOAL = Goal(2.0)
SCIPY = "scipy.sparse, same postings"
TANTIVY = "tantivy"
TANTIVY_GOAL = Goal(1.0)

Ints = NDArray[np.int64]
Query = TypeVar("Query")


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents as arrays of word numbers; the text form of word 7 is "w7"."""

    documents: Ints  # (documents, WORDS)
    words: list[str]

    def text(self, numbers: Ints) -> str:
        """A text of these words."""
        return " ".join(self.words[number] for number in numbers.tolist())


def run(options: Options) -> Iterator[Row]:
    """Our times include analysing the query and looking up its terms; k1 and b are chosen at query time."""
    rng = np.random.default_rng(0)
    share = 1 / (np.arange(VOCABULARY) + 2.7)
    cumulated = np.cumsum(share / share.sum())

    def draw(*shape: int) -> Ints:
        return np.minimum(np.searchsorted(cumulated, rng.random(shape)), VOCABULARY - 1).astype(np.int64)

    collection = Collection(draw(2_000 if options.quick else 20_000, WORDS), [f"w{n}" for n in range(VOCABULARY)])
    running = [draw(TERMS) for _ in range(QUERIES)]
    distinct = [_first_distinct(draw(20 * TERMS)) for _ in range(QUERIES)]
    with TemporaryDirectory() as folder:
        index = _index(Path(folder), collection)
        tantivy = _tantivy(collection)
        peers = _bm25s(collection)
        for what, queries in ((f"{TERMS:,} distinct terms", distinct), (f"{TERMS:,} running words", running)):
            title = f"{what}, {len(collection.documents):,} × {WORDS:,} words"
            yield from _scores(title, collection, queries, index, peers, options.rounds(ROUNDS))
            yield _ranking(title, collection, queries, index, tantivy, options.rounds(ROUNDS))
        index.close()


def _first_distinct(numbers: Ints) -> Ints:
    """The first `TERMS` distinct words, in the order of their first occurrence."""
    _, first = np.unique(numbers, return_index=True)
    return numbers[np.sort(first)[:TERMS]]


def _scores(
    title: str, collection: Collection, queries: list[Ints], index: Index, peers: dict[str, Any], rounds: int
) -> Iterator[Row]:
    what = f"the score of every document: {title}, processor time"
    documents = [Document("query", collection.text(query)) for query in queries]
    tokens = [[collection.words[number] for number in query.tolist()] for query in queries]
    ranker = BM25(k1=1.5, b=0.75)
    tasks: dict[str, Callable[[], object]] = {"ours": _each(lambda query: ranker.scores(query, index), documents)}
    product = _scipy(index, ranker)
    if not np.allclose(ranker.scores(documents[0], index), product(documents[0])):
        raise RuntimeError(f"{SCIPY} gives different scores from ours: the comparison would be meaningless")
    tasks[SCIPY] = _each(product, documents)
    for name, peer in peers.items():
        if peer is not None:
            tasks[name] = _each(peer.get_scores, tokens)
            if not np.allclose(ranker.scores(documents[0], index), peer.get_scores(tokens[0]), rtol=1e-4):
                raise RuntimeError(f"{name} gives different scores from ours: the comparison would be meaningless")
    times = interleaved(tasks, rounds, process_time)
    yield compared("bm25", what, times, SCIPY)
    for name in peers:
        if name in tasks:
            yield compared("bm25", what, times, name, goal=BM25S_GOAL)
        else:
            yield Row(
                "bm25", what, seconds(float(times["ours"].min())), name, goal=BM25S_GOAL, missing="pip install bm25s"
            )


def _ranking(title: str, collection: Collection, queries: list[Ints], index: Index, engine: Any, rounds: int) -> Row:
    what = f"the best {DEPTH}: {title}, processor time"
    documents = [Document("query", collection.text(query)) for query in queries]
    allowed = np.ones(len(index), dtype=bool)
    ranker = BM25(k1=1.2, b=0.75, lengths="lucene")  # as in tantivy
    tasks = {"ours": _each(lambda query: ranker.rank(query, index, DEPTH, allowed), documents)}
    if engine is not None:
        tokens = [[collection.words[number] for number in query.tolist()] for query in queries]
        tasks[TANTIVY] = _each(engine, tokens)
        shared = set(engine(tokens[0])) & set(ranker.rank(documents[0], index, DEPTH, allowed).ids)
        if len(shared) < 0.9 * DEPTH:
            raise RuntimeError(f"{TANTIVY} shares {len(shared)} of the best {DEPTH}: the comparison is meaningless")
    times = interleaved(tasks, rounds, process_time)
    if engine is None:
        return Row(
            "bm25", what, seconds(float(times["ours"].min())), TANTIVY, goal=TANTIVY_GOAL, missing="pip install tantivy"
        )
    return compared("bm25", what, times, TANTIVY, goal=TANTIVY_GOAL)


def _each(task: Callable[[Query], object], queries: list[Query]) -> Callable[[], object]:
    """A task that takes the next query at every call."""
    endless = cycle(queries)
    return lambda: task(next(endless))


# ---------------------------------------------------------------------------- the indexes


class _Counted(Writer):
    """A writer that receives word counts instead of texts, which saves minutes."""

    collection: Collection

    def _prepare(self, document: Document) -> Entry:
        numbers, counts = np.unique(self.collection.documents[int(document.id)], return_counts=True)
        terms = tuple(self.collection.words[number] for number in numbers.tolist())
        no_sentences = Sentences(np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=np.int32))
        return Entry(no_sentences, terms, tuple(counts.tolist()), int(counts.sum()))


def _index(folder: Path, collection: Collection) -> Index:
    """A real index of one segment."""
    path = folder / "bench.rprs"
    counted = _Counted(path, create=True, analyzer="words(language=none)", encoder="hashed(dimension=8)")
    counted.collection = collection
    with counted as writer:
        writer.add(Document(f"{number:06d}", f"document {number}") for number in range(len(collection.documents)))
    return Index(path)


def _scipy(index: Index, ranker: BM25) -> Callable[[Document], NDArray[np.float64]]:
    """BM25 as a product of a sparse matrix (documents × terms) and the query's weights, from the index's postings."""
    (segment,) = index.segments
    shape = len(index), len(segment.posting_offsets) - 1
    columns = segment.posting_counts.astype(np.float64), segment.posting_documents, segment.posting_offsets
    counts = csc_array(columns, shape=shape)

    def scores(query: Document) -> NDArray[np.float64]:
        terms = ranker.terms(query, index)
        ((starts, _),) = terms.postings
        numbers = np.searchsorted(segment.posting_offsets, starts[terms.in_index], side="right") - 1
        matrix = counts[:, numbers]
        matrix.data /= matrix.data + saturation(terms.lengths, terms.mean_length, ranker.k1, ranker.b)[matrix.indices]
        return np.asarray(matrix @ terms.weights[terms.in_index])

    return scores


def _bm25s(collection: Collection) -> dict[str, Any]:
    """bm25s with Lucene's formula, with its NumPy and its Numba backend; None if it is not installed."""
    bm25s = peer_module("bm25s")
    if bm25s is None:
        return dict.fromkeys(BM25S)
    plain = bm25s.BM25(method="lucene", backend="numpy", k1=1.5, b=0.75)
    vocabulary = {word: number for number, word in enumerate(collection.words)}
    plain.index((collection.documents.tolist(), vocabulary), show_progress=False)
    compiled = copy(plain)
    compiled.activate_numba_scorer()
    return dict(zip(BM25S, (plain, compiled), strict=True))


def _tantivy(collection: Collection) -> Callable[[list[str]], list[str]] | None:
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
