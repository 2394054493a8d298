"""Both stages for many queries: what searches, runs, tuning and studies share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rprs import spec
from rprs.document import EMPTY_RANKING, Document, Ranking, Truncation
from rprs.encode import Loadable
from rprs.errors import EmptyQuery, UsageError
from rprs.files.cache import Cache
from rprs.index import Index
from rprs.progress import Progress, show_scans, silent
from rprs.rank.date_limit import DateLimit
from rprs.rank.identity import identity
from rprs.rank.stages import Mask, Ranker, Reranker, load_candidates
from rprs.read.qrels import Exclusions

__all__ = [
    "Allowed",
    "allowed_documents",
    "cached_ranking",
    "first_stage",
    "mask_digest",
    "require_ids",
    "rerank_run",
    "undated_note",
]


@dataclass(frozen=True, slots=True)
class Allowed:
    """Which documents may be ranked, and what a date limit did."""

    mask: Mask
    limit: str = ""  # the date
    newer: int = 0  # documents left out for it
    undated: tuple[str, ...] = ()  # the number of documents without a date, as a note

    @property
    def notes(self) -> tuple[str, ...]:
        """For the user, one line each."""
        if not self.limit:
            return ()
        return f"Date limit: nothing newer than {self.limit}; {_documents(self.newer)} left out", *self.undated


def allowed_documents(
    index: Index,
    query: Sequence[Document],
    *,
    where: str | None = None,
    keep_self: bool = False,
    exclude: Iterable[str] = (),
    limit: DateLimit | None = None,
) -> Allowed:
    """Which documents may be ranked for a query: those that the filter selects, without the excluded ones.

    Unless `keep_self`, the documents of the query itself are left out, by id and by text. With a date limit, documents
    that are newer are left out too; the others are counted first.
    """
    excluded = require_ids(exclude)
    allowed = index.select(where)
    own = [] if keep_self else [number for each in query for number in index.same_content(each)]
    ids = [*excluded, *(() if keep_self else (each.id for each in query))]
    allowed[[*own, *(number for number in map(index.number, ids) if number is not None)]] = False
    return Allowed(allowed) if limit is None else _within(limit, index, query, allowed)


def require_ids(exclude: Iterable[str]) -> list[str]:
    """The ids of documents to exclude, which must be in a list."""
    if isinstance(exclude, str | bytes) or not isinstance(exclude, Iterable):
        raise UsageError(f"exclude must be a list of document ids. Got {exclude!r:.80}")
    return list(exclude)


def _within(limit: DateLimit, index: Index, query: Sequence[Document], allowed: Mask) -> Allowed:
    """The documents that are not newer than the limit."""
    dates, period = limit.dates(index), limit.period(query)
    newer, undated = allowed & dates.newer_than(period), allowed & dates.undated
    mask = allowed & ~newer if limit.undated == "keep" else allowed & ~newer & ~undated
    return Allowed(mask, period.text, int(newer.sum()), (undated_note(limit, int(undated.sum())),))


def undated_note(limit: DateLimit, count: int) -> str:
    """How many documents without a date were kept or left out."""
    return f"Date limit: {_documents(count)} without a date {'kept' if limit.undated == 'keep' else 'left out'}"


def _documents(count: int) -> str:
    return f"{count:,} document{'' if count == 1 else 's'}"


def first_stage(
    index: Index,
    queries: Sequence[Document],
    ranker: Ranker | str,
    depth: int,
    *,
    exclude: Exclusions | None = None,
    limit: DateLimit | None = None,
    cache: Cache | None = None,
    progress: Progress = silent,
) -> dict[str, Ranking]:
    """The first stage's ranking for each query, without the query itself (by id or text) and the excluded documents.

    A query that cannot be answered, such as one that a run file lacks, has an empty ranking with a note.
    """
    component = spec.parse("ranker", ranker) if isinstance(ranker, str) else ranker
    rankings: dict[str, Ranking] = {}
    failures: list[UsageError] = []
    key = identity(component, cache) if cache else None
    fingerprint = index.fingerprint if key else ""
    with progress("first stage", len(queries), "queries") as advance, show_scans(progress):
        for query in queries:
            try:
                mask = allowed_documents(index, [query], exclude=(exclude or {}).get(query.id, ()), limit=limit).mask
                inputs = {
                    "index": fingerprint,
                    "ranker": key,
                    "depth": depth,
                    "query": [query.id, query.content_hash],
                    "allowed": mask_digest(mask),
                }
                rankings[query.id] = cached_ranking(
                    cache if key else None,
                    "first-stage",
                    inputs,
                    lambda query=query, mask=mask: component.rank(query, index, depth, mask),  # type: ignore[misc]
                )
            except UsageError as error:
                failures.append(error)
                rankings[query.id] = Ranking((), np.empty(0), notes=(str(error),))
            advance(1)
    if failures and len(failures) == len(rankings):  # no query was answered: the reason is the same for all
        raise failures[0]
    return rankings


def rerank_run(
    index: Index,
    queries: Sequence[Document],
    run: Mapping[str, Ranking],
    reranker: Reranker | str,
    *,
    depth: int | None = None,
    mean_sentences: float | None = None,
    progress: Progress = silent,
) -> dict[str, Ranking]:
    """The re-ranked candidates of a first stage, the best `depth` of each query; empty for a query without sentences.

    Where the index holds a part of the collection only, `mean_sentences` is that of the whole collection.
    """
    component = spec.parse("reranker", reranker) if isinstance(reranker, str) else reranker
    if isinstance(component, Loadable):
        component.load(progress)
    rankings: dict[str, Ranking] = {}
    with progress("re-ranking", len(queries), "queries") as advance:
        for query in queries:
            candidates = run.get(query.id, EMPTY_RANKING)
            top = candidates if depth is None else candidates.top(depth)
            try:
                rankings[query.id] = component.rerank(
                    index.query_sentences(query), load_candidates(index, query, top, mean_sentences)
                )
            except EmptyQuery:
                rankings[query.id] = EMPTY_RANKING
            advance(1)
    return rankings


# ---------------------------------------------------------------------------- caching


def cached_ranking(
    cache: Cache | None, name: str, inputs: Mapping[str, Any], compute: Callable[[], Ranking]
) -> Ranking:
    """A ranking without parts and evidence, from the cache if there is one."""
    if cache is None:
        return compute()

    def arrays() -> dict[str, Any]:
        ranking = compute()
        truncation = ranking.truncation
        texts = {"ids": ranking.ids, "notes": ranking.notes}
        return {
            "texts": np.frombuffer(json.dumps(texts).encode(), dtype=np.uint8),
            "scores": ranking.scores,
            "truncation": np.array([truncation.cut, truncation.inputs, truncation.window], dtype=np.int64),
        }

    stored = cache.arrays(name, inputs, arrays)
    texts = json.loads(stored["texts"].tobytes())
    truncation = Truncation(*stored["truncation"].tolist())
    return Ranking(tuple(texts["ids"]), stored["scores"], notes=tuple(texts["notes"]), truncation=truncation)


def mask_digest(mask: Mask) -> str:
    """A hash of the documents that a mask allows."""
    return hashlib.sha256(np.packbits(mask).tobytes()).hexdigest()
