"""BM25 with very long queries beside bm25s, whose index holds finished scores, and tantivy, a Lucene in Rust.

The collection is made on the spot: words drawn from a Zipf–Mandelbrot distribution, the same for all. All three work
in one thread, so what is compared is processor time.
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

from benchmarks.table import Goal, Row, seconds
from benchmarks.timing import Options, compared, interleaved, peer_module
from rprs.document import Document, Sentences
from rprs.index import Index
from rprs.index.segment import Entry
from rprs.index.writer import Writer
from rprs.rank import BM25

__all__ = ["run"]

VOCABULARY = 200_000
WORDS = 2_000  # a document
TERMS = 3_000  # a query
QUERIES = 8
DEPTH = 100
ROUNDS = 24
BM25S = ("bm25s", "bm25s, Numba backend")
BM25S_GOAL = Goal(2.0)
TANTIVY = "tantivy"
TANTIVY_GOAL = Goal(1.0)

Ints = NDArray[np.int64]
Query = TypeVar("Query")


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents as numbers of words; the word w is written as its number after a letter."""

    documents: Ints  # (documents, WORDS)
    words: list[str]

    def text(self, numbers: Ints) -> str:
        """Some words as a text."""
        return " ".join(self.words[number] for number in numbers.tolist())


def run(options: Options) -> Iterator[Row]:
    """Ours includes the analysis of the query, the look-up of its terms, and k1 and b, which no peer leaves open."""
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
    """The distinct words in the order in which a text brings them up, until there are enough."""
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
    for name, peer in peers.items():
        if peer is not None:
            tasks[name] = _each(peer.get_scores, tokens)
            if not np.allclose(ranker.scores(documents[0], index), peer.get_scores(tokens[0]), rtol=1e-4):
                raise RuntimeError(f"{name} gives other scores than ours: the comparison would mean nothing")
    times = interleaved(tasks, rounds, process_time)
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
    ranker = BM25(lengths="lucene")  # tantivy's k1, b and rounded lengths
    tasks = {"ours": _each(lambda query: ranker.rank(query, index, DEPTH, allowed), documents)}
    if engine is not None:
        tokens = [[collection.words[number] for number in query.tolist()] for query in queries]
        tasks[TANTIVY] = _each(engine, tokens)
        shared = set(engine(tokens[0])) & set(ranker.rank(documents[0], index, DEPTH, allowed).ids)
        if len(shared) < 0.9 * DEPTH:
            raise RuntimeError(f"{TANTIVY} shares {len(shared)} of the best {DEPTH}: the comparison would mean nothing")
    times = interleaved(tasks, rounds, process_time)
    if engine is None:
        return Row(
            "bm25", what, seconds(float(times["ours"].min())), TANTIVY, goal=TANTIVY_GOAL, missing="pip install tantivy"
        )
    return compared("bm25", what, times, TANTIVY, goal=TANTIVY_GOAL)


def _each(task: Callable[[Query], object], queries: list[Query]) -> Callable[[], object]:
    """The next query at every call."""
    turn = cycle(queries)
    return lambda: task(next(turn))


# ---------------------------------------------------------------------------- the three indexes


class _Counted(Writer):
    """A writer that is handed the counts of words instead of texts, which saves minutes."""

    collection: Collection

    def _prepare(self, document: Document) -> Entry:
        numbers, counts = np.unique(self.collection.documents[int(document.id)], return_counts=True)
        terms = tuple(self.collection.words[number] for number in numbers.tolist())
        none = Sentences(np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=np.int32))
        return Entry(none, terms, tuple(counts.tolist()), int(counts.sum()))


def _index(folder: Path, collection: Collection) -> Index:
    """A real index of one segment."""
    path = folder / "bench.rprs"
    counted = _Counted(path, create=True, analyzer="words(language=none)", encoder="hashed(dimension=8)")
    counted.collection = collection
    with counted as writer:
        writer.add(Document(f"{number:06d}", f"document {number}") for number in range(len(collection.documents)))
    return Index(path)


def _bm25s(collection: Collection) -> dict[str, Any]:
    """bm25s in Lucene's form, as it is and with its scorer compiled; None where it is not installed."""
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
    """A function from terms to the ids of the best documents by an OR over all of them; None if not installed."""
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
