"""Search with a whole document, and see why: a first stage, a re-ranker, and the sentences that prove it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, overload

import numpy as np

from rprs import spec
from rprs.document import Document, Metadata, Ranking, Sentences, together
from rprs.errors import EmptyQuery, UsageError
from rprs.index import Index
from rprs.progress import Progress, silent
from rprs.rank import Mask, Ranker
from rprs.rerank import Reranker, gather
from rprs.scoring.neighbours import neighbours

__all__ = ["Explanation", "Hit", "Pair", "Query", "Results", "Searcher", "at_least"]

TELLING = 30  # characters: shorter sentences (headings, citations) make poor evidence and are shown last
NEAREST = 5  # neighbours of a sentence that are evidence, where the re-ranker does not look at any

Span = tuple[int, int]
Query = Document | Sequence[Document]  # several are asked together, as the one document that they make


@dataclass(frozen=True, slots=True)
class Pair:
    """A query sentence and one of its n nearest sentences: a line of evidence."""

    query: str
    document: str
    similarity: float  # the cosine; rounding of vectors may take it above 1, which is then 1
    query_span: Span  # of characters in the query's text
    document_span: Span  # of characters in the document's text
    place: int  # from 1: how near among the neighbours of the query sentence


@dataclass(frozen=True, slots=True)
class Hit:
    """A document found, with where it came from and why."""

    rank: int
    id: str
    score: float
    title: str
    metadata: Metadata
    first_rank: int
    first_score: float
    parts: Mapping[str, float] = field(default_factory=dict)
    pairs: tuple[Pair, ...] = ()

    @property
    def qp(self) -> float:
        """How much of the query this document answers."""
        return self.parts.get("qp", float("nan"))

    @property
    def dp(self) -> float:
        """How much of this document is about the query."""
        return self.parts.get("dp", float("nan"))


@dataclass(frozen=True, slots=True)
class Results(Sequence[Hit]):
    """The hits of one search, best first, with remarks and the seconds each stage took."""

    hits: tuple[Hit, ...]
    candidates: int
    query_sentences: int
    notes: tuple[str, ...]
    seconds: Mapping[str, float]

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Hit]: ...
    def __getitem__(self, place: int | slice) -> Hit | Sequence[Hit]:
        return self.hits[place]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that speaks for one document: each aligned pair, and what of the query it leaves uncovered."""

    hit: Hit  # its pairs are all there are, in the order of the query
    in_pool: bool  # whether the first stage had found it; if not it was put at the end of the candidates
    query: Document
    document: Document
    sentences: int  # of the query
    uncovered: tuple[Span, ...]  # the query's sentences that nothing in the document matched
    notes: tuple[str, ...] = ()


def at_least(found: Explanation, similarity: float) -> Explanation:
    """The explanation without weaker pairs; a query sentence that has no other then counts as uncovered."""
    kept = tuple(pair for pair in found.hit.pairs if pair.similarity >= similarity)
    lost = {pair.query_span for pair in found.hit.pairs} - {pair.query_span for pair in kept}
    return replace(found, hit=replace(found.hit, pairs=kept), uncovered=tuple(sorted({*found.uncovered, *lost})))


@dataclass(frozen=True, slots=True)
class _Outcome:
    first: Ranking
    final: Ranking
    query: Sentences
    pool: Sequence[Sentences]
    seconds: dict[str, float]

    @property
    def notes(self) -> tuple[str, ...]:
        """What both stages have to say, each line once: without a re-ranker they are the same."""
        return tuple(dict.fromkeys((*self.first.notes, *self.final.notes)))

    @property
    def remarks(self) -> tuple[str, ...]:
        """The same, and what a model did not see."""
        return (*self.notes, *self.final.truncation.notes)


