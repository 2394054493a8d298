"""Both stages for many queries: what searches, runs, tuning and studies share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rprs import spec
from rprs.document import EMPTY_RANKING, Document, Ranking, Truncation
from rprs.encode import Loadable
from rprs.errors import EmptyQuery, UsageError
from rprs.files.cache import Cache
from rprs.index import Index
from rprs.progress import Progress, show_scans, silent
from rprs.rank.identity import identity
from rprs.rank.stages import Mask, Ranker, Reranker, load_candidates
from rprs.read.qrels import Exclusions

__all__ = ["allowed_documents", "cached_ranking", "first_stage", "mask_digest", "rerank_run"]


def allowed_documents(
    index: Index,
    query: Sequence[Document],
    *,
    where: str | None = None,
    keep_self: bool = False,
    exclude: Iterable[str] = (),
) -> Mask:
    """Which documents may be ranked for a query: those that the filter selects, without the excluded ones.

    Unless `keep_self`, the documents of the query itself are left out, by id and by text.
    """
    if isinstance(exclude, str | bytes) or not isinstance(exclude, Iterable):
        raise UsageError(f"exclude must be a list of document ids. Got {exclude!r:.80}")
    allowed = index.select(where)
    own = [] if keep_self else [number for each in query for number in index.same_content(each)]
    ids = [*exclude, *(() if keep_self else (each.id for each in query))]
    allowed[[*own, *(number for number in map(index.number, ids) if number is not None)]] = False
    return allowed


def first_stage(
    index: Index,
    queries: Sequence[Document],
    ranker: Ranker | str,
    depth: int,
    *,
    exclude: Exclusions | None = None,
    cache: Cache | None = None,
    progress: Progress = silent,
) -> dict[str, Ranking]:
    """The first stage's ranking for each query, without the query itself (by id or text) and the excluded documents.

    A query that the ranker cannot answer, such as one that a run file lacks, has an empty ranking with a note.
    """
    component = spec.parse("ranker", ranker) if isinstance(ranker, str) else ranker
    rankings: dict[str, Ranking] = {}
    failures: list[UsageError] = []
    key = identity(component, cache) if cache else None
    fingerprint = index.fingerprint if key else ""
    with progress("first stage", len(queries), "queries") as advance, show_scans(progress):
        for query in queries:
            mask = allowed_documents(index, [query], exclude=(exclude or {}).get(query.id, ()))
            inputs = {
                "index": fingerprint,
                "ranker": key,
                "depth": depth,
                "query": [query.id, query.content_hash],
                "allowed": mask_digest(mask),
            }
            try:
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
