"""Contract tests of first stages and re-rankers, for the built-in ones and for plug-ins.

from rprs.testing.rankers import check_ranker, check_reranker

def test_my_ranker() -> None:
    check_ranker(MyRanker())

def test_my_reranker() -> None:
    check_reranker(MyReranker())
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rprs.document import Candidates, Document, Ranking, Sentences
from rprs.errors import EmptyQuery
from rprs.index import Index, Writer
from rprs.rank import Ranker, Reranker
from rprs.scoring.vectors import VECTOR_TYPES, VectorType, to_grid

__all__ = ["SAMPLE", "check_ranker", "check_reranker", "make_candidates"]

_LAMP = "The keeper lights the lamp at dusk. Ships beyond the reef steer by its beam. Fog hides the beam."
SAMPLE: tuple[Document, ...] = (
    Document("lamp", _LAMP, "The lamp"),
    Document("copy", _LAMP, "The same text under another id"),
    Document("Zulu", "Ships anchor beyond the reef.\n\nThe reef is charted; the anchor holds in sand."),
    Document("lease", "The tenant pays rent each month. The landlord repairs the roof. Rent is due in advance."),
    Document(
        "sublet", "The tenant may sublet the rooms if the landlord agrees in writing. Rent passes to the landlord."
    ),
    Document("valve", "A valve closes the pipe. The spring presses the valve against its seat until steam lifts it."),
    Document("one", "Rent"),
    Document("dots", "* * *"),
    Document("phare", "Le gardien allume la lampe au crépuscule. Les navires passent au large du récif."),
    Document("灯台", "灯台守は夕暮れに灯をともす。船は岩礁の沖を進む。"),
    Document("long", " ".join(f"Clause {number} binds the tenant and the landlord." for number in range(1, 200))),
)
"""Invented documents: equal texts with two ids, other scripts, a single word, no words, many sentences."""


# ---------------------------------------------------------------------------- first stages


def check_ranker(
    ranker: Ranker,
    documents: Sequence[Document] = SAMPLE,
    *,
    analyzer: str = "words",
    encoder: str = "hashed",
    ties_by_id: bool = True,
) -> None:
    """Check a first stage with every document as the query in turn, at several depths and with several filters.

    A ranking contains only allowed documents of the index, each once, and at most `depth` of them; its scores are
    finite and never increase, and among equal scores the smaller id comes first (`ties_by_id=False` for a ranker that
    keeps the order of another system). It is the same each time, whether the index has one segment or several with
    removed documents. An empty index, or one without allowed documents, gives an empty ranking and not an error.
    """
    third = -(-len(documents) // 3)
    several = [list(documents[at : at + third])[::-1] for at in range(0, len(documents), third)][::-1]
    removed = Document("gone", " ".join(document.text for document in documents))
    several[0].insert(0, removed)
    with (
        _index([list(documents)], analyzer, encoder) as one,
        _index(several, analyzer, encoder, removed=[removed.id]) as many,
        _index([], analyzer, encoder) as empty,
    ):
        for query in documents:
            for allowed in _masks(len(one)):
                for depth in (1, 3, len(one) + 10):
                    ranking = _checked(ranker, query, one, depth, allowed, ties_by_id)
                    again = _checked(ranker, query, many, depth, allowed, ties_by_id)
                    _require(_same(ranking, again), f"{query.id}: the segments of the index change the ranking")
            ranking = ranker.rank(query, empty, 10, np.zeros(0, dtype=bool))
            _require(len(ranking) == 0, f"{query.id}: the ranking of an empty index has the documents {ranking.ids}")


def _checked(
    ranker: Ranker, query: Document, index: Index, depth: int, allowed: NDArray[np.bool_], ties_by_id: bool
) -> Ranking:
    mask = allowed.copy()
    ranking = ranker.rank(query, index, depth, mask)
    _require(bool((mask == allowed).all()), f"{query.id}: the ranker changed the mask of allowed documents")
    _check_scores(ranking)
    _require(len(ranking) <= depth, f"{query.id}: {len(ranking)} documents at depth {depth}")
    for id in ranking.ids:
        number = index.number(id)
        _require(number is not None and bool(allowed[number]), f"{query.id}: {id} is not among the allowed documents")
    if ties_by_id:
        for (left, high), (right, low) in pairwise(zip(ranking.ids, ranking.scores.tolist(), strict=True)):
            _require(high != low or left < right, f"{query.id}: {left} is before {right}, but both score {low}")
    _require(_same(ranking, ranker.rank(query, index, depth, allowed.copy())), f"{query.id}: two calls differ")
    return ranking


def _masks(size: int) -> Iterator[NDArray[np.bool_]]:
    numbers = np.arange(size)
    yield from (numbers >= 0, numbers % 2 == 0, numbers == size - 1, numbers < 0)


@contextmanager
def _index(
    segments: Sequence[Sequence[Document]], analyzer: str, encoder: str, removed: Sequence[str] = ()
) -> Iterator[Index]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sample.rprs"
        with Writer(path, create=True, analyzer=analyzer, encoder=encoder) as writer:
            for documents in segments or ((),):
                writer.add(documents)
            writer.remove(removed)
        with Index(path) as index:
            yield index


# ---------------------------------------------------------------------------- re-rankers


def check_reranker(reranker: Reranker, *, dimension: int = 16, rounds: int = 20) -> None:
    """Check a re-ranker with random candidates: long, short and equal ones, a single one, none, some without sentences.

    Their vectors are float16 in one half of the rounds and float32 in the other. A ranking contains every candidate
    once, with finite scores that never increase; equal scores and equal documents keep their first-stage order;
    documents without sentences come last. It is the same each time, its parts have one value per document, and the
    inputs remain unchanged. Without candidates the ranking is empty; a query without sentences raises `EmptyQuery`.
    """
    for seed in range(rounds):
        query, candidates = make_candidates(seed, dimension, VECTOR_TYPES[seed % 2])
        _check_reranking(reranker, query, candidates)
    query, candidates = make_candidates(0, dimension)
    for size in (0, 1):
        few = Ranking(candidates.ranking.ids[:size], candidates.ranking.scores[:size])
        _check_reranking(reranker, query, Candidates(few, candidates.sentences[:size], candidates.mean_sentences))
    no_sentences = [_sentences(np.zeros((0, dimension)))] * len(candidates.ranking)
    _check_reranking(reranker, query, Candidates(candidates.ranking, no_sentences, 0.0))
    try:
        reranker.rerank(_sentences(np.zeros((0, dimension))), candidates)
    except EmptyQuery:
        return
    raise AssertionError("a query without sentences does not raise EmptyQuery")


def make_candidates(seed: int, dimension: int = 16, vectors: VectorType = "float16") -> tuple[Sentences, Candidates]:
    """A random query and its candidates, determined by the seed, with repeated sentences and equal documents."""
    random = np.random.default_rng(seed)
    stock = random.standard_normal((12, dimension))  # few distinct sentences, so that there are ties
    sizes = random.choice([0, 1, 2, 5, 40], size=8)
    pool = [_sentences(stock[random.integers(0, len(stock), size)], vectors) for size in sizes]
    pool += [pool[1], pool[0], _sentences(np.zeros((0, dimension)), vectors), pool[1]]
    ids = tuple(f"d{number:02d}" for number in random.permutation(len(pool)))
    scores = np.sort(np.round(random.uniform(0, 3, len(pool)), 1))[::-1]  # rounded: ties in the first stage
    mean = float(np.mean([len(sentences) for sentences in pool]))
    query = _sentences(np.vstack([stock[:5], random.standard_normal((random.integers(0, 6), dimension))]), vectors)
    return query, Candidates(Ranking(ids, scores.astype(np.float64)), pool, mean)


def _sentences(vectors: NDArray[np.float64], vector_type: VectorType = "float16") -> Sentences:
    starts = np.arange(len(vectors), dtype=np.int64) * 10
    spans = np.stack([starts, starts + 9], axis=1)
    return Sentences(spans, np.zeros(len(vectors), dtype=np.int32), to_grid(vectors, vector_type))


def _check_reranking(reranker: Reranker, query: Sentences, candidates: Candidates) -> None:
    before = [each.vectors.copy() for each in (query, *candidates.sentences)]
    ranking = reranker.rerank(query, candidates)
    first = candidates.ranking.ids
    _check_scores(ranking)
    _require(sorted(ranking.ids) == sorted(first), f"{ranking.ids} are not the candidates {first}")
    places = [first.index(id) for id in ranking.ids]
    empty = [len(candidates.sentences[place]) == 0 for place in places]
    _require(empty == sorted(empty), f"a document without sentences is not at the end: {ranking.ids}")
    keys = list(zip((-ranking.scores).tolist(), empty, places, strict=True))
    _require(keys == sorted(keys), f"equal scores are not in first-stage order: {ranking.ids}, {ranking.scores}")
    for better, worse in combinations(range(len(first)), 2):
        if candidates.sentences[better] is candidates.sentences[worse]:
            _require(
                places.index(better) < places.index(worse), f"{first[better]} is equal to {first[worse]} but below"
            )
    again = reranker.rerank(query, candidates)
    _require(_same(ranking, again), "two calls differ")
    after = [each.vectors for each in (query, *candidates.sentences)]
    _require(all(map(np.array_equal, before, after)), "the vectors were changed")
    if ranking.neighbours is not None:
        sizes = [len(sentences) for sentences in candidates.sentences]
        _require(np.diff(ranking.neighbours.offsets).tolist() == sizes, "the evidence is not over the candidates")


# ---------------------------------------------------------------------------- shared checks


def _check_scores(ranking: Ranking) -> None:
    size = len(ranking.ids)
    _require(len(set(ranking.ids)) == size, f"the ranking contains a document twice: {ranking.ids}")
    for name, values in {"scores": ranking.scores, **ranking.parts}.items():
        _require(values.shape == (size,), f"{name} has the shape {values.shape} for {size} documents")
    _require(bool(np.isfinite(ranking.scores).all()), f"a score is not finite: {ranking.scores}")
    _require(bool((np.diff(ranking.scores) <= 0).all()), f"the scores increase: {ranking.scores}")


def _same(left: Ranking, right: Ranking) -> bool:
    return left.ids == right.ids and np.array_equal(left.scores, right.scores)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)
