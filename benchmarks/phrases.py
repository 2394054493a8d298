"""What phrases cost: bytes, indexing time, memory and query time, with and without them and beside other libraries.

All libraries receive the terms of our analyzer (words in English: case-folded, stemmed, without stop words), joined by
spaces, so that all index the same words. scikit-learn weights sequences of one to three words as our cosine does;
bm25s and tantivy rank by single words, and tantivy also stores the positions of words, from which a search engine finds
phrases. All use one thread, so processor times are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.build import peak_memory
from benchmarks.collection import collection, name_of, work_folder
from benchmarks.indexing import MEMORY, built, bytes_by_kind
from benchmarks.table import Goal, Row, seconds, size
from benchmarks.timing import Options, compared, interleaved, peer_module
from rprs.document import Document
from rprs.index import Index
from rprs.rank import BM25
from rprs.rank.blend import Blend
from rprs.rank.cosine import Cosine

__all__ = ["run"]

WORDS = 3_000  # per query
QUERIES = 8
DEPTH = 100
ROUNDS = 24
BYTES_GOAL = Goal(1.2)
INDEXING_GOAL = Goal(1.2)
QUERY_GOAL = Goal(2.5)
WITHOUT = "the same without phrases"
TFIDF = "scikit-learn TfidfVectorizer(1–3)"
COMMANDS = {TFIDF: "scikit-learn", "bm25s": "bm25s", "tantivy": "tantivy"}

Best = Callable[[str], Sequence[int]]


def run(options: Options) -> Iterator[Row]:
    """Two complete indexes of the collection, then queries of 3,000 words from its texts."""
    source = collection(options)
    path, cost = built(source, options.encoder)
    plain, cost_plain = built(source, options.encoder, phrases=False)
    with Index(path) as index, Index(plain) as without:
        yield from _indexing(f"{name_of(source)}: {len(index):,} documents", index, without, cost, cost_plain)
        peers = _peers(index)
        yield from _sizes(index, cost["processor"] - cost["fitting"], peers)
        yield from _queries(index, peers, options.rounds(ROUNDS))


def _indexing(
    what: str, index: Index, without: Index, cost: Mapping[str, float], plain: Mapping[str, float]
) -> Iterator[Row]:
    mine, theirs = sum(bytes_by_kind(index).values()), sum(bytes_by_kind(without).values())
    yield Row("phrases", f"{what}; bytes", size(mine), WITHOUT, size(theirs), mine / theirs, goal=BYTES_GOAL)
    for stage, skipped in (("indexing", 0), ("indexing without fitting the encoder", 1)):
        ours, other = (each["processor"] - skipped * each["fitting"] for each in (cost, plain))
        title = f"{what}; {stage}, processor time"
        yield Row("phrases", title, seconds(ours), WITHOUT, seconds(other), ours / other, goal=INDEXING_GOAL)
    peak = cost["peak"]
    yield Row("phrases", f"{what}; peak memory", size(peak), WITHOUT, size(plain["peak"]), peak / plain["peak"])
    yield Row(
        "phrases", f"{what}; peak memory", size(peak), "the limit set", size(MEMORY), peak / MEMORY, goal=Goal(1.0)
    )


# ---------------------------------------------------------------------------- queries


def _queries(index: Index, peers: Mapping[str, Peer | None], rounds: int) -> Iterator[Row]:
    queries = _texts_of(index)
    allowed = np.ones(len(index), dtype=bool)
    rankers = {"bm25": BM25(), "cosine": Cosine(), "blend": Blend(), "bm25(phrases=3)": BM25(phrases=3)}

    def best(ranker: Any, text: str) -> object:
        return ranker.rank(Document("query", text), index, DEPTH, allowed)

    tasks = {name: _all(partial(best, ranker), queries) for name, ranker in rankers.items()}
    _check(index, peers, queries[0])
    tasks |= {name: _all(peer.best, queries) for name, peer in peers.items() if peer is not None}
    times = interleaved(tasks, rounds, process_time)
    for name in list(rankers)[1:]:
        what = f"the best {DEPTH} by {name}: {QUERIES} queries of {WORDS:,} words, processor time"
        yield compared("phrases", what, times, "bm25", ours=name, goal=QUERY_GOAL if name == "cosine" else None)
    what = f"the best {DEPTH} by cosine: {QUERIES} queries of {WORDS:,} words, processor time"
    for name, peer in peers.items():
        if peer is None:
            command = f"pip install {COMMANDS[name]}"
            yield Row("phrases", what, seconds(float(times["cosine"].min())), name, missing=command)
        else:
            yield compared("phrases", what, times, name, ours="cosine")


def _texts_of(index: Index) -> list[str]:
    """Texts of 3,000 words from the index: each from one document, or from several if the documents are short."""
    order = np.random.default_rng(0).permutation(len(index)).tolist()
    long = [number for number in order if index.lengths[number] >= WORDS]
    numbers = iter(long if len(long) >= QUERIES else cycle(order))
    queries = []
    for _ in range(QUERIES):
        words: list[str] = []
        while len(words) < WORDS:
            words += index.document(index.ids[next(numbers)]).text.split()
        queries.append(" ".join(words[:WORDS]))
    return queries


def _check(index: Index, peers: Mapping[str, Peer | None], query: str) -> None:
    """Compare rankings with a peer's that uses the same formula."""
    peer = peers[TFIDF]
    if peer is not None:
        ours = Cosine().rank(Document("query", query), index, DEPTH, np.ones(len(index), dtype=bool))
        shared = len({index.ids[number] for number in peer.best(query)} & set(ours.ids))
        if shared < 0.95 * len(ours.ids):
            raise RuntimeError(f"{TFIDF} shares {shared} of the best {DEPTH}: the comparison is meaningless")


