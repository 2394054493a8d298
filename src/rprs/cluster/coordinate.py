"""What a coordinator makes of the answers of shards: rankings and neighbours as one index has them, bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from rprs.alignment.sides import Side
from rprs.cluster.index import ClusterIndex
from rprs.cluster.ranking import BY_TERMS, BY_VECTORS, Ranked, RankRequest
from rprs.cluster.scope import ClusterMask
from rprs.cluster.shard import SharedRequest
from rprs.document import Candidates, Document, Neighbours, Ranking, Sentences
from rprs.errors import UsageError
from rprs.index.segment import term_hashes
from rprs.passages.find import MOST_READ, SIMILAR
from rprs.passages.nearest import Neighbour, merge_neighbours
from rprs.passages.shared import Shared, merge_best, passage_phrases
from rprs.rank.blend import Blend
from rprs.rank.cosine import Cosine
from rprs.rank.fuse import Fuse
from rprs.rank.rprs import RPRS
from rprs.rank.runfile import RunFile
from rprs.rank.stages import Ranker
from rprs.rank.steps import Counts, Least, combine_figures, narrow_array
from rprs.scoring.neighbours import merge, sentences_of_keys, tie_keys, tie_priority
from rprs.scoring.phrases import phrase_hashes

__all__ = [
    "ClusterSources",
    "OverShards",
    "RemoteSentences",
    "RunOverShards",
    "distributed",
    "load_remote",
    "merge_nearest",
    "run_steps",
]

Ints = NDArray[np.int64]


def run_steps(index: ClusterIndex, request: RankRequest | SharedRequest) -> tuple[list[Any], list[tuple[Any, ...]]]:
    """The results of all shards, once each has the figures of all that it needs; and these figures, step by step.

    A shard whose replica was replaced between two steps begins again with the figures that are known.
    """
    totals: list[tuple[Any, ...]] = []
    answers = index.everywhere("begin", request, ())
    while isinstance(answers[0], Counts | Least):
        totals.append(tuple(map(_narrow, combine_figures(answers))))
        answers = index.everywhere("resume", request.token, len(totals), totals[-1])
        lost = [shard for shard, answer in enumerate(answers) if answer is None]
        again = index.call("begin", [(shard, (request, tuple(totals))) for shard in lost]) if lost else []
        for shard, answer in zip(lost, again, strict=True):
            answers[shard] = answer
    return answers, totals


def _narrow(value: Any) -> Any:
    return narrow_array(value) if isinstance(value, np.ndarray) else value


# ---------------------------------------------------------------------------- first stages


def distributed(ranker: Ranker) -> Ranker:
    """A first stage that ranks the documents of all shards; one that cannot is refused with the reason."""
    if isinstance(ranker, Fuse):
        parts: Any = {
            name: distributed(part) for name in ("a", "b") if isinstance(part := getattr(ranker, name), Ranker)
        }
        return replace(ranker, **parts)
    if isinstance(ranker, BY_TERMS + BY_VECTORS):
        return OverShards(ranker)
    if isinstance(ranker, RunFile):
        return RunOverShards(ranker)
    raise UsageError(
        f"The first stage {ranker} cannot rank a cluster: it needs the whole index on one machine. Choose from "
        f"{', '.join(sorted(each.name for each in (*BY_TERMS, *BY_VECTORS, Fuse, RunFile)))}"
    )


@dataclass(frozen=True)
class OverShards:
    """A first stage whose shards rank their own documents."""

    ranker: Any

    def __str__(self) -> str:
        return str(self.ranker)

    def rank(self, query: Document, index: Any, depth: int, allowed: Any) -> Ranking:
        """The best documents of all shards; ties by ascending id."""
        request = RankRequest(uuid4().hex, self.ranker, allowed.scope, depth)
        if isinstance(self.ranker, BY_TERMS):
            request = replace(request, words=tuple(index.analyzer.terms(query.text)))
        else:
            request = replace(request, query=index.query_sentences(query))
        answers, totals = run_steps(index, request)
        self._remember_phrases(request.words, totals, index)
        index.remember(
            {
                id: (shard, count)
                for shard, answer in enumerate(answers)
                for id, count in zip(answer.ids, answer.counts.tolist(), strict=True)
            }
        )
        if isinstance(self.ranker, RPRS):
            return _rank_nearest(self.ranker, answers, index.mean_sentences, depth)
        notes = self.ranker.notes(index) if hasattr(self.ranker, "notes") else ()
        ids = [id for answer in answers for id in answer.ids]
        scores = np.concatenate([answer.scores for answer in answers])
        best = sorted(range(len(ids)), key=lambda place: (-scores[place], ids[place]))[:depth]
        return Ranking(tuple(ids[place] for place in best), scores[best], notes=notes)

    def _remember_phrases(self, words: Sequence[str], totals: Sequence[tuple[Any, ...]], index: ClusterIndex) -> None:
        """Keep how common the longest phrases of the query are, as `query_grams` does: its evidence needs it again."""
        longest = self.ranker.ngrams if isinstance(self.ranker, Cosine) else 3
        if isinstance(self.ranker, Blend | Cosine) and longest > 1 and index.has_phrases:
            hashes = np.unique(phrase_hashes(term_hashes(words))[longest - 2])
            index.known_phrases = hashes, totals[0][longest - 1].astype(np.int64)


def _rank_nearest(ranker: RPRS, answers: Sequence[Ranked], mean_sentences: float, depth: int) -> Ranking:
    """RPRS over the documents that have one of the nearest sentences, in the order of their ids."""
    ids = sorted(id for answer in answers for id in answer.ids)
    place = {id: number for number, id in enumerate(ids)}
    counts = np.zeros(len(ids), dtype=np.int64)
    for answer in answers:
        counts[[place[id] for id in answer.ids]] = answer.counts
    parts = [
        (np.array([place[id] for id in answer.ids], dtype=np.int64), answer.nearest)
        for answer in answers
        if answer.nearest is not None
    ]
    nearest = merge_nearest(parts, counts, ranker.n, tie_priority(ids, "worst") if ranker.ties == "worst" else None)
    documents, sentences = (sum(answer.pool[place] for answer in answers) for place in (0, 1))
    avgdl = ranker.average_length(nearest, mean_sentences)
    if ranker.avgdl == "candidates":
        avgdl = sentences / documents if documents else 0.0
    return ranker.rank_neighbours(nearest, ids, avgdl, depth)


@dataclass(frozen=True)
class RunOverShards:
    """The run of another system, for the documents that the shards have and may rank."""

    ranker: RunFile

    def __str__(self) -> str:
        return str(self.ranker)

    def rank(self, query: Document, index: Any, depth: int, allowed: Any) -> Ranking:
        """The allowed documents that the run lists for the query, in its order."""
        listed = self.ranker.listed(query)
        places = index.locate(listed.ids)
        groups = index.by_shard([id for id in listed.ids if id in places])
        answers = index.call("allowed_ids", [(shard, (own, allowed.scope)) for shard, own in groups.items()])
        permitted = {id for answer in answers for id in answer}
        missing = sum(id not in places for id in listed.ids)
        return self.ranker.select(listed, [id in permitted for id in listed.ids], missing, depth)


# ---------------------------------------------------------------------------- re-ranking


def merge_nearest(
    parts: Sequence[tuple[Ints, Neighbours]], counts: Ints, n: int, priority: Ints | None = None
) -> Neighbours:
    """R_n over a pool of documents with these numbers of sentences, from R_n over parts of it.

    A part is the places of its documents in the pool, in the order of its own pool, and the neighbours in it. The
    documents of the parts may be interleaved: keys of the whole pool decide between equally similar sentences.
    """
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    keys = []
    for places, nearest in parts:
        document = nearest.document
        moved = (
            offsets[places[document]] + nearest.sentence - nearest.offsets[document]
            if len(places)
            else nearest.sentence
        )
        keys.append(tie_keys(np.asarray(moved, dtype=np.int64), offsets, priority))
    similarity, merged = merge([nearest.similarity for _, nearest in parts], keys, n)
    return Neighbours(similarity, sentences_of_keys(merged, offsets), offsets)


def load_remote(index: Any, query: Document, ranking: Ranking) -> Candidates:
    """Candidates whose vectors stay in their shards, where neighbours are found; others are read when needed."""
    places = index.locate(ranking.ids)
    counts = np.array([places[id][1] for id in ranking.ids], dtype=np.int64)

    def nearest(vectors: NDArray[np.floating[Any]], n: int, priority: Ints | None) -> Neighbours:
        groups: dict[int, list[int]] = {}
        for place, id in enumerate(ranking.ids):
            groups.setdefault(places[id][0], []).append(place)
        requests = [
            (shard, (vectors, [ranking.ids[place] for place in own], n, None if priority is None else priority[own]))
            for shard, own in groups.items()
        ]
        answers: list[Neighbours] = index.call("nearest", requests)
        parts = [(np.array(own, dtype=np.int64), each) for own, each in zip(groups.values(), answers, strict=True)]
        return merge_nearest(parts, counts, n, priority)

    return Candidates(
        ranking,
        RemoteSentences(index, ranking.ids),
        index.mean_sentences,
        query,
        index.document,
        index.knows_language(query),
        nearest if len(ranking) else None,
        counts,
    )


class RemoteSentences(Sequence[Sentences]):
    """The sentences of candidates, read from all shards at once when the first is needed."""

    def __init__(self, index: ClusterIndex, ids: Sequence[str]) -> None:
        self._index, self._ids = index, ids
        self._loaded: Sequence[Sentences] | None = None

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, place: Any) -> Any:
        if self._loaded is None:
            self._loaded = self._index.sentences_of(self._ids)
        return self._loaded[place]


# ---------------------------------------------------------------------------- passages


@dataclass(frozen=True, slots=True)
class ClusterSources:
    """The allowed documents of all shards, for passages."""

    index: ClusterIndex
    allowed: ClusterMask

    def shared(self, passage: Side, least: int) -> Shared:
        """The documents that share phrases."""
        phrases = passage_phrases(passage, self.index.analyzer, phrases=self.index.has_phrases)
        request = SharedRequest(uuid4().hex, phrases, self.allowed.scope, least, MOST_READ + 1, SIMILAR)
        answers, _ = run_steps(self.index, request)
        return Shared(
            merge_best((each.quoting for each in answers), MOST_READ + 1),
            merge_best((each.similar for each in answers), SIMILAR),
        )

    def nearest(self, passage: Sentences, n: int) -> tuple[list[Neighbour], int]:
        """The n nearest sentences."""
        answers = self.index.everywhere("nearest_sentences", passage, self.allowed.scope, n)
        return merge_neighbours((own for own, _ in answers), n), sum(total for _, total in answers)