class Searcher:
    """Ranks the documents of an index by their likeness to a whole document.

    `first` and `rerank` are components or their texts; `rerank=None` leaves the first stage's order. `depth` is how
    many candidates the first stage hands on.
    """

    def __init__(
        self,
        index: Index,
        first: Ranker | str = spec.DEFAULT["ranker"],
        rerank: Reranker | str | None = spec.DEFAULT["reranker"],
        depth: int = spec.DEPTH,
        progress: Progress = silent,
    ) -> None:
        if depth < 1:
            raise UsageError(f"The depth of re-ranking must be an integer in [1, inf). Got {depth} instead.")
        self.index = index
        self.first: Ranker = spec.parse("ranker", first) if isinstance(first, str) else first
        self.reranker: Reranker | None = spec.parse("reranker", rerank) if isinstance(rerank, str) else rerank
        self.depth = depth
        self.progress = progress

    @property
    def tag(self) -> str:
        """What a run of this searcher is called, in one word."""
        return "_".join(str(self.reranker or self.first).split())

    def search(
        self, query: Query, k: int = 10, *, where: str | None = None, keep_self: bool = False, pairs: int = 3
    ) -> Results:
        """The k documents most like this one, or like several together, each with its best aligned pairs of sentences.

        The query itself, by its id or its text, is left out unless `keep_self`; `where` is a metadata filter. Where a
        re-ranker does not align sentences, the pairs are those of the 5 nearest of each query sentence among the
        candidates', as RPRS would have them; ranks and scores are the re-ranker's all the same.
        """
        document = together(query)
        outcome = self._run(document, self._allowed(query, where, keep_self))
        with _timed(outcome.seconds, "evidence"):
            outcome = _aligned(outcome) if pairs and k else outcome
            hits = tuple(self._hit(document, outcome, place, pairs) for place in range(min(k, len(outcome.final))))
        notes = (*outcome.remarks, *self._pending())
        return Results(hits, len(outcome.first), len(outcome.query), notes, outcome.seconds)

    def rank(self, query: Query, *, where: str | None = None, keep_self: bool = False) -> Ranking:
        """The whole re-ranked list without evidence, as a run file has it."""
        outcome = self._run(together(query), self._allowed(query, where, keep_self))
        return replace(outcome.final, notes=outcome.notes)

    def explain(self, query: Query, id: str, *, where: str | None = None, keep_self: bool = False) -> Explanation:
        """Every aligned pair between a document and one of the index, in the pool that the same search would have.

        A document that the search leaves out, such as the query itself, joins that pool at its end. The pairs are the
        re-ranker's own, or as `search` has them.
        """
        if self.reranker is None:
            raise UsageError("There is nothing to explain without a re-ranker: choose one, for example rprs")
        document, found = together(query), self.index.document(id)
        outcome = _aligned(self._run(document, self._allowed(query, where, keep_self), also=id))
        hit = self._hit(document, outcome, outcome.final.ids.index(id), None)
        covered = {pair.query_span for pair in hit.pairs}
        spans = [(start, end) for start, end in outcome.query.spans.tolist()]
        return Explanation(
            hit=hit,
            in_pool=not np.isnan(hit.first_score),
            query=document,
            document=found,
            sentences=len(outcome.query),
            uncovered=tuple(span for span in spans if span not in covered),
            notes=(*outcome.remarks, *self._pending()),
        )

    # ------------------------------------------------------------------------ stages

    def _allowed(self, query: Query, where: str | None, keep_self: bool) -> Mask:
        allowed = self.index.select(where)
        for document in () if keep_self else [query] if isinstance(query, Document) else query:
            own = self.index.number(document.id)
            allowed[[*self.index.same_content(document), *([] if own is None else [own])]] = False
        return allowed

    def _run(self, document: Document, allowed: Mask, also: str | None = None) -> _Outcome:
        """Both stages; `also` joins the candidates at their end if the first stage did not find it."""
        seconds: dict[str, float] = {}
        with _timed(seconds, "sentences"):
            query = (
                self.index.query_sentences(document, self.progress)
                if self.reranker
                else self.index.splitter.split(document.text)
            )
        if not len(query):
            raise EmptyQuery(f"The query {document.id!r} has no sentences: there is nothing to compare")
        with _timed(seconds, "first stage"), self.progress("first stage", unit="documents") as advance:
            first = self.first.rank(document, self.index, self.depth, allowed)
            advance(len(first))
        if also is not None and also not in first.ids:
            first = Ranking((*first.ids, also), np.append(first.scores, np.nan), notes=first.notes)
        if self.reranker is None:
            return _Outcome(first, first, query, [], seconds)
        with _timed(seconds, "candidates"):
            candidates = gather(self.index, document, first)
            pool = candidates.sentences
        with (
            _timed(seconds, "re-ranking"),
            self.progress("re-ranking", sum(len(sentences) for sentences in pool), "sentences") as advance,
        ):
            final = self.reranker.rerank(query, candidates, advance)
        return _Outcome(first, final, query, pool, seconds)

    def _pending(self) -> tuple[str, ...]:
        waiting = self.index.pending
        return (f"{waiting} documents are not encoded yet: run `rprs index` again to finish",) if waiting else ()

    # ------------------------------------------------------------------------ evidence

    def _hit(self, query: Document, outcome: _Outcome, place: int, pairs: int | None) -> Hit:
        id = outcome.final.ids[place]
        document = self.index.document(id)
        candidate = outcome.first.ids.index(id)
        return Hit(
            rank=place + 1,
            id=id,
            score=float(outcome.final.scores[place]),
            title=document.title,
            metadata=document.metadata,
            first_rank=candidate + 1,
            first_score=float(outcome.first.scores[candidate]),
            parts={name: float(values[place]) for name, values in outcome.final.parts.items()},
            pairs=_pairs(query, document, outcome, candidate, pairs),
        )