def _all(task: Callable[[str], object], queries: Sequence[str]) -> Callable[[], object]:
    """A task that runs all queries."""
    return lambda: [task(query) for query in queries]


# ---------------------------------------------------------------------------- other libraries


@dataclass(frozen=True, slots=True)
class Peer:
    """The index of another library, built from the same terms."""

    best: Best  # the numbers of the best documents for a text
    seconds: float  # processor time of building it, without the analysis of the texts
    bytes: float
    what: str  # which bytes these are


def _sizes(index: Index, ours: float, peers: Mapping[str, Peer | None]) -> Iterator[Row]:
    kinds = bytes_by_kind(index)
    held = kinds["phrases"] + kinds["postings"]
    for name, peer in peers.items():
        if peer is not None:
            title = "building the index, processor time; ours also splits and encodes sentences"
            yield Row("phrases", title, seconds(ours), name, seconds(peer.seconds), ours / peer.seconds)
            what = f"bytes of postings and phrases; theirs: {peer.what}"
            yield Row("phrases", what, size(held), name, size(peer.bytes), held / peer.bytes)


def _peers(index: Index) -> dict[str, Peer | None]:
    """The indexes of all other libraries; None for one that is not installed."""
    terms = [index.analyzer.terms(index.document(id).text) for id in index.ids]
    makers = {TFIDF: ("sklearn", _tfidf), "bm25s": ("bm25s", _bm25s), "tantivy": ("tantivy", _tantivy)}
    modules = {name: peer_module(module) for name, (module, _) in makers.items()}
    return {
        name: None if modules[name] is None else make(modules[name], index, terms) for name, (_, make) in makers.items()
    }


def _top(scores: NDArray[Any]) -> list[int]:
    """The best documents of a vector of scores, as the users of these libraries find them."""
    best = np.argpartition(-scores, min(DEPTH, len(scores) - 1))[:DEPTH]
    return [int(number) for number in best[np.argsort(-scores[best])]]


def _tfidf(_: Any, index: Index, terms: Sequence[Sequence[str]]) -> Peer:
    """Our cosine by scikit-learn: its idf is larger by 1, which is corrected after the measurement."""
    from scipy.sparse import diags_array
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    texts = [" ".join(each) for each in terms]
    vectorizer = TfidfVectorizer(
        ngram_range=(1, 3), sublinear_tf=True, tokenizer=str.split, token_pattern=None, lowercase=False
    )
    started = process_time()
    matrix = vectorizer.fit_transform(texts)
    cost = process_time() - started
    correction = diags_array((vectorizer.idf_ - 1) / vectorizer.idf_)
    documents = normalize(matrix @ correction).tocsc().T.tocsr()  # (sequences, documents)

    def best(text: str) -> list[int]:
        query = normalize(vectorizer.transform([" ".join(index.analyzer.terms(text))]) @ correction)
        return _top((query @ documents).toarray()[0])

    held = sum(array.nbytes for array in (documents.data, documents.indices, documents.indptr))
    return Peer(best, cost, held, f"the matrix without its vocabulary (peak memory {size(peak_memory())})")


def _bm25s(bm25s: Any, index: Index, terms: Sequence[Sequence[str]]) -> Peer:
    started = process_time()
    ranker = bm25s.BM25(method="lucene", backend="numpy")
    ranker.index([list(each) for each in terms], show_progress=False)
    cost = process_time() - started
    held = sum(ranker.scores[name].nbytes for name in ("data", "indices", "indptr"))

    def best(text: str) -> list[int]:
        return _top(ranker.get_scores(index.analyzer.terms(text)))

    return Peer(best, cost, held, "scores of single words")


def _tantivy(tantivy: Any, index: Index, terms: Sequence[Sequence[str]]) -> Peer:
    """Tantivy on disk, with the positions of words; the query is an OR over its words."""
    folder = work_folder() / "tantivy"
    folder.mkdir()
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("number", stored=True, tokenizer_name="raw")
    builder.add_text_field("body", stored=False, tokenizer_name="whitespace", index_option="position")
    schema = builder.build()
    started = process_time()
    engine = tantivy.Index(schema, path=str(folder))
    writer = engine.writer(heap_size=500_000_000, num_threads=1)
    for number, each in enumerate(terms):
        writer.add_document(tantivy.Document(number=str(number), body=" ".join(each)))
    writer.commit()
    writer.wait_merging_threads()
    cost = process_time() - started
    engine.reload()
    searcher = engine.searcher()

    def best(text: str) -> list[int]:
        words = index.analyzer.terms(text)
        parts = [(tantivy.Occur.Should, tantivy.Query.term_query(schema, "body", word)) for word in words]
        hits = searcher.search(tantivy.Query.boolean_query(parts), DEPTH).hits
        return [int(searcher.doc(address)["number"][0]) for _, address in hits]

    return Peer(best, cost, _bytes_of(folder), "single words with their positions")


def _bytes_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
