"""Training data of a cross-encoder: triples of a query, a relevant document, and another from the first stage.

Every draw is a pure function of a seed and a step, so that an interrupted training resumes with the same triples.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rprs.document import Document, Ranking
from rprs.errors import UsageError
from rprs.index import Index
from rprs.rank.batch import allowed_documents
from rprs.tuning.choose import deal, judged_queries

__all__ = ["TrainingQuery", "TrainingSet", "Triple", "held_out", "judged", "training_set"]

Qrels = Mapping[str, Mapping[str, int]]
Excluded = Mapping[str, frozenset[str]]


class Triple(NamedTuple):
    """The ids of a query, of a relevant document, and of a document that is not judged relevant."""

    query: str
    relevant: str
    negative: str


@dataclass(frozen=True)
class TrainingQuery:
    """A query of the training set, with the documents of its triples."""

    query: Document
    relevant: tuple[str, ...]  # judged above 0, in the index, and not excluded
    negatives: tuple[str, ...]  # the other documents of the first stage's ranking, in its order


@dataclass(frozen=True)
class TrainingSet:
    """The queries to train on, and those held out for validation."""

    train: tuple[TrainingQuery, ...]
    valid: Mapping[str, Ranking]  # the candidates of the queries held out
    queries: Mapping[str, Document]  # all queries, by id
    qrels: Qrels  # of all queries
    notes: tuple[str, ...] = ()  # what was left out, one line each

    @cached_property
    def pairs(self) -> tuple[tuple[TrainingQuery, str], ...]:
        """Every training query with each of its relevant documents."""
        return tuple((query, relevant) for query in self.train for relevant in query.relevant)

    @property
    def fingerprint(self) -> str:
        """Changes with everything that the draws and the validation depend on, except the texts of documents."""
        texts = [
            (query.id, query.content_hash, sorted(self.qrels[query.id].items())) for query in self.queries.values()
        ]
        train = [(each.query.id, each.relevant, each.negatives) for each in self.train]
        valid = [(query, ranking.ids) for query, ranking in self.valid.items()]
        return hashlib.sha256(json.dumps([texts, train, valid]).encode()).hexdigest()[:16]

    def draw(self, batch: int, seed: int, step: int) -> list[Triple]:
        """The triples of a step, from 0: in each epoch all pairs in a new order, each with a newly drawn negative."""
        size = len(self.pairs)
        random = np.random.default_rng((seed, 1, step))
        triples = []
        for place in range(step * batch, (step + 1) * batch):
            example, relevant = self.pairs[_order(size, seed, place // size)[place % size]]
            negative = example.negatives[random.integers(len(example.negatives))]
            triples.append(Triple(example.query.id, relevant, negative))
        return triples


@lru_cache(maxsize=4)
def _order(size: int, seed: int, epoch: int) -> NDArray[np.int64]:
    return np.random.default_rng((seed, 0, epoch)).permutation(size)


def judged(queries: Sequence[Document], qrels: Qrels) -> list[Document]:
    """The queries that have a relevant document, in the order of their ids; it is an error if none has."""
    ids = set(judged_queries([query.id for query in queries], qrels))
    return sorted((query for query in queries if query.id in ids), key=lambda query: query.id)


def held_out(queries: Sequence[Document], share: float, seed: int = 0) -> frozenset[str]:
    """The ids of about this share of the queries, at least one and not all; queries with equal texts stay together."""
    contents = {query.id: query.content_hash for query in queries}
    groups = len(set(contents.values()))
    if share == 0:
        return frozenset()
    if groups < 2:
        raise UsageError(f"{groups} query with judgements is too few to hold some out: give more, or --valid 0")
    size = min(max(1, round(share * groups)), groups - 1)
    return frozenset(query for query, place in deal(contents, groups, seed).items() if place < size)


def training_set(
    index: Index,
    queries: Sequence[Document],
    qrels: Qrels,
    run: Mapping[str, Ranking],
    excluded: Excluded,
    valid: float,
    seed: int = 0,
) -> TrainingSet:
    """The queries with judgements, split into training and validation; negatives come from `run`, the first stage's.

    A relevant document that the index lacks, or that may not be ranked for its query, is left out and counted.
    """
    by_id = {query.id: query for query in judged(queries, qrels)}
    validation = held_out(list(by_id.values()), valid, seed)
    relevant = {id: sorted(document for document, grade in qrels[id].items() if grade > 0) for id in by_id}
    present = {id: _rankable(index, by_id[id], relevant[id], excluded.get(id, frozenset())) for id in by_id}
    negatives = {id: tuple(other for other in run[id].ids if other not in relevant[id]) for id in by_id}
    train = [id for id in by_id if id not in validation]
    usable = [TrainingQuery(by_id[id], present[id], negatives[id]) for id in train if present[id] and negatives[id]]
    if not usable:
        raise UsageError(
            f"There is no pair to train on: none of the {len(train):,} training queries has a relevant document in "
            f"{index.path} and another document from the first stage. Are these the judgements for this index?"
        )
    notes = []
    total, rankable = (sum(map(len, documents.values())) for documents in (relevant, present))
    if rankable < total:
        absent = f"{total - rankable:,} of {total:,} relevant documents"
        notes.append(f"{absent} are not among those to rank in {index.path}: left out")
    if len(usable) < len(train):
        unused = f"{len(train) - len(usable):,} of {len(train):,} training queries"
        notes.append(f"{unused} lack a relevant document in the index, or another one from the first stage: left out")
    judgements = {id: qrels[id] for id in by_id}
    return TrainingSet(tuple(usable), _candidates(run, qrels, sorted(validation)), by_id, judgements, tuple(notes))


def _rankable(index: Index, query: Document, ids: Sequence[str], excluded: frozenset[str]) -> tuple[str, ...]:
    mask = allowed_documents(index, [query], exclude=excluded).mask
    numbers = {id: index.number(id) for id in ids}
    return tuple(id for id, number in numbers.items() if number is not None and mask[number])


def _candidates(run: Mapping[str, Ranking], qrels: Qrels, queries: Sequence[str]) -> dict[str, Ranking]:
    """The candidates to re-rank for validation; at least one must be relevant, or all orders would score the same."""
    rankings = {query: run[query] for query in queries}
    if rankings and not any(qrels[query].get(id, 0) > 0 for query, ranking in rankings.items() for id in ranking.ids):
        raise UsageError(
            f"The first stage finds no relevant document for any of the {len(rankings):,} queries held out, so that "
            "all orders of its candidates are alike: raise --depth, or hold none out with --valid 0"
        )
    return rankings
