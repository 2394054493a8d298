"""What a cross-encoder learns from: a query, a document relevant to it, and one that the first stage took for such.

Every draw is a pure function of a seed and a step, so that a training that was stopped goes on as if it had not been.
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

__all__ = ["Asked", "Lessons", "Triple", "held_out", "judged", "lessons"]

Qrels = Mapping[str, Mapping[str, int]]
Excluded = Mapping[str, frozenset[str]]


class Triple(NamedTuple):
    """Ids: of a query, of a document relevant to it, and of one that is not."""

    query: str
    relevant: str
    negative: str


@dataclass(frozen=True)
class Asked:
    """A query of the training set, with the documents that triples are made of."""

    query: Document
    relevant: tuple[str, ...]  # judged above 0, and in the index
    negatives: tuple[str, ...]  # of the first stage's ranking, in its order


@dataclass(frozen=True)
class Lessons:
    """The queries to train on, and those held out to see whether it helps."""

    train: tuple[Asked, ...]
    valid: Mapping[str, Ranking]  # the candidates of the queries held out
    queries: Mapping[str, Document]  # all of them, by id
    qrels: Qrels  # theirs
    notes: tuple[str, ...] = ()  # what was left out, a line each

    @cached_property
    def pairs(self) -> tuple[tuple[Asked, str], ...]:
        """Every training query with each of its relevant documents."""
        return tuple((asked, relevant) for asked in self.train for relevant in asked.relevant)

    @property
    def fingerprint(self) -> str:
        """Changes with whatever the draws and the validation depend on; the texts of documents are the index's."""
        texts = [
            (query.id, query.content_hash, sorted(self.qrels[query.id].items())) for query in self.queries.values()
        ]
        train = [(asked.query.id, asked.relevant, asked.negatives) for asked in self.train]
        valid = [(query, ranking.ids) for query, ranking in self.valid.items()]
        return hashlib.sha256(json.dumps([texts, train, valid]).encode()).hexdigest()[:16]

    def draw(self, batch: int, seed: int, step: int) -> list[Triple]:
        """The triples of a step, from 0: the pairs in a new order each time round, each with a negative drawn anew."""
        size = len(self.pairs)
        random = np.random.default_rng((seed, 1, step))
        found = []
        for place in range(step * batch, (step + 1) * batch):
            asked, relevant = self.pairs[_order(size, seed, place // size)[place % size]]
            negative = asked.negatives[random.integers(len(asked.negatives))]
            found.append(Triple(asked.query.id, relevant, negative))
        return found


@lru_cache(maxsize=4)
def _order(size: int, seed: int, epoch: int) -> NDArray[np.int64]:
    return np.random.default_rng((seed, 0, epoch)).permutation(size)


def judged(queries: Sequence[Document], qrels: Qrels) -> list[Document]:
    """The queries that have a relevant document, in the order of their ids; if none has, that is an error."""
    known = set(judged_queries([query.id for query in queries], qrels))
    return sorted((query for query in queries if query.id in known), key=lambda query: query.id)


def held_out(queries: Sequence[Document], share: float, seed: int = 0) -> frozenset[str]:
    """The ids of about that share of the queries, at least one and not all; those of one text are together."""
    contents = {query.id: query.content_hash for query in queries}
    groups = len(set(contents.values()))
    if share == 0:
        return frozenset()
    if groups < 2:
        raise UsageError(f"{groups} query with judgements is too few to hold some out: give more, or --valid 0")
    size = min(max(1, round(share * groups)), groups - 1)
    return frozenset(query for query, place in deal(contents, groups, seed).items() if place < size)


def lessons(
    index: Index,
    queries: Sequence[Document],
    qrels: Qrels,
    run: Mapping[str, Ranking],
    excluded: Excluded,
    valid: float,
    seed: int = 0,
) -> Lessons:
    """The queries with judgements, parted; `run` is the first stage's, which the negatives come from.

    A relevant document that the index lacks, or that may not be ranked for its query, is left out and counted.
    """
    asked = {query.id: query for query in judged(queries, qrels)}
    apart = held_out(list(asked.values()), valid, seed)
    relevant = {id: sorted(found for found, grade in qrels[id].items() if grade > 0) for id in asked}
    here = {id: _rankable(index, asked[id], relevant[id], excluded.get(id, frozenset())) for id in asked}
    negatives = {id: tuple(other for other in run[id].ids if other not in relevant[id]) for id in asked}
    train = [id for id in asked if id not in apart]
    usable = [Asked(asked[id], here[id], negatives[id]) for id in train if here[id] and negatives[id]]
    if not usable:
        raise UsageError(
            f"There is no pair to train on: none of the {len(train):,} training queries has a relevant document in "
            f"{index.path} and another document from the first stage. Are these the judgements for this index?"
        )
    notes = []
    total, rankable = (sum(map(len, documents.values())) for documents in (relevant, here))
    if rankable < total:
        lost = f"{total - rankable:,} of {total:,} relevant documents"
        notes.append(f"{lost} are not among those to rank in {index.path}: left out")
    if len(usable) < len(train):
        idle = f"{len(train) - len(usable):,} of {len(train):,} training queries"
        notes.append(f"{idle} lack a relevant document in the index, or another one from the first stage: left out")
    judgements = {id: qrels[id] for id in asked}
    return Lessons(tuple(usable), _candidates(run, qrels, sorted(apart)), asked, judgements, tuple(notes))


def _rankable(index: Index, query: Document, ids: Sequence[str], excluded: frozenset[str]) -> tuple[str, ...]:
    mask = allowed_documents(index, [query], exclude=excluded)
    numbers = {id: index.number(id) for id in ids}
    return tuple(id for id, number in numbers.items() if number is not None and mask[number])


def _candidates(run: Mapping[str, Ranking], qrels: Qrels, queries: Sequence[str]) -> dict[str, Ranking]:
    """What is re-ranked to validate; without a relevant document among it nothing could be seen."""
    found = {query: run[query] for query in queries}
    if found and not any(qrels[query].get(id, 0) > 0 for query, ranking in found.items() for id in ranking.ids):
        raise UsageError(
            f"The first stage finds no relevant document for any of the {len(found):,} queries held out, so that all "
            "orders of its candidates are alike: raise --depth, or hold none out with --valid 0"
        )
    return found