def _aligned(outcome: _Outcome) -> _Outcome:
    """With neighbours as evidence, also where the re-ranker gave none; without one there are no vectors."""
    if outcome.final.neighbours is not None or not outcome.pool:
        return outcome
    found = neighbours(outcome.query.vectors, [sentences.vectors for sentences in outcome.pool], NEAREST)
    return replace(outcome, final=replace(outcome.final, neighbours=found))


def _pairs(
    query: Document, document: Document, outcome: _Outcome, candidate: int, limit: int | None
) -> tuple[Pair, ...]:
    """The aligned pairs of one candidate: all in the query's order, or the best few."""
    found = outcome.final.neighbours
    if found is None:
        return ()
    rows, places = np.nonzero(found.document == candidate)
    similarity = found.similarity[rows, places]
    sentence = found.sentence[rows, places] - found.offsets[candidate]
    spans = outcome.pool[candidate].spans
    if limit is not None:
        rows, places, similarity, sentence = _best(
            limit, outcome.query.spans, spans, (rows, places, similarity, sentence)
        )
    return tuple(
        _pair(
            query.text, document.text, outcome.query.spans[row], spans[number], min(float(value), 1.0), int(place) + 1
        )
        for row, number, value, place in zip(rows, sentence, similarity, places, strict=True)
    )


def _pair(query: str, document: str, left: Any, right: Any, similarity: float, place: int) -> Pair:
    here, there = (int(left[0]), int(left[1])), (int(right[0]), int(right[1]))
    return Pair(query[slice(*here)], document[slice(*there)], similarity, here, there, place)


def _best(limit: int, query_spans: Any, spans: Any, columns: tuple[Any, ...]) -> tuple[Any, ...]:
    """The most similar pairs, telling sentences first, no sentence twice; of pairs equal to two digits the longer."""
    rows, _, similarity, sentence = columns
    shortest = np.minimum(np.diff(query_spans[rows])[:, 0], np.diff(spans[sentence])[:, 0])
    chosen: list[int] = []
    seen: set[tuple[str, int]] = set()
    for pair in np.lexsort((sentence, rows, -shortest, -np.round(similarity, 2), shortest < TELLING)):
        if len(chosen) >= limit:
            break
        ends = {("query", int(rows[pair])), ("document", int(sentence[pair]))}
        if not ends & seen:
            chosen.append(int(pair))
            seen |= ends
    return tuple(column[chosen] for column in columns)


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    started = perf_counter()
    yield
    seconds[stage] = perf_counter() - started
